//! A collection as a whole: opening and making it, checking it, changing its capacity, taking over
//! flat data.

pub(crate) mod create;
pub(crate) mod open;
pub(crate) mod recapacity;
pub(crate) mod regroup;
pub(crate) mod verify;
