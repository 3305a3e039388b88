//! Values straight from their bytes, where the result is the one that serde has by way of `bson`.
//!
//! For a date, an id or a decimal, `bson` plays a document of extended JSON to serde: a date
//! becomes a string of digits, which is parsed again.

use std::{
    any::Any,
    borrow::Cow,
    error::Error as StdError,
    fmt::{self, Display},
};

use mongodb::bson::{
    Binary, DateTime, Decimal128, Uuid,
    oid::ObjectId,
    spec::{BinarySubtype, ElementType},
};
use serde::{
    Deserializer,
    de::{DeserializeOwned, Error, IntoDeserializer, Visitor},
    forward_to_deserialize_any,
};

use crate::{
    schema::time::STORED_DATE,
    value::{raw_field::RawField, unreadable::read_field},
};

/// The name by which an element asks for its bytes.
pub const ELEMENT: &str = "$bucket_element";

/// Reads an element's document if it asks for its bytes; what is wrong with another one, `bson`
/// says.
pub fn element<E: DeserializeOwned>(field: RawField<'_>) -> Option<E> {
    E::deserialize(Direct(field)).ok()
}

/// Reads the value of a field as serde would; an error is in `bson`'s words.
pub fn read<V: DeserializeOwned + 'static>(field: RawField<'_>) -> Result<V, String> {
    match same_type(&field) {
        Some(value) => Ok(value),
        None => V::deserialize(Direct(field)).or_else(|NotDirect| read_field(&field)),
    }
}

/// The value, if `V` is exactly the type that `bson` has for it, or an `Option` of that.
fn same_type<V: 'static>(field: &RawField<'_>) -> Option<V> {
    let mut value: Option<V> = None;
    let slot: &mut dyn Any = &mut value;
    match field.ty {
        ElementType::DateTime => put(slot, || date(field)),
        ElementType::ObjectId => put(slot, || field.bytes().map(ObjectId::from_bytes)),
        ElementType::Decimal128 => put(slot, || field.bytes().map(Decimal128::from_bytes)),
        ElementType::Binary => {
            put(slot, || uuid(field));
            put(slot, || binary(field));
        }
        _ => {}
    }
    value
}

/// Fills a slot for this type, or for an `Option` of it.
fn put<T: 'static>(slot: &mut dyn Any, value: impl FnOnce() -> Option<T>) {
    if let Some(slot) = slot.downcast_mut::<Option<T>>() {
        *slot = value();
    } else if let Some(slot) = slot.downcast_mut::<Option<Option<T>>>() {
        *slot = value().map(Some);
    }
}

fn date(field: &RawField<'_>) -> Option<DateTime> {
    field
        .bytes()
        .map(i64::from_le_bytes)
        .map(DateTime::from_millis)
}

fn uuid(field: &RawField<'_>) -> Option<Uuid> {
    let (subtype, bytes) = field.binary()?;
    let is_uuid = BinarySubtype::from(subtype) == BinarySubtype::Uuid;
    is_uuid.then_some(Uuid::from_bytes(bytes.try_into().ok()?))
}

fn binary(field: &RawField<'_>) -> Option<Binary> {
    let (subtype, bytes) = field.binary()?;
    let subtype = BinarySubtype::from(subtype);
    // The old subtype has a second length in its bytes.
    (subtype != BinarySubtype::BinaryOld).then(|| Binary {
        subtype,
        bytes: bytes.to_vec(),
    })
}

/// A field's value, for types that make no difference between `bson` and this.
struct Direct<'b>(RawField<'b>);

/// The value is one for `bson`, which also says what is wrong with it.
#[derive(Debug)]
struct NotDirect;

impl Display for NotDirect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value cannot be read directly")
    }
}

impl StdError for NotDirect {}

impl Error for NotDirect {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

fn number<N, const BYTES: usize>(
    field: &RawField<'_>,
    of_bytes: fn([u8; BYTES]) -> N,
) -> Result<N, NotDirect> {
    field.bytes().map(of_bytes).ok_or(NotDirect)
}

impl<'de> Deserializer<'de> for Direct<'de> {
    type Error = NotDirect;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotDirect> {
        let Self(field) = self;
        match field.ty {
            ElementType::Null => visitor.visit_unit(),
            ElementType::Boolean => match field.value {
                [0] => visitor.visit_bool(false),
                [1] => visitor.visit_bool(true),
                _ => Err(NotDirect),
            },
            ElementType::Int32 => visitor.visit_i32(number(&field, i32::from_le_bytes)?),
            ElementType::Int64 => visitor.visit_i64(number(&field, i64::from_le_bytes)?),
            ElementType::Double => visitor.visit_f64(number(&field, f64::from_le_bytes)?),
            ElementType::String => visitor.visit_borrowed_str(field.text().ok_or(NotDirect)?),
            ElementType::Binary => match field.binary() {
                Some((0, bytes)) => visitor.visit_borrowed_bytes(bytes),
                _ => Err(NotDirect),
            },
            _ => Err(NotDirect),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotDirect> {
        match self.0.ty {
            ElementType::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotDirect> {
        match (self.0.ty, self.0.text()) {
            (ElementType::String, Some(text)) => {
                visitor.visit_enum(Cow::Borrowed(text).into_deserializer())
            }
            _ => Err(NotDirect),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotDirect> {
        match (name, self.0.ty) {
            (ELEMENT, ElementType::EmbeddedDocument) => visitor.visit_borrowed_bytes(self.0.value),
            (STORED_DATE, ElementType::DateTime) => {
                visitor.visit_i64(number(&self.0, i64::from_le_bytes)?)
            }
            // By such names the types of `bson` ask its deserializer for more.
            (name, _) if name.starts_with('$') => Err(NotDirect),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[allow(dead_code, reason = "what was read is compared as `Debug` prints it")]
#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt::Debug};

    use mongodb::bson::{Bson, Document, RawBson, RawDocumentBuf, Timestamp, doc};
    use serde::Deserialize;

    use super::*;
    use crate::value::raw_field::{RawFields, tests::values};

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Variant {
        #[serde(rename = "Buy")]
        Unit,
        Other(DateTime),
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(i64),
        Date(DateTime),
        Text(String),
        Document(Document),
    }

    #[derive(Debug, Deserialize)]
    struct Newtype<T>(T);

    #[derive(Debug, Deserialize)]
    #[serde(transparent)]
    struct Date {
        #[serde(with = "crate::schema::time::bson_date")]
        _at: DateTime,
    }

    #[derive(Debug, Deserialize)]
    #[serde(transparent)]
    struct OptionalDate {
        #[serde(with = "crate::schema::time::bson_date")]
        _at: Option<DateTime>,
    }

    #[derive(Debug, Deserialize)]
    struct Unit;

    #[derive(Debug, Deserialize)]
    struct Nested {
        x: Vec<Bson>,
    }

    /// Reads all values as this type, directly and by way of `bson`.
    fn both<V: DeserializeOwned + Debug + 'static>() {
        for value in values() {
            let document = RawDocumentBuf::from_document(&doc! { "v": &value }).unwrap();
            let fields = RawFields::of(document.as_bytes()).unwrap();
            let fields = Vec::from_iter(fields.map(|field| field.unwrap()));
            let [field] = fields[..] else {
                panic!("one field")
            };
            let direct = format!("{:?}", read::<V>(field));
            let by_bson = format!("{:?}", read_field::<V>(&field));
            assert_eq!(direct, by_bson, "{value} as {}", std::any::type_name::<V>());
        }
    }

    #[test]
    fn a_direct_value_is_the_one_that_bson_reads() {
        macro_rules! of_types {
            ($($ty:ty),* $(,)?) => {$(
                both::<$ty>();
                both::<Option<$ty>>();
                both::<Newtype<$ty>>();
            )*};
        }
        of_types!(
            (), bool, i8, i32, i64, u16, u64, f32, f64, char, String, Unit, Vec<u8>, [i32; 2],
            DateTime, Date, OptionalDate, ObjectId, Decimal128, Binary, Uuid, Timestamp,
            Bson, RawBson, Document, Vec<Bson>, BTreeMap<String, RawBson>, serde_json::Value,
            Variant, Untagged, Nested,
        );
    }

    #[test]
    fn common_types_are_read_directly() {
        let document = doc! {
            "date": DateTime::MAX, "time": DateTime::MIN, "id": ObjectId::new(), "text": "MDB",
            "side": "Buy", "number": 7, "none": null, "yes": true, "no": false, "long": 7_i64, "float": 0.5,
            "decimal": Decimal128::from_bytes([1; 16]), "uuid": Uuid::from_bytes([1; 16]),
            "bytes": Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] },
        };
        let document = RawDocumentBuf::from_document(&document).unwrap();
        let fields = RawFields::of(document.as_bytes()).unwrap();
        let fields = Vec::from_iter(fields.map(|field| field.unwrap()));
        let [
            date,
            time,
            id,
            text,
            side,
            number,
            none,
            yes,
            no,
            long,
            float,
            decimal,
            uuid,
            bytes,
        ] = fields.try_into().unwrap();
        assert_eq!(<()>::deserialize(Direct(none)).ok(), Some(()));
        let bools = [yes, no].map(|field| bool::deserialize(Direct(field)).ok());
        assert_eq!(bools, [Some(true), Some(false)]);
        assert_eq!(i64::deserialize(Direct(long)).ok(), Some(7));
        assert_eq!(f64::deserialize(Direct(float)).ok(), Some(0.5));
        assert_eq!(same_type(&decimal), Some(Decimal128::from_bytes([1; 16])));
        assert_eq!(same_type(&uuid), Some(Uuid::from_bytes([1; 16])));
        assert_eq!(same_type::<Uuid>(&bytes), None);
        let binary = same_type::<Binary>(&bytes);
        assert_eq!(binary.map(|binary| binary.bytes), Some(vec![1, 2]));
        assert_eq!(<&[u8]>::deserialize(Direct(bytes)).ok(), Some(&[1, 2][..]));
        let optional = read::<OptionalDate>(date).unwrap();
        assert_eq!(optional._at, Some(DateTime::MAX));
        assert_eq!(same_type(&date), Some(DateTime::MAX));
        assert_eq!(same_type(&time), Some(Some(DateTime::MIN)));
        assert!(same_type::<ObjectId>(&id).is_some());
        assert!(Date::deserialize(Direct(time)).is_ok());
        assert!(String::deserialize(Direct(text)).is_ok());
        assert!(Variant::deserialize(Direct(side)).is_ok());
        assert!(Option::<Newtype<u8>>::deserialize(Direct(number)).is_ok());
    }

    /// A type with two forms is read in the one in which it is written: an address is not a text.
    #[test]
    fn a_value_is_not_read_in_its_readable_form() {
        let document = RawDocumentBuf::from_document(&doc! { "v": "127.0.0.1" }).unwrap();
        let field = RawFields::of(document.as_bytes()).unwrap().next().unwrap();
        assert!(std::net::IpAddr::deserialize(Direct(field.unwrap())).is_err());
    }
}
