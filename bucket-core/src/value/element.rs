//! Values as they are sent to the server.

use std::error::Error;

use mongodb::bson::{Bson, Document, RawBsonRef, RawDocumentBuf};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    schema::size::layout::digits,
    value::{
        bytes,
        raw_field::{RawField, RawFields},
    },
};

pub type Refusal = Box<dyn Error + Send + Sync>;

/// One value as it is sent: the only field of a document, since BSON cannot hold a value of any
/// type in another way.
#[derive(Debug, Clone)]
pub struct Element(RawDocumentBuf);

impl Element {
    /// Writes a value as BSON, or says why that is impossible.
    ///
    /// A refusal here comes before anything is sent. The driver would notice a NUL in a name as
    /// well, but its error does not say whether anything was sent.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, Refusal> {
        let element = Self(raw(&Only(value))?);
        element.field()?;
        Ok(element)
    }

    pub fn value(&self) -> RawBsonRef<'_> {
        match self.0.iter().next() {
            Some(Ok((_, value))) => value,
            // `of` has checked that there is a value.
            _ => RawBsonRef::Null,
        }
    }

    /// The value as the only field of its document.
    pub fn field(&self) -> Result<RawField<'_>, Refusal> {
        let only = RawFields::of(self.0.as_bytes()).map(|mut fields| fields.next());
        match only {
            Ok(Some(Ok(only))) => Ok(only),
            // serde skips such an element altogether.
            _ => Err("it has no value".into()),
        }
    }

    /// The size in bytes of the document around the value.
    pub fn size(&self) -> usize {
        self.0.as_bytes().len()
    }

    /// The size in bytes of the value alone, without the document of one field around it.
    pub fn value_size(&self) -> usize {
        self.size() - (4 + 1 + "value\0".len() + 1)
    }
}

/// A document whose only field is this value. It is written as a map, since `bson` has much more
/// code for a struct, which is compiled for each type of value.
struct Only<'v, T: ?Sized>(&'v T);

impl<T: Serialize + ?Sized> Serialize for Only<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(Some(1))?;
        document.serialize_entry("value", self.0)?;
        document.end()
    }
}

/// The size of a document in bytes.
pub fn document_size(document: &Document) -> usize {
    let fields = document.iter();
    let sizes = fields.map(|(name, value)| 2 + name.len() + value_size(value));
    5 + sizes.sum::<usize>()
}

/// Counts how many values of these sizes, from the first on, take no more than so many bytes
/// together.
pub fn count_within(bytes: usize, sizes: impl IntoIterator<Item = usize>) -> usize {
    let mut left = Some(bytes);
    let fits = |size: &usize| {
        left = left.and_then(|left| left.checked_sub(*size));
        left.is_some()
    };
    sizes.into_iter().take_while(fits).count()
}

/// The size of a value in a document, without its name.
pub fn value_size(value: &Bson) -> usize {
    match value {
        Bson::Double(_) | Bson::Int64(_) | Bson::DateTime(_) | Bson::Timestamp(_) => 8,
        Bson::Int32(_) => 4,
        Bson::Boolean(_) => 1,
        Bson::Null | Bson::Undefined | Bson::MinKey | Bson::MaxKey => 0,
        Bson::ObjectId(_) => 12,
        Bson::Decimal128(_) => 16,
        Bson::String(text) => text.len() + 5,
        Bson::Array(values) => {
            let indexes = values.iter().enumerate();
            let sizes =
                indexes.map(|(n, value)| 2 + digits(n as u64 + 1) as usize + value_size(value));
            5 + sizes.sum::<usize>()
        }
        Bson::Document(document) => document_size(document),
        // These types are rare, and some have other fields in each version of `bson`.
        other => Element::of(other).map_or(0, |element| element.value_size()),
    }
}

/// A value as BSON, or why that is impossible.
pub fn element<T: Serialize + ?Sized>(value: &T) -> Result<Bson, Refusal> {
    Ok(Bson::try_from(Element::of(value)?.value())?)
}

/// A value as the bytes of a document, or why that is impossible.
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Result<RawDocumentBuf, Refusal> {
    Ok(RawDocumentBuf::from_bytes(bytes::write(value)?)?)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, net::IpAddr};

    use mongodb::bson::{DateTime, Decimal128, Timestamp, Uuid, doc, oid::ObjectId};

    use super::*;

    /// The driver reads values as bytes, so they are written as bytes, too: types such as `IpAddr`
    /// have another human-readable form.
    #[test]
    fn a_value_is_written_in_the_form_in_which_it_is_read() {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        let written = element(&doc! { "n": 1 }).unwrap();
        assert_eq!(written, Bson::Document(doc! { "n": 1 }));
        assert!(!matches!(element(&address).unwrap(), Bson::String(_)));
    }

    #[test]
    fn a_size_is_that_of_the_bytes() {
        let array = |len| Bson::Array(vec![1.into(); len]);
        let document = doc! {
            "": null, "int": 1, "long": 1_i64, "double": 1.5, "yes": true, "text": "äö", "none": [], "deep": {},
            "nine": array(9), "ten": array(10), "eleven": array(11), "many": array(101), "documents": [{ "a": 1 }],
            "at": DateTime::MAX, "id": ObjectId::new(), "decimal": "1".parse::<Decimal128>().unwrap(),
            "at_once": Timestamp { time: 1, increment: 2 }, "uuid": Uuid::new(), "least": Bson::MinKey,
        };
        assert_eq!(
            document_size(&document),
            bytes::write(&document).unwrap().len()
        );
        for value in document.values() {
            let element = Element::of(value).unwrap();
            assert_eq!(element.value_size(), value_size(value), "{value}");
            assert_eq!(
                element.size(),
                value_size(value) + document_size(&doc! { "value": null })
            );
        }
    }

    #[test]
    fn values_are_counted_until_one_exceeds_the_bytes() {
        let count = |bytes| count_within(bytes, [3, 4, 1]);
        assert_eq!(
            [count(2), count(3), count(6), count(7), count(8), count(9)],
            [0, 1, 1, 2, 3, 3]
        );
    }

    #[test]
    fn a_name_with_a_nul_is_refused() {
        let map = BTreeMap::from([("a\0b", 1)]);
        assert!(element(&map).is_err());
        assert!(element(&vec![map]).is_err());
    }

    #[test]
    fn a_number_beyond_64_bits_is_refused() {
        assert!(element(&u64::MAX).is_err());
    }
}
