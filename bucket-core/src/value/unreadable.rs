//! Elements that the struct cannot read: they do not make the others unreadable.

use std::{fmt, marker::PhantomData};

use mongodb::error::Error as DriverError;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};

use crate::{
    Error,
    value::{bytes, raw_field::RawField},
};

/// The callback that gets an error for each skipped element.
pub type OnUnreadable<'s> = Box<dyn FnMut(Error) + Send + 's>;

/// An element that cannot be read.
pub struct Unreadable {
    /// The number of elements before it in its bucket.
    pub place: u64,
    pub error: DriverError,
}

/// Reads a value of a document as this type.
pub fn read_value<V: DeserializeOwned>(value: impl Serialize) -> Result<V, DriverError> {
    let document = bytes::write(&ValueDocument { value }).map_err(DriverError::custom)?;
    read_only_value(&document)
}

/// Reads the only value of a document.
pub fn read_only_value<V: DeserializeOwned>(document: &[u8]) -> Result<V, DriverError> {
    Ok(bytes::read::<ValueDocument<V>>(document)?.value)
}

/// Reads the value of a field by way of `bson`, or says what is wrong with it.
pub fn read_field<V: DeserializeOwned>(field: &RawField<'_>) -> Result<V, String> {
    read_only_value(&field.document()).map_err(|error| bytes::reason(&error))
}

/// A document with one value, since only documents can be read.
#[derive(Serialize)]
struct ValueDocument<V> {
    value: V,
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ValueDocument<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ValueVisitor(PhantomData))
    }
}

/// Shorter than the derived one, of which the compiler makes a dozen for each type.
struct ValueVisitor<V>(PhantomData<fn() -> V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for ValueVisitor<V> {
    type Value = ValueDocument<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document with one value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ValueDocument<V>, A::Error> {
        map.next_key::<IgnoredAny>()?;
        map.next_value().map(|value| ValueDocument { value })
    }
}

/// Reports unreadable elements of an array, each with its place.
pub fn report(
    items: &str,
    unreadable: Vec<Unreadable>,
    on_unreadable: &mut OnUnreadable<'_>,
    fail: impl Fn(DriverError) -> Error,
) {
    for Unreadable { place, error } in unreadable {
        let reason = bytes::reason(&error);
        on_unreadable(fail(DriverError::custom(format!(
            "{items}.{place}: {reason}"
        ))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_element_is_reported_with_its_place() {
        let mut reported = Vec::new();
        let mut report_one: OnUnreadable<'_> =
            Box::new(|error| reported.push(error.driver().map(ToString::to_string)));
        let error = DriverError::custom("not a number".to_owned());
        let unreadable = vec![Unreadable { place: 3, error }];
        report("items", unreadable, &mut report_one, |error| {
            Error::read(error, "shop.trades")
        });
        drop(report_one);
        let [Some(text)] = &reported[..] else {
            panic!("one error of the driver, not {reported:?}");
        };
        assert!(
            text.contains("items.3: ") && text.contains("not a number"),
            "{text}"
        );
    }
}
