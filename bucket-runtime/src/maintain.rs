//! A whole collection: opening and creating it, verifying it, changing its capacity, importing flat
//! data, moving it to another struct.

pub(crate) mod archive;
pub(crate) mod change_capacity;
pub(crate) mod create;
pub(crate) mod import_flat;
pub(crate) mod migrate;
pub(crate) mod open;
mod transfer;
pub(crate) mod verify;
