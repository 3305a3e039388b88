//! Elements that cannot be read as the struct: they take no other with them.

use std::fmt::Display;

use mongodb::{
    bson::{RawBson, RawDocument},
    error::Error as DriverError,
};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::{
    Bucket, Error, Result,
    value::{bytes, element::raw, stored_bucket::StoredBucket},
};

/// Who is told of elements that are passed over.
pub(crate) type Tell<'s> = Box<dyn FnMut(Error) + Send + 's>;

/// An element, or why it cannot be read.
pub(crate) struct Attempt<E>(pub(crate) Result<E, DriverError>);

/// An element that cannot be read.
pub(crate) struct Unreadable {
    /// How many elements come before it in its bucket.
    pub(crate) place: u64,
    pub(crate) error: DriverError,
}

impl<'de, E: DeserializeOwned> Deserialize<'de> for Attempt<E> {
    /// The element is taken out whole first: what has failed midway in a document cannot go on
    /// behind it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = RawBson::deserialize(deserializer)?;
        let only = raw(&Only { value }).map_err(DriverError::custom);
        let read = only.and_then(|only| bytes::read::<Only<E>>(only.as_bytes()));
        Ok(Self(read.map(|only| only.value)))
    }
}

/// A value as a document, which alone can be read.
#[derive(Serialize, Deserialize)]
pub(crate) struct Only<V> {
    pub(crate) value: V,
}

/// A bucket whose elements are read one by one.
pub(crate) type Attempted<T> = StoredBucket<T, Attempt<<T as Bucket>::Element>>;

/// The bucket without the elements that cannot be read, of which somebody is told; `error` says why
/// it could not be read as a whole.
pub(crate) fn sift<T: Bucket>(
    row: &RawDocument,
    error: DriverError,
    tell: Option<&mut Tell<'_>>,
    fail: impl Fn(DriverError) -> Error,
) -> Result<StoredBucket<T>> {
    let (Some(tell), Ok(bucket)) = (tell, bytes::read::<Attempted<T>>(row.as_bytes())) else {
        return Err(fail(error));
    };
    let (bucket, unreadable) = bucket.sifted();
    for Unreadable { place, error } in unreadable {
        tell(fail(placed(T::SPEC.items, place, error)));
    }
    Ok(bucket)
}

/// The elements of a bucket that cannot be read; none if it has no elements at all.
pub(crate) fn unreadable<T: Bucket>(row: &RawDocument) -> Vec<Unreadable> {
    let bucket = bytes::read::<Attempted<T>>(row.as_bytes());
    bucket.map_or_else(|_| Vec::new(), |bucket| bucket.sifted().1)
}

/// The error of an element, with its place.
pub(crate) fn placed(items: &str, place: u64, error: impl Display) -> DriverError {
    DriverError::custom(format!("{items}.{place}: {error}"))
}
