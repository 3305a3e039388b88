//! Facts and types known at compile time: a struct's attributes, keys, times, id text, sizes, and
//! the names of fields and indexes. Nothing here knows a command.

pub mod id;
pub mod key;
pub mod names;
pub mod open_index;
pub mod size;
pub mod spec;
pub(crate) mod text;
pub mod time;
