//! Reads of a parent's items: in both orders, filtered, skipped, limited, page by page, and in parts.

pub(crate) mod found;
pub(crate) mod pages;
pub(crate) mod parts;
pub(crate) mod random;
pub(crate) mod trips;
