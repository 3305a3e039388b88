//! Assumptions of the library about the server.

pub(crate) mod doubt;
pub(crate) mod dropped_index;
pub(crate) mod edit;
pub(crate) mod error_codes;
pub(crate) mod hidden_index;
pub(crate) mod many;
pub(crate) mod time_series;
pub(crate) mod updates;
pub(crate) mod watch;
