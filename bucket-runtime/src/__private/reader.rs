//! Reads an element field by field.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};

use crate::value::{missing_field::MissingField, stored_bucket::FieldName};

/// The fields of an element. The code that serde's derive writes takes the compiler ten times as long.
pub trait ReadFields: Sized {
    /// Reads them.
    fn read<'de, A: MapAccess<'de>>(reader: ElementReader<A>) -> Result<Self, A::Error>;
}

/// An element that is read by its [`ReadFields`].
#[derive(Debug)]
pub struct ReadElement<E>(pub E);

impl<'de, E: ReadFields> Deserialize<'de> for ReadElement<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ElementVisitor(PhantomData))
    }
}

struct ElementVisitor<E>(PhantomData<E>);

impl<'de, E: ReadFields> Visitor<'de> for ElementVisitor<E> {
    type Value = ReadElement<E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ReadElement<E>, A::Error> {
        E::read(ElementReader(map)).map(ReadElement)
    }
}

/// A stored element.
pub struct ElementReader<A>(A);

impl<A> fmt::Debug for ElementReader<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElementReader").finish_non_exhaustive()
    }
}

impl<'de, A: MapAccess<'de>> ElementReader<A> {
    /// Fills a slot for each field, which has these names. The first of them is the main one.
    ///
    /// # Errors
    ///
    /// If a value is missing, or there twice, or cannot be read.
    pub fn fill(
        mut self,
        names: &[&[&'static str]],
        slots: &mut [&mut dyn Slot<'de, A>],
    ) -> Result<(), A::Error> {
        // Elements mostly have the order of the struct.
        let mut next = 0;
        while let Some(name) = self.0.next_key_seed(FieldName)? {
            let is_next = names.get(next).is_some_and(|names| names[0] == name);
            let of_name = |n: &usize| names[*n].contains(&&*name);
            match is_next
                .then_some(next)
                .or_else(|| (0..names.len()).find(of_name))
            {
                Some(n) => {
                    slots[n].read(names[n][0], &mut self.0)?;
                    next = n + 1;
                }
                None => drop(self.0.next_value::<IgnoredAny>()?),
            }
        }
        let mut fields = names.iter().zip(slots);
        fields.try_for_each(|(names, slot)| slot.end(names[0]))
    }
}

/// The place for a field's value.
pub trait Slot<'de, A: MapAccess<'de>> {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// If there is one already, or this one cannot be read.
    fn read(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error>;

    /// Ends the element, which may not have the field.
    ///
    /// # Errors
    ///
    /// If a value is missing.
    fn end(&mut self, name: &'static str) -> Result<(), A::Error>;
}

impl<'de, A: MapAccess<'de>, V: Deserialize<'de>> Slot<'de, A> for Option<V> {
    fn read(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        if self.is_some() {
            return Err(A::Error::duplicate_field(name));
        }
        *self = Some(map.next_value()?);
        Ok(())
    }

    fn end(&mut self, name: &'static str) -> Result<(), A::Error> {
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

impl<'de, A: MapAccess<'de>, V: Deserialize<'de>> Slot<'de, A> for OrDefault<V> {
    fn read(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error> {
        self.0.read(name, map)
    }

    fn end(&mut self, _: &'static str) -> Result<(), A::Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Document, RawDocumentBuf, doc};

    use super::*;
    use crate::value::bytes;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Trade {
        #[serde(rename = "qty", alias = "quantity")]
        quantity: i32,
        note: Option<String>,
        #[serde(default)]
        fee: i64,
    }

    impl ReadFields for Trade {
        fn read<'de, A: MapAccess<'de>>(reader: ElementReader<A>) -> Result<Self, A::Error> {
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

    /// What our code, and what serde's derive, make of the bytes.
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
