//! Stage 5: after an error, stubs replace the code, so that one mistake gives one message.

mod bucket;
mod nested;
mod outlier;
mod part;
mod unsent;

pub(crate) use self::{bucket::bucket, nested::nested, outlier::outlier, part::part};
