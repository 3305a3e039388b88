//! Appends that wait at the same time travel in one command.

pub(crate) mod cut;
pub(crate) mod dropped;
pub(crate) mod errors;
pub(crate) mod interrupted;
pub(crate) mod large;
pub(crate) mod random;
pub(crate) mod sessions;
pub(crate) mod support;
pub(crate) mod waits;
