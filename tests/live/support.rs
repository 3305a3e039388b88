//! Helpers of the tests.

pub(crate) mod database;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod proxy;
pub(crate) mod scale;
pub(crate) mod sharding;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod visits;
