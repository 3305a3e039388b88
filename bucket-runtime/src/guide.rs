//! The guide: one task a page.

#[doc = include_str!("guide/sharding.md")]
pub mod sharding {}
