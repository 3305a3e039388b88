//! Archive: buckets as lines of text, and back into a collection.

pub(crate) mod export;
pub(crate) mod import;
mod line;
mod merge;
mod place;
mod rebuild;
pub(crate) mod refused_line;
