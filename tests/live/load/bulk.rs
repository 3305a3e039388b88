//! `append_many`.

pub(crate) mod cut;
pub(crate) mod failed;
pub(crate) mod keys;
pub(crate) mod like_single;
pub(crate) mod sessions;
pub(crate) mod stream;
