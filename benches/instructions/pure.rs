//! Pure functions on the way of a call.

use bucket_core::{
    error::Kind,
    protocol::{
        command::{AppendedItems, IndexedScope},
        pack,
    },
    schema::open_index::OpenIndex,
    value::{bytes, fingerprint},
};
use bucket_runtime::{
    __ops::{StoredBucket, UntypedItem, stored_element},
    Bucket, Error,
    bson::{Bson, Document, RawDocument},
};
use serde::{Serialize, de::DeserializeOwned};

/// The item's element, as it is sent.
pub(crate) fn element<T: Bucket>(item: &T, key: &PreparedKey) -> Bson {
    stored_element(item, &key.0, &fail).expect("an item that can be stored")
}

/// The statement that appends elements to the key's open bucket, or opens one with this id.
pub(crate) fn append(
    key: &PreparedKey,
    opening_id: &str,
    elements: Vec<Bson>,
) -> (Document, Document) {
    let items = AppendedItems {
        elements,
        totals: None,
        oversize: 0,
    };
    let update = key.0.append_or_open(items, opening_id);
    (update.filter, update.update)
}

/// The number of buckets that items of these sizes take.
pub(crate) fn pack(key: &PreparedKey, sizes: impl IntoIterator<Item = usize>) -> usize {
    pack::packs(&key.0, sizes).len()
}

/// The items of a bucket.
pub(crate) fn read<T: Bucket>(bucket: &[u8]) -> Vec<T> {
    let bucket = bytes::read::<StoredBucket<T>>(bucket);
    bucket.expect("a bucket").into_items()
}

/// What serde reads from the bytes of a document.
pub(crate) fn by_serde<T: DeserializeOwned>(document: &[u8]) -> T {
    bytes::read(document).expect("a document of this type")
}

/// The bytes of a document.
pub(crate) fn written<T: Serialize>(document: &T) -> Vec<u8> {
    bytes::write(document).expect("a document")
}

/// The hashes by which a token remembers the first items of a bucket.
pub(crate) fn fingerprints<T: Bucket>(bucket: &[u8], items: usize) -> Vec<u32> {
    let bucket = RawDocument::from_bytes(bucket).expect("a document");
    fingerprint::of_elements(bucket, T::SPEC.items, None, 0..items)
}

/// The key of an item, as commands need it.
#[derive(Debug)]
pub(crate) struct PreparedKey(IndexedScope);

impl PreparedKey {
    pub(crate) fn of<T: Bucket>(item: &T) -> Self {
        Self(item.scope().by(OpenIndex::first(T::SPEC.capacity)))
    }
}

fn fail(kind: Kind) -> Error {
    Error::new(kind, "instructions")
}
