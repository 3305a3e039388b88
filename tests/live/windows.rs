//! Time windows, and expiry.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod expiry;
pub(crate) mod kinds;
pub(crate) mod open;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod plans;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod races;
pub(crate) mod series;
