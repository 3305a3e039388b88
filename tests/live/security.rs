//! What an attacker could try.

pub(crate) mod inputs;
pub(crate) mod security_shape;
pub(crate) mod security_stored;
