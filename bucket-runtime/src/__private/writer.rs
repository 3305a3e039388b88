//! Writes an element field by field.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::schema::time::{TimeField, bson_date};

/// An element that is being written.
#[derive(Debug)]
pub struct ElementWriter<S: Serializer>(S::SerializeStruct);

type Written<S> = Result<ElementWriter<S>, <S as Serializer>::Error>;

impl<S: Serializer> ElementWriter<S> {
    /// Begins an element with at most this many fields.
    pub fn new(serializer: S, name: &'static str, fields: usize) -> Written<S> {
        serializer.serialize_struct(name, fields).map(Self)
    }

    /// Writes a field.
    pub fn field<V: Serialize>(mut self, name: &'static str, value: &V) -> Written<S> {
        self.0.serialize_field(name, value)?;
        Ok(self)
    }

    /// Writes a field, unless serde leaves it out.
    pub fn field_unless<V: Serialize>(
        mut self,
        left_out: bool,
        name: &'static str,
        value: &V,
    ) -> Written<S> {
        match left_out {
            true => self.0.skip_field(name)?,
            false => self.0.serialize_field(name, value)?,
        }
        Ok(self)
    }

    /// Writes an item's time.
    pub fn date<V: TimeField>(self, name: &'static str, value: &V) -> Written<S> {
        self.field(name, &Date(value))
    }

    /// Ends the element.
    pub fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

struct Date<'v, V>(&'v V);

impl<V: TimeField> Serialize for Date<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        bson_date::serialize(self.0, serializer)
    }
}
