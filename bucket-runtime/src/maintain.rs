//! A collection as a whole: opening and making it, checking it, changing its capacity, taking over
//! flat data.

pub(crate) mod change_capacity;
pub(crate) mod create;
pub(crate) mod import_flat;
pub(crate) mod open;
pub(crate) mod verify;
