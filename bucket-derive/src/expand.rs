//! Stage 4: writes the code of a derive, from a checked model.

pub(crate) mod bounds;
pub(crate) mod bucket;
pub(crate) mod element;
pub(crate) mod fields;
pub(crate) mod fit;
pub(crate) mod generics;
pub(crate) mod indexes;
pub(crate) mod limit;
pub(crate) mod nested;
pub(crate) mod outlier;
pub(crate) mod own_dates;
pub(crate) mod part;
pub(crate) mod reader;
pub(crate) mod reading;
pub(crate) mod rollup;
pub(crate) mod size;
pub(crate) mod spans;
pub(crate) mod type_name;
pub(crate) mod writer;
