//! Values as MongoDB's shell writes them.

use base64::{Engine, engine::general_purpose::STANDARD};
use mongodb::bson::{Binary, Bson, RawDocument, Uuid, spec::BinarySubtype};

/// A value that commands hold, in the shell's language.
pub fn shell(value: &Bson) -> String {
    match value {
        Bson::Document(fields) => {
            let field = |(name, value): (&String, &Bson)| format!("{name:?}: {}", shell(value));
            format!(
                "{{ {} }}",
                fields.iter().map(field).collect::<Vec<_>>().join(", ")
            )
        }
        Bson::Array(elements) => {
            let elements = elements.iter().map(shell).collect::<Vec<_>>();
            format!("[{}]", elements.join(", "))
        }
        Bson::Int64(number) => format!("Long(\"{number}\")"),
        Bson::DateTime(time) => format!("new Date({})", time.timestamp_millis()),
        // JavaScript reads Rust's escapes.
        Bson::String(text) => format!("{text:?}"),
        Bson::Decimal128(number) => format!("NumberDecimal(\"{number}\")"),
        Bson::Binary(bytes) => binary(bytes),
        other => other.to_string(),
    }
}

fn binary(Binary { subtype, bytes }: &Binary) -> String {
    match (subtype, <[u8; 16]>::try_from(bytes.as_slice())) {
        (BinarySubtype::Uuid, Ok(bytes)) => format!("UUID(\"{}\")", Uuid::from_bytes(bytes)),
        _ => format!(
            "BinData({}, \"{}\")",
            u8::from(*subtype),
            STANDARD.encode(bytes)
        ),
    }
}

/// A document's `_id`; `Null` if there is none.
pub fn id_of(document: &RawDocument) -> Bson {
    let id = document.get("_id").ok().flatten();
    let id = id.and_then(|id| Bson::try_from(id).ok());
    id.unwrap_or(Bson::Null)
}

/// A document's `_id` as the shell writes it.
pub fn id(document: &RawDocument) -> String {
    shell(&id_of(document))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{DateTime, doc, oid::ObjectId};

    use super::*;

    #[test]
    fn a_value_is_what_the_shell_reads() {
        let value = doc! {
            "a.b": 1,
            "long": 5_i64,
            "at": DateTime::from_millis(-1000),
            "text": "a \"b\"\n",
            "all": [true, { "x": null }, 0.5],
        };
        assert_eq!(
            shell(&value.into()),
            r#"{ "a.b": 1, "long": Long("5"), "at": new Date(-1000), "text": "a \"b\"\n", "all": [true, { "x": null }, 0.5] }"#,
        );
    }
    #[test]
    fn an_id_can_be_pasted_into_a_query() {
        let id = ObjectId::from_bytes([7; 12]);
        let bytes = |subtype| Binary {
            subtype,
            bytes: vec![1; 16],
        };
        for (id, text) in [
            (id.into(), r#"ObjectId("070707070707070707070707")"#),
            (
                bytes(BinarySubtype::Uuid).into(),
                r#"UUID("01010101-0101-0101-0101-010101010101")"#,
            ),
            (
                bytes(BinarySubtype::Generic).into(),
                r#"BinData(0, "AQEBAQEBAQEBAQEBAQEBAQ==")"#,
            ),
            (Bson::from("2_0000000000"), r#""2_0000000000""#),
            (Bson::Null, "null"),
        ] {
            assert_eq!(shell(&id), text);
        }
    }
}
