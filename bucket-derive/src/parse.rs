//! Stage 1: reads attributes and formats.

pub(crate) mod attr;
pub(crate) mod id_format;
pub(crate) mod ident;
pub(crate) mod length;
pub(crate) mod list;
pub(crate) mod rename;
pub(crate) mod runtime;
pub(crate) mod serde_attr;
