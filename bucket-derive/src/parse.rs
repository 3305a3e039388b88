//! Stage 1: attributes and formats, as they are written.

pub(crate) mod attr;
pub(crate) mod id_format;
pub(crate) mod length;
pub(crate) mod list;
pub(crate) mod rename;
pub(crate) mod runtime;
pub(crate) mod serde_attr;
