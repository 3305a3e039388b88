//! Errors: their texts, what they hand back, and which writes are in doubt.

pub(crate) mod collection;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod doubt;
pub(crate) mod items;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod plan_killed;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod runtime;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod server;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod silent;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod standalone;
pub(crate) mod stored;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod text;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod unprivileged;
