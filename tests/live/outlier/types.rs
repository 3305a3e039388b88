//! The items that a parent may hold.

pub(crate) mod hostile;
pub(crate) mod items;
