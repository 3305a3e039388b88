//! A collection as a whole: verify, repair, validators, another capacity.

pub(crate) mod archive;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod migrate;
pub(crate) mod validators;
pub(crate) mod verify;
