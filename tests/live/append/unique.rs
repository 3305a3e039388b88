//! `#[bucket(unique)]`: an append is safe to repeat.

pub(crate) mod get;
pub(crate) mod kill;
pub(crate) mod repeats;
pub(crate) mod twins;
