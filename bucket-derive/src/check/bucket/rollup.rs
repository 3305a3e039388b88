//! The rules of rollups: which fields can have one.

use crate::{
    check::names::{name_tokens, not_a_field_name, rename},
    errors::Errors,
    model::bucket::{BucketModel, Role},
    parse::attr::BUCKET,
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    for field in model.marked() {
        let Some(word) = field.attr.rollups().next() else {
            continue;
        };
        if field.part == Role::Key {
            errors.push(
                word,
                format_args!("`{word}` on a key field: it is the same in all items of a bucket"),
                "remove it; the number of items is kept anyway",
            );
        } else if field.serde.write.is_none() {
            let message = format!("`{word}` on a field that is not stored under a name of its own");
            let help = "remove it, or the `skip` or `flatten` of the field";
            errors.push(word, message, help);
        } else if let Some(name) = &field.serde.write
            && let Some(wrong) = not_a_field_name(name)
        {
            errors.push(
                name_tokens(field),
                format_args!("the stored name `{name}` of a field with `{word}` {wrong}"),
                rename(field, "value"),
            );
        }
    }
    check_name(model, errors);
}

/// The rollup has its own field, so that needs a name only if there is a rollup.
fn check_name(model: &BucketModel<'_>, errors: &mut Errors) {
    // An attribute that could not be read may have meant a rollup.
    let mut fields = model.fields.iter();
    let may_have = model.rollup_name().is_some() || fields.any(|field| field.attr.unreadable);
    if let Some(written) = model.attr.rollup.as_ref().filter(|_| !may_have) {
        errors.push(
            &written.key,
            "`rollup` names what buckets keep of their items, and these keep nothing",
            format_args!(
                "remove it, or mark a field of the items: #[{}(sum)]",
                BUCKET.attribute
            ),
        );
    }
}
