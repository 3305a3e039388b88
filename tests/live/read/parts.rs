//! Parts of items and parents.

pub(crate) mod as_whole;
pub(crate) mod fields;
