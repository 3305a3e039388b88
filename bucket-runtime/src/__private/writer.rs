//! Writes an element field by field.

use bucket_core::schema::time::{TimeField, bson_date};
use serde::{Serialize, Serializer, ser::SerializeStruct};

/// An element that is being written, or the first error. Generated code need not check each field,
/// which saves compile time.
#[derive(Debug)]
pub struct ElementWriter<S: Serializer>(Result<S::SerializeStruct, S::Error>);

impl<S: Serializer> ElementWriter<S> {
    /// Begins an element with at most this many fields.
    pub fn new(serializer: S, name: &'static str, fields: usize) -> Self {
        Self(serializer.serialize_struct(name, fields))
    }

    /// Writes a field.
    pub fn field<V: Serialize>(self, name: &'static str, value: &V) -> Self {
        self.and(|element| element.serialize_field(name, value))
    }

    /// Writes a field, unless serde leaves it out.
    pub fn field_unless<V: Serialize>(self, left_out: bool, name: &'static str, value: &V) -> Self {
        self.and(|element| match left_out {
            true => element.skip_field(name),
            false => element.serialize_field(name, value),
        })
    }

    /// Writes an item's time.
    pub fn date<V: TimeField>(self, name: &'static str, value: &V) -> Self {
        self.field(name, &Date(value))
    }

    /// Ends the element.
    pub fn end(self) -> Result<S::Ok, S::Error> {
        self.0?.end()
    }

    fn and(self, write: impl FnOnce(&mut S::SerializeStruct) -> Result<(), S::Error>) -> Self {
        Self(self.0.and_then(|mut element| {
            write(&mut element)?;
            Ok(element)
        }))
    }
}

struct Date<'v, V>(&'v V);

impl<V: TimeField> Serialize for Date<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        bson_date::serialize(self.0, serializer)
    }
}
