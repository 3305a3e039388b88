//! What an attacker could try.

pub(crate) mod inputs;
#[cfg(not(feature = "bson-3"))]
mod privileges;
pub(crate) mod shape;
pub(crate) mod stored;
