//! Pages.

pub(crate) mod model;
pub(crate) mod reads;
