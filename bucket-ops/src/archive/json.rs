//! Documents as lines of extended JSON, in its canonical form: no value changes its type on the
//! way.

use bucket_core::value::{bytes, element::Refusal, exact::exact_document};
use mongodb::bson::{
    Binary, Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, spec::BinarySubtype,
};

/// The field that holds a document's bytes, beside its `_id` if that is text. A bucket has more
/// fields.
const BYTES: &str = "bson";

/// Writes a document as one line: as extended JSON, unless that would be read as another document.
/// Then the line holds the document's bytes: a name such as `$oid` inside a value stands for a
/// value of another type, readers of JSON limit the nesting, and no reader keeps a name that is
/// there twice.
pub(super) fn write(raw: &RawDocument) -> Result<String, Refusal> {
    let line = extended(Document::try_from(raw)?);
    let is_read_back = |line: &str| {
        let back = read(line).and_then(|back| bytes::write(&back));
        back.is_ok_and(|back| back == raw.as_bytes())
    };
    if is_read_back(&line) {
        return Ok(line);
    }
    let mut whole = Document::new();
    if let Ok(Some(RawBsonRef::String(id))) = raw.get("_id") {
        whole.insert("_id", id);
    }
    let bytes = raw.as_bytes().to_vec();
    let subtype = BinarySubtype::Generic;
    whole.insert(BYTES, Binary { subtype, bytes });
    Ok(extended(whole))
}

/// Reads a document from a line.
pub(super) fn read(line: &str) -> Result<Document, Refusal> {
    let document: Document = serde_json::from_str(line)?;
    let has_only_bytes = || document.keys().all(|name| name == BYTES || name == "_id");
    match document.get(BYTES) {
        Some(Bson::Binary(Binary { subtype, bytes }))
            if *subtype == BinarySubtype::Generic && has_only_bytes() =>
        {
            let raw = RawDocumentBuf::from_bytes(bytes.clone())?;
            let twice =
                "a document inside it has a name twice, and would be stored with one of the two";
            exact_document(&raw).ok_or_else(|| twice.into())
        }
        _ => Ok(document),
    }
}

/// A document as extended JSON.
fn extended(document: Document) -> String {
    Bson::Document(document)
        .into_canonical_extjson()
        .to_string()
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
                proptest::collection::btree_map(
                    r"[^\x00]{0,6}|\$(oid|date|numberInt)",
                    inner,
                    0..5
                )
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
            ]
        })
    }

    fn raw(document: &Document) -> RawDocumentBuf {
        RawDocumentBuf::from_bytes(bytes::write(document).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn a_document_is_one_line_and_back(value in value()) {
            let document = raw(&doc! { "_id": "1_0", "value": value, "count": 1 });
            let line = write(&document).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(raw(&read(&line).unwrap()), document);
        }
    }

    #[test]
    fn a_document_that_only_looks_like_bytes_is_read_as_it_is() {
        let binary = |subtype| Binary {
            subtype,
            bytes: vec![1, 2],
        };
        for document in [
            doc! { BYTES: binary(BinarySubtype::Uuid), "_id": 1 },
            doc! { BYTES: binary(BinarySubtype::Generic), "other": 1 },
            doc! { BYTES: "text" },
        ] {
            let line = extended(document.clone());
            assert_eq!(read(&line).unwrap(), document);
        }
    }

    #[test]
    fn rare_values_stay_extended_json() {
        let regex = Regex {
            pattern: String::from("a.b"),
            options: String::from("i"),
        };
        let code = JavaScriptCodeWithScope {
            code: "x".to_owned(),
            scope: doc! { "y": 1_i64 },
        };
        let rare = doc! { "nan": f64::NAN, "whole": 5.0, "regex": regex, "code": code, "$of": 1 };
        let rare = raw(&rare);
        let line = write(&rare).unwrap();
        assert!(
            line.contains("\"whole\":{\"$numberDouble\":\"5.0\"}"),
            "{line}"
        );
        assert_eq!(raw(&read(&line).unwrap()), rare);
    }

    #[test]
    fn what_extended_json_cannot_hold_is_a_line_of_bytes() {
        let deep = (0..70).fold(doc! {}, |inner, _| doc! { "in": [inner] });
        for value in [
            doc! { "$oid": "65a1b2c3d4e5f60718293a4b" }.into(),
            doc! { "$oid": 1 }.into(),
            doc! { "$numberInt": "5" }.into(),
            Bson::Array(vec![doc! { "$date": { "$numberLong": "5" } }.into()]),
            deep.into(),
        ] {
            let document = raw(&doc! { "_id": "1_0", "value": value });
            let line = write(&document).unwrap();
            assert!(
                line.starts_with(r#"{"_id":"1_0","bson":{"$binary":"#),
                "{line}"
            );
            assert_eq!(raw(&read(&line).unwrap()), document);
        }
        // A bucket whose key has the field's name is not one.
        let named = Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1],
        };
        let named = raw(&doc! { "_id": "1_0", "bson": named, "count": 0 });
        assert_eq!(raw(&read(&write(&named).unwrap()).unwrap()), named);
    }

    #[test]
    fn a_name_twice_is_written_and_not_read() {
        let mut twice = raw(&doc! { "_id": 1, "value": { "a": 1, "b": 2 } }).into_bytes();
        let at = twice.windows(3).position(|it| it == b"\x10b\0").unwrap();
        twice[at + 1] = b'a';
        let twice = RawDocumentBuf::from_bytes(twice).unwrap();
        let error = read(&write(&twice).unwrap()).unwrap_err();
        assert!(error.to_string().contains("a name twice"), "{error}");
    }
}
