//! Values as the bytes of a document, with either version of `bson`.
//!
//! The two major versions name these functions differently, and the user chooses the version that the
//! driver is built with. A name that `bson` has shadows ours in the enclosing glob import, so each
//! version reaches its own function; the last one in each row is never called.
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
pub(crate) fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Refusal> {
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
pub(crate) fn read<T: DeserializeOwned>(document: &[u8]) -> Result<T, DriverError> {
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

/// What is wrong with a document, without the words that bson 3 puts around serde's.
pub(crate) fn reason(error: &DriverError) -> String {
    const AROUND: &str = "BSON error. Kind: A deserialization-related error occurred. Message: ";
    let text = error.kind.to_string();
    let within = text.strip_prefix(AROUND);
    let within = within.and_then(|text| text.strip_suffix('.'));
    within.unwrap_or(&text).to_owned()
}
