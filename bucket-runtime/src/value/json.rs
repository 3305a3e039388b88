//! Documents as lines of extended JSON, in its canonical form: no value changes its type on the way.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use mongodb::bson::{Bson, Document};
use serde::{Serialize, Serializer};

/// Why a line cannot be written or read.
type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Writes a document as one line.
///
/// A field whose name begins with `$` inside a value would be read as a value of extended JSON, so such a
/// document is refused.
pub(crate) fn write(document: &Document) -> Result<String, Refusal> {
    if let Some(name) = document.values().find_map(ambiguous) {
        return Err(format!("extended JSON has no field name like {name:?}").into());
    }
    Ok(serde_json::to_string(&Fields(document))?)
}

/// Reads a document from a line.
pub(crate) fn read(line: &str) -> Result<Document, Refusal> {
    Ok(serde_json::from_str(line)?)
}

/// A field name in the value that begins with `$`.
fn ambiguous(value: &Bson) -> Option<&str> {
    match value {
        Bson::Document(fields) => {
            let name = fields.keys().find(|name| name.starts_with('$'));
            let name = name.map(String::as_str);
            name.or_else(|| fields.values().find_map(ambiguous))
        }
        Bson::Array(elements) => elements.iter().find_map(ambiguous),
        _ => None,
    }
}

struct Fields<'d>(&'d Document);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Canonical(value))))
    }
}

/// A value in canonical form. `bson` alone writes numbers and dates in the relaxed form, and bytes as an
/// array.
struct Canonical<'v>(&'v Bson);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Bson::Int32(number) => serializer.collect_map([("$numberInt", number.to_string())]),
            Bson::Int64(number) => serializer.collect_map([("$numberLong", number.to_string())]),
            Bson::Double(number) => serializer.collect_map([("$numberDouble", double(*number))]),
            Bson::DateTime(time) => {
                let millis = Bson::Int64(time.timestamp_millis());
                serializer.collect_map([("$date", Canonical(&millis))])
            }
            Bson::Binary(binary) => {
                let value = [
                    ("base64", STANDARD.encode(&binary.bytes)),
                    ("subType", format!("{:02x}", u8::from(binary.subtype))),
                ];
                let value = value.into_iter().collect::<BTreeMap<_, _>>();
                serializer.collect_map([("$binary", value)])
            }
            Bson::Document(fields) => Fields(fields).serialize(serializer),
            Bson::Array(elements) => serializer.collect_seq(elements.iter().map(Canonical)),
            other => other.serialize(serializer),
        }
    }
}

fn double(number: f64) -> String {
    match number {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        // With a point or an exponent, and as many digits as tell it from all others.
        number => format!("{number:?}"),
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{
        Binary, DateTime, Decimal128, JavaScriptCodeWithScope, Regex, Timestamp, doc,
        oid::ObjectId, spec::BinarySubtype,
    };
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Bson> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Bson::Int32),
            any::<i64>().prop_map(Bson::Int64),
            any::<f64>().prop_map(Bson::Double),
            any::<bool>().prop_map(Bson::Boolean),
            ".{0,8}".prop_map(Bson::String),
            any::<i64>().prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
            any::<[u8; 12]>().prop_map(|bytes| Bson::ObjectId(ObjectId::from_bytes(bytes))),
            any::<[u8; 16]>().prop_map(|bytes| Bson::Decimal128(Decimal128::from_bytes(bytes))),
            (any::<u8>(), proptest::collection::vec(any::<u8>(), 0..9)).prop_map(
                |(subtype, bytes)| Bson::Binary(Binary {
                    subtype: BinarySubtype::from(subtype),
                    bytes
                })
            ),
            any::<(u32, u32)>()
                .prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
            Just(Bson::Null),
            Just(Bson::MinKey),
            Just(Bson::MaxKey),
            Just(Bson::JavaScriptCode("x".to_owned())),
        ];
        leaf.prop_recursive(3, 20, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Bson::Array),
                proptest::collection::btree_map("[^$]?|[^$].{0,5}", inner, 0..5)
                    .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_document_is_one_line_and_back(value in value()) {
            let document = doc! { "_id": "1_0", "value": value };
            let line = write(&document).unwrap();
            prop_assert!(!line.contains('\n'));
            let back = read(&line).unwrap();
            // NaN is not equal to itself.
            prop_assert_eq!(back.to_string(), document.to_string());
        }
    }

    #[test]
    fn rare_values_and_what_extended_json_cannot_hold() {
        let rare = doc! {
            "nan": f64::NAN,
            "whole": 5.0,
            "code": JavaScriptCodeWithScope { code: "x".to_owned(), scope: doc! { "y": 1_i64 } },
        };
        let line = write(&rare).unwrap();
        assert_eq!(read(&line).unwrap().to_string(), rare.to_string());
        let regex = Regex {
            pattern: String::from("a.b"),
            options: String::from("i"),
        };
        let regex = doc! { "regex": regex };
        assert_eq!(read(&write(&regex).unwrap()).unwrap(), regex);
        let error = write(&doc! { "a": [{ "$oid": 1 }] }).unwrap_err();
        assert!(error.to_string().contains("$oid"), "{error}");
    }
}
