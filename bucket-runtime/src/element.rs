//! Values on their way to the server.

use std::error::Error;

use mongodb::bson::{Bson, Serializer};
use serde::Serialize;

type Refusal = Box<dyn Error + Send + Sync>;

/// A value as BSON, or why it cannot be that.
///
/// Whatever is refused here is refused before anything is sent. The driver would notice a name with
/// a NUL as well, but with an error that does not tell whether something was sent.
pub(crate) fn element<T: Serialize + ?Sized>(value: &T) -> Result<Bson, Refusal> {
    let value = value.serialize(Serializer::new())?;
    match name_with_nul(&value) {
        Some(name) => Err(format!("the field name {name:?} contains a NUL").into()),
        None => Ok(value),
    }
}

/// The first name in a value that contains the character in which BSON ends names.
fn name_with_nul(value: &Bson) -> Option<&str> {
    match value {
        Bson::Document(document) => document.iter().find_map(|(name, value)| {
            if name.contains('\0') {
                Some(name.as_str())
            } else {
                name_with_nul(value)
            }
        }),
        Bson::Array(values) => values.iter().find_map(name_with_nul),
        _ => None,
    }
}
