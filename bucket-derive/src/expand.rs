//! Stage 4: the code that a derive writes, from a model that was checked.

pub(crate) mod bounds;
pub(crate) mod bucket;
pub(crate) mod element;
pub(crate) mod fields;
pub(crate) mod fit;
pub(crate) mod generics;
pub(crate) mod limit;
pub(crate) mod outlier;
pub(crate) mod rollup;
pub(crate) mod size;
pub(crate) mod spans;
pub(crate) mod writer;
