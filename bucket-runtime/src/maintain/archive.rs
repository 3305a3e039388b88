//! Archive: buckets as lines of text, and back into a collection.

pub(crate) mod export;
pub(crate) mod import;
mod line;
mod merge;
mod put_back;
mod rebuild;
pub(crate) mod refused_line;
