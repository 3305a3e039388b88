//! Errors: their texts, what they hand back, and which writes are in doubt.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod doubt_codes;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod doubt_half;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod doubt_killed;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod doubt_support;
pub(crate) mod errors;
pub(crate) mod errors_items;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod errors_server;
pub(crate) mod errors_stored;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod errors_text;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod plan_killed;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod standalone;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod unprivileged;
