//! Archive: buckets as lines of text, and back into a collection.

pub(crate) mod export;
pub(crate) mod import;
