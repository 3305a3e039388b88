//! The errors of parents and extras.

pub(crate) mod calls;
pub(crate) mod items;
