//! Stage 5: after an error, stubs replace the code, so that one mistake gives one message.

mod bucket;
mod nested;
mod outlier;
mod part;
mod unsent;

#[cfg(test)]
pub(crate) use self::{
    bucket::CALLS as BUCKET_CALLS, outlier::CALLS as OUTLIER_CALLS, unsent::names,
};
pub(crate) use self::{bucket::bucket, nested::nested, outlier::outlier, part::part};
