//! Fields that a document lacks.

use std::marker::PhantomData;

use serde::{
    Deserializer,
    de::{Error, Visitor},
    forward_to_deserialize_any,
};

/// Stands for the value of a field that a document lacks: an `Option` is read from it.
pub struct MissingField<E>(&'static str, PhantomData<E>);

impl<E> MissingField<E> {
    /// `name` is the field's.
    pub fn new(name: &'static str) -> Self {
        Self(name, PhantomData)
    }
}

impl<'de, E: Error> Deserializer<'de> for MissingField<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
