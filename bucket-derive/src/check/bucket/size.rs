//! How large buckets may get, and how long the values of their items.

use crate::{
    check::values::{check_max_bytes, check_max_len},
    errors::Errors,
    model::bucket::Model,
};

pub(super) fn check(model: &Model<'_>, errors: &mut Errors) {
    if let Some(max_bytes) = &model.attr.max_bytes {
        check_max_bytes(model.input, max_bytes, "a bucket", errors);
    }
    for field in &model.fields {
        let Some(max_len) = field.attr.limit("max_len") else {
            continue;
        };
        check_max_len(model.input, max_len, errors);
        // Of such a field there is no one value that is stored.
        if field.serde.write.is_none() {
            errors.push(
                &max_len.key,
                "`max_len` on a field that is not stored under a name of its own",
                "remove it, or the `skip` or `flatten` of the field",
            );
        }
    }
}
