//! Parents and their extras as a whole.

mod command;
pub(crate) mod ops;
mod recount;
pub(crate) mod repair;
mod split;
pub(crate) mod verify;
