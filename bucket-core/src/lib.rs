//! Not for direct use: it changes without notice. Use [`bucket-runtime`], which this is the core
//! of.
//!
//! Facts about a struct and values become commands and decisions here, and one place talks to the
//! server. It knows specs and BSON, and never the user's type. Each module uses only itself and
//! those before it: [`schema`], [`error`], [`value`], [`protocol`], [`server`].
//!
//! [`bucket-runtime`]: https://docs.rs/bucket-runtime

#![allow(
    missing_docs,
    clippy::result_unit_err,
    reason = "most is for bucket-runtime alone; modules with what users name deny it again"
)]

pub mod error;
pub mod protocol;
pub mod schema;
pub mod server;
pub mod value;

pub use self::error::{Error, Result};
