//! Stubs that stand in after an error, so that one mistake gives one message.

mod bucket;
mod outlier;
mod unsent;

pub(crate) use self::{bucket::bucket, outlier::outlier};
