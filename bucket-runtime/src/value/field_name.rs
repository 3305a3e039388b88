//! The name of a field, as a read of single fields takes it.

use std::{borrow::Cow, fmt};

use serde::{
    Deserializer,
    de::{DeserializeSeed, Visitor},
};

/// A field name, borrowed from the batch if the format allows it.
pub(crate) struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }

    fn visit_string<E>(self, name: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name))
    }
}

#[cfg(test)]
mod tests {
    use serde::de::{
        IntoDeserializer,
        value::{BorrowedStrDeserializer, Error},
    };

    use super::*;

    #[test]
    fn a_name_is_borrowed_if_the_format_lends_it() {
        let lent = FieldName.deserialize(BorrowedStrDeserializer::<Error>::new("a"));
        assert!(matches!(lent, Ok(Cow::Borrowed("a"))));
        let shown = IntoDeserializer::<Error>::into_deserializer("a");
        let given = IntoDeserializer::<Error>::into_deserializer("a".to_owned());
        for read in [FieldName.deserialize(shown), FieldName.deserialize(given)] {
            assert_eq!(read, Ok("a".into()));
        }
    }
}
