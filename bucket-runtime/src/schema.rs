//! Facts and types known at compile time: a struct's attributes, keys, times, id text, sizes, and
//! the names of fields and indexes. Nothing here knows a command.

pub(crate) mod id;
pub(crate) mod key;
pub(crate) mod names;
pub(crate) mod open_index;
pub(crate) mod size;
pub(crate) mod spec;
pub(crate) mod time;
