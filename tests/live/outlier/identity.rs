//! `#[outlier(items, unique = …)]`: each item of a parent is stored once, wherever it is.

pub(crate) mod calls;
pub(crate) mod race;
pub(crate) mod support;
pub(crate) mod twins;
pub(crate) mod upsert;
