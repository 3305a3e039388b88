//! `change_capacity`.

pub(crate) mod busy;
pub(crate) mod index;
pub(crate) mod killed;
pub(crate) mod moves;
pub(crate) mod reads;
