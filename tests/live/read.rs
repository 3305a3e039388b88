//! Pages, items, queries, views, rollups, and new items as they come.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod blocking;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod flat_view;
pub(crate) mod nested;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod paging;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod paging_model;
pub(crate) mod parts;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod plans;
pub(crate) mod query_cases;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod query_differential;
pub(crate) mod query_plans;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod query_random;
pub(crate) mod query_reads;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod rollups;
pub(crate) mod rollups_limits;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod settings;
pub(crate) mod unreadable;
pub(crate) mod watch;
