//! A collection as a whole: verify, repair, validators, another capacity.

pub(crate) mod archive;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod archive_returns;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity_busy;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity_index;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity_killed;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod change_capacity_reads;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod migrate;
pub(crate) mod validators;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod verify;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod verify_listed;
pub(crate) mod verify_opening;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod verify_race;
#[cfg(not(feature = "bson-3"))]
pub(crate) mod verify_rollups;
