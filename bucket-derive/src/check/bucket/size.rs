//! The rules of `max_bytes` and `max_len`.

use crate::{
    check::values::{check_max_bytes, check_max_lens},
    errors::Errors,
    model::bucket::BucketModel,
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    if let Some(max_bytes) = &model.attr.max_bytes {
        check_max_bytes(model.input, max_bytes, "a bucket", errors);
    }
    check_max_lens(model.input, &model.fields, errors);
}
