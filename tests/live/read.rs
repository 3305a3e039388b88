//! Pages, items, queries, views, rollups, and new items as they come.

/// Conditions, each with the same in Rust.
macro_rules! cases {
    (|$item:ident: $type:ty| $($filter:expr => $holds:expr;)+) => {
        vec![$(($filter, |$item: &$type| { let _ = $item; $holds })),+]
    };
}

#[cfg(not(feature = "bson-3"))]
pub(crate) mod blocking;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod flat_view;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod item_tokens;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod leaving;
pub(crate) mod nested;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod paging;
pub(crate) mod parts;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod plans;
pub(crate) mod query;
pub(crate) mod rollup;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod settings;
pub(crate) mod unreadable;
pub(crate) mod watch;
