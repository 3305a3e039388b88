//! Parents with items that cannot be read.

use bucket_core::value::{
    bytes,
    element::raw,
    unreadable::{Unreadable, read_value},
};
use mongodb::{
    bson::{RawBsonRef, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{Result, outlier::Outlier, read::stored_bucket::sift_each};

/// A parent without its unreadable items, or why it cannot be read; and these items.
pub(crate) type SiftedParent<T> = (Result<T, DriverError>, Vec<Unreadable>);

/// Reads the parent without its unreadable items, and lists these.
pub fn sift<T: Outlier>(row: &RawDocument) -> SiftedParent<T> {
    let Some(items) = array(row, T::SPEC.items) else {
        return (bytes::read(row.as_bytes()), Vec::new());
    };
    let attempts = items.into_iter();
    let attempts = attempts.map(|item| read_value::<T::Item>(item).map(|_| item));
    let (readable, unreadable) = sift_each(attempts);
    let parent = replace_field(row, T::SPEC.items, readable);
    (
        parent.and_then(|parent| bytes::read(parent.as_bytes())),
        unreadable,
    )
}

/// The items in an array of a document; `None` if this is not an array.
pub fn array<'r>(row: &'r RawDocument, name: &str) -> Option<Vec<RawBsonRef<'r>>> {
    match row.get(name) {
        Ok(Some(RawBsonRef::Array(items))) => items.into_iter().collect::<Result<_, _>>().ok(),
        _ => None,
    }
}

/// Replaces the value of a field, or adds the field.
pub fn replace_field<V: Serialize>(
    row: &RawDocument,
    name: &str,
    value: V,
) -> Result<RawDocumentBuf, DriverError> {
    raw(&WithField { row, name, value }).map_err(DriverError::custom)
}

/// A document with another value in one field.
struct WithField<'r, V> {
    row: &'r RawDocument,
    name: &'r str,
    value: V,
}

impl<V: Serialize> Serialize for WithField<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        for field in self.row {
            let (name, value) = field.map_err(serde::ser::Error::custom)?;
            // Text in bson 2, and text without a NUL in bson 3.
            let name = AsRef::<str>::as_ref(name);
            if name != self.name {
                fields.serialize_entry(name, &value)?;
            }
        }
        fields.serialize_entry(self.name, &self.value)?;
        fields.end()
    }
}
