//! Appends: alone, combined and in sessions, and items with an identity.

#[cfg(not(feature = "bson-3"))]
pub(crate) mod busy;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod combine;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod full_buckets;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod indexes;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod large_buckets;
pub(crate) mod sessions;
pub(crate) mod transactions;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod unique;
