//! Everything that is sent, as pure functions from facts to documents: commands, filters, indexes,
//! validators, and how many items and bytes a bucket takes. Nothing here talks to a server.

pub(crate) mod budget;
pub(crate) mod command;
pub mod field;
pub(crate) mod filter;
pub(crate) mod indexes;
pub(crate) mod newest_bucket;
pub(crate) mod next_id;
pub(crate) mod next_step;
#[cfg(test)]
mod next_table;
pub(crate) mod pack;
pub(crate) mod query;
pub(crate) mod range;
pub(crate) mod time_bounds;
pub(crate) mod unwind;
pub(crate) mod validator;
pub(crate) mod whole_bucket;
pub(crate) mod window_range;
