//! Time windows, and expiry.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod expiry;
pub(crate) mod kinds;
pub(crate) mod series;
pub(crate) mod windows_open;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod windows_plans;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod windows_races;
