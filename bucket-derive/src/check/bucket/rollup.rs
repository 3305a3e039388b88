//! The rules of rollups: which fields can have one.

use crate::{
    check::names::{name_tokens, not_a_field_name, rename},
    errors::Errors,
    model::bucket::{BucketModel, Role},
    parse::attr::BUCKET,
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    for (field, rollup) in model.marked() {
        let Some(word) = rollup.first() else {
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
    let Some(name) = model.rollup_name() else {
        if let Some(written) = &model.attr.rollup
            && !model.rollups_unread
        {
            errors.push(
                &written.key,
                "`rollup` names a field that only buckets have which keep something",
                format_args!(
                    "remove it, or mark a field of the items: #[{}(sum)]",
                    BUCKET.attribute
                ),
            );
        }
        return;
    };
    let others = [
        (Some(model.items_name()), "the items"),
        (Some(model.count_name()), "their count"),
        (model.window_name(), "the start of the window"),
    ];
    let mut others = others.into_iter();
    let Some((_, other)) = others.find(|(other, _)| other.as_ref() == Some(&name)) else {
        return;
    };
    let attr = &model.attr;
    let written = [&attr.rollup, &attr.items, &attr.count, &attr.window];
    let mut written = written.into_iter().flatten();
    if let Some(written) = written.find(|written| written.value.value() == name) {
        errors.push(
            &written.value,
            format_args!("`{name}` cannot name both {other} and the rollup"),
            format_args!("{} = \"{}\"", written.key, written.key),
        );
    }
}
