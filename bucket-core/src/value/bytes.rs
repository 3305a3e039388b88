//! Values as the bytes of a document, with either version of `bson`.
//!
//! The two major versions name these functions differently, and the user chooses the version that
//! the driver is built with. A name that `bson` has shadows ours in the enclosing glob import, so
//! each version reaches its own function; the last one in each row is never called.
#![allow(
    unused_imports,
    dead_code,
    clippy::needless_question_mark,
    reason = "in each version some of the names are missing, and the errors have other types"
)]

use mongodb::error::Error as DriverError;
use serde::{Serialize, de::DeserializeOwned};

use crate::value::element::Refusal;

/// Writes a document.
pub fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Refusal> {
    use mongodb::bson::*;
    Ok(serialize_to_vec(&value)?)
}

fn serialize_to_vec<T: Serialize>(value: &T) -> Result<Vec<u8>, Refusal> {
    use mongodb::bson::*;
    Ok(to_vec(value)?)
}

fn to_vec<T>(_: &T) -> Result<Vec<u8>, Refusal> {
    unreachable!("bson has `to_vec` or `serialize_to_vec`")
}

/// Reads a document.
pub fn read<T: DeserializeOwned>(document: &[u8]) -> Result<T, DriverError> {
    use mongodb::bson::*;
    Ok(deserialize_from_slice(document)?)
}

fn deserialize_from_slice<T: DeserializeOwned>(document: &[u8]) -> Result<T, DriverError> {
    use mongodb::bson::*;
    Ok(from_slice(document)?)
}

fn from_slice<T>(_: &[u8]) -> Result<T, DriverError> {
    unreachable!("bson has `from_slice` or `deserialize_from_slice`")
}

/// The fault of a document, without the words that the driver and bson 3 put around ours and
/// serde's.
pub fn reason(error: &DriverError) -> String {
    if let Some(text) = error.get_custom::<String>() {
        return text.clone();
    }
    const AROUND: &str = "BSON error. Kind: A deserialization-related error occurred. Message: ";
    let text = error.kind.to_string();
    let within = text.strip_prefix(AROUND);
    let within = within.and_then(|text| text.strip_suffix('.'));
    within.unwrap_or(&text).to_owned()
}

#[cfg(all(feature = "chrono", feature = "jiff"))]
#[cfg(test)]
mod tests {
    use mongodb::bson::{DateTime, doc};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::schema::time::TimeField;

    /// One form in JSON for all types, and dates in the database, by whichever serializer a
    /// document is made.
    #[test]
    fn a_date_is_text_in_json_and_a_date_in_bson() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Visit {
            #[serde(with = "crate::schema::time::bson_date")]
            at: jiff::Timestamp,
            #[serde(with = "crate::schema::time::bson_date")]
            until: Option<DateTime>,
            #[serde(flatten)]
            end: End,
        }

        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        enum End {
            Left {
                #[serde(with = "crate::schema::time::bson_date")]
                at: chrono::DateTime<chrono::Utc>,
            },
        }

        let date = DateTime::from_millis(1_698_321_600_125);
        let left = chrono::DateTime::from_datetime(date).unwrap();
        let visit = Visit {
            at: jiff::Timestamp::from_datetime(date).unwrap(),
            until: Some(date),
            end: End::Left { at: left },
        };
        let stored = doc! { "at": date, "until": date, "Left": { "at": date } };
        let bytes = write(&visit).unwrap();
        assert_eq!(bytes, write(&stored).unwrap());
        assert_eq!(read::<Visit>(&bytes).unwrap(), visit);
        let written = visit.serialize(mongodb::bson::Serializer::new());
        assert_eq!(written.unwrap(), stored.into());

        let json = serde_json::to_value(&visit).unwrap();
        let text = "2023-10-26T12:00:00.125Z";
        assert_eq!((&json["at"], &json["until"]), (&text.into(), &text.into()));
        assert_eq!(serde_json::from_value::<Visit>(json).unwrap(), visit);
        let request = format!(
            r#"{{ "at": "2023-10-26T14:00:00.125+02:00", "until": {{ "$date": "{text}" }}, "Left": {{ "at": "{text}" }} }}"#
        );
        assert_eq!(serde_json::from_str::<Visit>(&request).unwrap(), visit);
        let wrong = request.replace(text, "soon");
        assert!(serde_json::from_str::<Visit>(&wrong).is_err());
        // Years beyond RFC 3339.
        let far = Visit {
            until: Some(DateTime::MAX),
            ..visit
        };
        let json = serde_json::to_string(&far).unwrap();
        assert_eq!(serde_json::from_str::<Visit>(&json).unwrap(), far);
    }
}
