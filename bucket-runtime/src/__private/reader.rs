//! Reads an element field by field.

use std::{fmt, marker::PhantomData};

use bucket_core::value::{
    bytes,
    direct::{self, ELEMENT},
    missing_field::MissingField,
    raw_field::{Malformed, RawField, RawFields},
};
use mongodb::bson::RawDocumentBuf;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned, Error as _, IgnoredAny, Visitor, value::Error},
};

/// Why an element cannot be read, in serde's words.
pub type ReadError = Error;

/// The fields of an element. The code that serde's derive writes takes the compiler ten times as
/// long.
pub trait ReadFields: Sized {
    /// Reads them.
    fn read(reader: ElementReader<'_>) -> Result<Self, ReadError>;
}

/// An element that is read by its [`ReadFields`].
#[derive(Debug)]
pub struct ReadElement<E>(pub E);

impl<'de, E: ReadFields> Deserialize<'de> for ReadElement<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(ELEMENT, ElementVisitor(PhantomData))
    }
}

struct ElementVisitor<E>(PhantomData<fn() -> E>);

impl<'de, E: ReadFields> Visitor<'de> for ElementVisitor<E> {
    type Value = ReadElement<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_bytes<R: de::Error>(self, element: &[u8]) -> Result<ReadElement<E>, R> {
        let read = E::read(ElementReader(element));
        read.map(ReadElement).map_err(R::custom)
    }

    /// Every deserializer but ours hands itself on.
    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        element: D,
    ) -> Result<ReadElement<E>, D::Error> {
        let element = RawDocumentBuf::deserialize(element)?;
        self.visit_bytes(element.as_bytes())
    }
}

/// A stored element.
#[derive(Debug)]
pub struct ElementReader<'b>(&'b [u8]);

impl ElementReader<'_> {
    /// Fills a slot for each field, which has these names. The first of them is the main one.
    ///
    /// # Errors
    ///
    /// If a value is missing, or there twice, or cannot be read.
    pub fn fill(
        self,
        names: &[&[&'static str]],
        slots: &mut [&mut dyn Slot],
    ) -> Result<(), ReadError> {
        // Elements mostly have the order of the struct.
        let mut next = 0;
        for field in RawFields::of(self.0).map_err(|malformed| self.refuse(malformed))? {
            let field = field.map_err(|malformed| self.refuse(malformed))?;
            let is_named = |name: &&str| name.as_bytes() == field.name;
            let is_next = names.get(next).is_some_and(|names| is_named(&names[0]));
            let of_name = |n: &usize| names[*n].iter().any(is_named);
            let place = is_next.then_some(next);
            if let Some(n) = place.or_else(|| (0..names.len()).find(of_name)) {
                slots[n].read(names[n][0], field)?;
                next = n + 1;
            }
        }
        let mut fields = names.iter().zip(slots);
        fields.try_for_each(|(names, slot)| slot.end(names[0]))
    }

    /// The error that `bson` gives for such bytes.
    fn refuse(&self, Malformed: Malformed) -> ReadError {
        match bytes::read::<IgnoredAny>(self.0) {
            Err(error) => ReadError::custom(bytes::reason(&error)),
            Ok(_) => ReadError::custom("malformed document"),
        }
    }
}

/// The place for a field's value.
pub trait Slot {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// If there is one already, or this one cannot be read.
    fn read(&mut self, name: &'static str, field: RawField<'_>) -> Result<(), ReadError>;

    /// Ends the element, which may not have the field.
    ///
    /// # Errors
    ///
    /// If a value is missing.
    fn end(&mut self, name: &'static str) -> Result<(), ReadError>;
}

impl<V: DeserializeOwned + 'static> Slot for Option<V> {
    fn read(&mut self, name: &'static str, field: RawField<'_>) -> Result<(), ReadError> {
        if self.is_some() {
            return Err(ReadError::duplicate_field(name));
        }
        *self = Some(direct::read(field).map_err(ReadError::custom)?);
        Ok(())
    }

    fn end(&mut self, name: &'static str) -> Result<(), ReadError> {
        if self.is_none() {
            *self = Some(V::deserialize(MissingField::new(name))?);
        }
        Ok(())
    }
}

/// The value of a slot that is filled.
pub fn filled<V>(slot: Option<V>) -> V {
    slot.unwrap_or_else(|| unreachable!("`fill` fills each slot"))
}

/// The place for the value of a field with a default.
#[derive(Debug)]
pub struct OrDefault<V>(pub Option<V>);

impl<V: DeserializeOwned + 'static> Slot for OrDefault<V> {
    fn read(&mut self, name: &'static str, field: RawField<'_>) -> Result<(), ReadError> {
        self.0.read(name, field)
    }

    fn end(&mut self, _: &'static str) -> Result<(), ReadError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Document, RawDocumentBuf, doc};

    use super::*;
    use bucket_core::value::bytes;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Trade {
        #[serde(rename = "qty", alias = "quantity")]
        quantity: i32,
        note: Option<String>,
        #[serde(default)]
        fee: i64,
    }

    impl ReadFields for Trade {
        fn read(reader: ElementReader<'_>) -> Result<Self, ReadError> {
            let (mut quantity, mut note, mut fee) = (None, None, OrDefault(None));
            reader.fill(
                &[&["qty", "quantity"], &["note"], &["fee"]],
                &mut [&mut quantity, &mut note, &mut fee],
            )?;
            Ok(Self {
                quantity: filled(quantity),
                note: filled(note),
                fee: fee.0.unwrap_or_default(),
            })
        }
    }

    /// The bytes as our code reads them, and as serde's derive does.
    fn both(bytes: &[u8]) -> [Result<Trade, String>; 2] {
        let ours = bytes::read::<ReadElement<Trade>>(bytes);
        let serde = bytes::read::<Trade>(bytes).map_err(|error| error.to_string());
        [
            ours.map(|element| element.0)
                .map_err(|error| error.to_string()),
            serde,
        ]
    }

    fn of(document: Document) -> [Result<Trade, String>; 2] {
        both(RawDocumentBuf::from_document(&document).unwrap().as_bytes())
    }

    #[test]
    fn elements_are_read_as_serde_reads_them() {
        let documents = [
            doc! { "qty": 1, "note": "a", "fee": 2_i64 },
            doc! { "fee": 2_i64, "other": { "qty": 3 }, "note": null, "quantity": 1 },
            doc! { "quantity": 1 },
        ];
        for document in documents {
            let [ours, serde] = of(document.clone());
            assert!(ours.is_ok(), "{document}");
            assert_eq!(ours, serde, "{document}");
        }
    }

    #[test]
    fn what_serde_refuses_is_refused_in_its_words() {
        let documents = [
            doc! {},
            doc! { "note": "a" },
            doc! { "qty": 1, "quantity": 2 },
            doc! { "qty": "1" },
            doc! { "qty": 1, "fee": null },
        ];
        for document in documents {
            let [ours, serde] = of(document.clone());
            assert!(ours.is_err(), "{document}");
            assert_eq!(ours, serde, "{document}");
        }
    }

    #[test]
    fn an_element_is_read_from_json_too() {
        let expected = Trade {
            quantity: 1,
            note: Some("a".to_owned()),
            fee: 2,
        };
        let of_json = r#"{ "qty": 1, "note": "a", "fee": 2 }"#;
        let of_json: ReadElement<Trade> = serde_json::from_str(of_json).unwrap();
        assert_eq!(of_json.0, expected);
    }

    #[test]
    fn a_field_that_is_there_twice_is_refused() {
        let mut bytes =
            RawDocumentBuf::from_document(&doc! { "qty": 1, "fee": 1_i64, "fed": 2_i64 })
                .unwrap()
                .into_bytes();
        let at = bytes.windows(4).position(|name| name == b"fed\0").unwrap();
        bytes[at..at + 3].copy_from_slice(b"fee");
        let [ours, serde] = both(&bytes);
        assert!(ours.is_err());
        assert_eq!(ours, serde);
    }
}
