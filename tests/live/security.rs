//! Attacks that must lead nowhere.

pub(crate) mod inputs;
#[cfg(not(feature = "bson-3"))]
mod privileges;
pub(crate) mod shape;
pub(crate) mod stored;
