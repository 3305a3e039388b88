//! `verify` and `repair` of parents and extras.

pub(crate) mod all;
pub(crate) mod mended;
pub(crate) mod unreadable;
