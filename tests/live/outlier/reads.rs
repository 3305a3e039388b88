//! Reads of a parent's items: in both orders, filtered, skipped, limited, and page by page.

pub(crate) mod found;
pub(crate) mod pages;
pub(crate) mod random;
pub(crate) mod trips;
