//! Elements that the struct cannot read: they do not make the others unreadable.

use std::{fmt, marker::PhantomData};

use mongodb::{bson::RawDocument, error::Error as DriverError};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};

use crate::{
    Bucket, Error, Result,
    value::{bytes, stored_bucket::StoredBucket},
};

/// The callback that gets an error for each skipped element.
pub(crate) type Tell<'s> = Box<dyn FnMut(Error) + Send + 's>;

/// An element, or why it cannot be read.
pub(crate) struct Attempt<E>(pub(crate) Result<E, DriverError>);

/// An element that cannot be read.
pub(crate) struct Unreadable {
    /// The number of elements before it in its bucket.
    pub(crate) place: u64,
    pub(crate) error: DriverError,
}

/// How an element is read: so that an unreadable one is an error, or as an [`Attempt`].
pub(crate) trait ReadElement: Sized {
    type Element: DeserializeOwned;

    fn of(read: Result<Self::Element, DriverError>) -> Result<Self, DriverError>;
}

impl<E: DeserializeOwned> ReadElement for E {
    type Element = E;

    fn of(read: Result<E, DriverError>) -> Result<E, DriverError> {
        read
    }
}

impl<E: DeserializeOwned> ReadElement for Attempt<E> {
    type Element = E;

    fn of(read: Result<E, DriverError>) -> Result<Self, DriverError> {
        Ok(Self(read))
    }
}

/// Reads a value of a document as this type.
pub(crate) fn read_value<V: DeserializeOwned>(value: impl Serialize) -> Result<V, DriverError> {
    let only = bytes::write(&Only { value }).map_err(DriverError::custom)?;
    Ok(bytes::read::<Only<V>>(&only)?.value)
}

/// A document with one value, since only documents can be read.
#[derive(Serialize)]
struct Only<V> {
    value: V,
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Only<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnlyVisitor(PhantomData))
    }
}

/// Shorter than the derived one, of which the compiler makes a dozen for each type.
struct OnlyVisitor<V>(PhantomData<fn() -> V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for OnlyVisitor<V> {
    type Value = Only<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with one value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Only<V>, A::Error> {
        map.next_key::<IgnoredAny>()?;
        map.next_value().map(|value| Only { value })
    }
}

/// A bucket whose elements are read one by one.
pub(crate) type Attempted<T, E = <T as Bucket>::Element> = StoredBucket<T, Attempt<E>>;

/// Reads the bucket without its unreadable elements and reports each of them; `error` says why the
/// bucket could not be read as a whole.
pub(crate) fn sift<T: Bucket, E: DeserializeOwned>(
    row: &RawDocument,
    error: DriverError,
    tell: Option<&mut Tell<'_>>,
    fail: impl Fn(DriverError) -> Error,
) -> Result<StoredBucket<T, E>> {
    let (Some(tell), Ok(bucket)) = (tell, bytes::read::<Attempted<T, E>>(row.as_bytes())) else {
        return Err(fail(error));
    };
    let (bucket, unreadable) = bucket.sifted();
    report(T::SPEC.items, unreadable, tell, fail);
    Ok(bucket)
}

/// Reports unreadable elements of an array, each with its place.
pub(crate) fn report(
    items: &str,
    unreadable: Vec<Unreadable>,
    tell: &mut Tell<'_>,
    fail: impl Fn(DriverError) -> Error,
) {
    for Unreadable { place, error } in unreadable {
        tell(fail(DriverError::custom(format!(
            "{items}.{place}: {error}"
        ))));
    }
}
