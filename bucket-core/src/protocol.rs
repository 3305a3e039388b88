//! Everything that is sent, as pure functions from facts to documents: commands, filters, indexes,
//! validators, and how many items and bytes a bucket takes. Nothing here talks to a server.

pub mod budget;
pub mod command;
pub mod field;
pub mod filter;
pub mod indexes;
pub mod newest_bucket;
pub mod next_id;
pub mod next_step;
#[cfg(test)]
mod next_table;
pub mod pack;
pub mod query;
pub mod range;
pub mod time_bounds;
pub mod unwind;
pub mod validator;
pub mod whole_bucket;
pub mod window_range;
