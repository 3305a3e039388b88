//! Filters: what they find, and what the server examines.

pub(crate) mod cases;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod differential;
pub(crate) mod large;
pub(crate) mod plans;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod random;
pub(crate) mod reads;
