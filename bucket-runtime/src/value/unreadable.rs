//! Elements that the struct cannot read: they do not make the others unreadable.

use mongodb::{
    bson::{RawBson, RawDocument},
    error::Error as DriverError,
};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::{
    Bucket, Error, Result,
    value::{bytes, stored_bucket::StoredBucket},
};

/// The callback that gets an error for each skipped element.
pub(crate) type OnUnreadable<'s> = Box<dyn FnMut(Error) + Send + 's>;

/// An element, or why it cannot be read.
pub(crate) struct ReadAttempt<E>(pub(crate) Result<E, DriverError>);

/// An element that cannot be read.
pub(crate) struct Unreadable {
    /// The number of elements before it in its bucket.
    pub(crate) place: u64,
    pub(crate) error: DriverError,
}

impl<'de, E: DeserializeOwned> Deserialize<'de> for ReadAttempt<E> {
    /// Takes the whole element out first: after an error in the middle of a document, the reader cannot
    /// go on behind it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(read_value(RawBson::deserialize(deserializer)?)))
    }
}

/// Reads a value of a document as this type.
pub(crate) fn read_value<V: DeserializeOwned>(value: impl Serialize) -> Result<V, DriverError> {
    /// A document with one value, since only documents can be read.
    #[derive(Serialize, Deserialize)]
    struct ValueDocument<V> {
        value: V,
    }
    let bytes = bytes::write(&ValueDocument { value }).map_err(DriverError::custom)?;
    Ok(bytes::read::<ValueDocument<V>>(&bytes)?.value)
}

/// A bucket whose elements are read one by one.
pub(crate) type Attempted<T, E = <T as Bucket>::Element> = StoredBucket<T, ReadAttempt<E>>;

/// Reads the bucket without its unreadable elements and reports each of them; `error` says why the
/// bucket could not be read as a whole.
pub(crate) fn sift<T: Bucket, E: DeserializeOwned>(
    row: &RawDocument,
    error: DriverError,
    on_unreadable: Option<&mut OnUnreadable<'_>>,
    fail: impl Fn(DriverError) -> Error,
) -> Result<StoredBucket<T, E>> {
    let bucket = bytes::read::<Attempted<T, E>>(row.as_bytes());
    let (Some(on_unreadable), Ok(bucket)) = (on_unreadable, bucket) else {
        return Err(fail(error));
    };
    let (bucket, unreadable) = bucket.sifted();
    report(T::SPEC.items, unreadable, on_unreadable, fail);
    Ok(bucket)
}

/// Reports unreadable elements of an array, each with its place.
pub(crate) fn report(
    items: &str,
    unreadable: Vec<Unreadable>,
    on_unreadable: &mut OnUnreadable<'_>,
    fail: impl Fn(DriverError) -> Error,
) {
    for Unreadable { place, error } in unreadable {
        on_unreadable(fail(DriverError::custom(format!(
            "{items}.{place}: {error}"
        ))));
    }
}
