//! Stubs that stand in after an error, so that one mistake gives one message.

mod bucket;
mod outlier;

pub(crate) use self::{bucket::bucket, outlier::outlier};
