//! Names in a bucket: each must be one that a field can have, and must be free.

use syn::LitStr;

use crate::{
    check::names::{check_distinct, name_tokens, not_a_field_name, rename},
    errors::Errors,
    model::{bucket::BucketModel, guess},
    parse::{attr::Spanned, id_format::Ordinal},
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    check_given_names(model, errors);
    check_own_names(model, errors);
    check_window(model, errors);
    check_key_names(model, errors);
    check_distinct(&model.fields, errors);
}

/// These names stand beside the key at the top of the document.
fn check_given_names(model: &BucketModel<'_>, errors: &mut Errors) {
    for (name, help) in [
        (&model.attr.items, r#"items = "items""#),
        (&model.attr.count, r#"count = "count""#),
        (&model.attr.window, r#"window = "window""#),
        (&model.attr.rollup, r#"rollup = "rollup""#),
    ] {
        let Some(Spanned { key, value, .. }) = name else {
            continue;
        };
        let text = value.value();
        if let Some(wrong) = not_a_field_name(&text) {
            errors.push(value, format_args!("the name in `{key}` {wrong}"), help);
        } else if is_fixed(model, &text) {
            errors.push(
                value,
                format_args!("`{text}` is reserved: every bucket has it"),
                help,
            );
        }
    }
}

/// Two of these in one field would overwrite each other.
fn check_own_names(model: &BucketModel<'_>, errors: &mut Errors) {
    let names = Vec::from_iter(own_names(model));
    for (n, (name, what)) in names.iter().enumerate() {
        let other = names[..n].iter().find(|(earlier, _)| earlier == name);
        if let (Some((_, other)), Some(given)) = (other, given(model, name)) {
            let message = format_args!("`{name}` cannot name both {other} and {what}");
            let help = format_args!("{} = \"{}\"", given.key, given.key);
            errors.push(&given.value, message, help);
        }
    }
}

/// The start of the window has a field of its own, if buckets have windows.
fn check_window(model: &BucketModel<'_>, errors: &mut Errors) {
    let (window, has_windows) = (&model.attr.window, model.window_name().is_some());
    let (Some(window), Some(ordinal), false) = (window, model.format.ordinal(), has_windows) else {
        return;
    };
    let time = match ordinal {
        Ordinal::Time { field, .. } => Some(field),
        Ordinal::Number => guess::time(&model.fields).map(|time| time.name.as_str()),
    };
    let help = match time {
        Some(time) => format!("remove it, or end the id format in a window: `{{{time}/1h}}`"),
        None => "remove it".to_owned(),
    };
    errors.push(
        &window.key,
        "`window` names a field that only the buckets of time windows have",
        help,
    );
}

/// A key field stands beside `_id`, the items, their count, `sealed` and `oversize`. Reading looks
/// for it under its aliases, too.
fn check_key_names(model: &BucketModel<'_>, errors: &mut Errors) {
    for key in model.keys() {
        if let Some(name) = &key.serde.write {
            if let Some(given) = given(model, name).filter(|_| !is_fixed(model, name)) {
                errors.push(
                    &given.value,
                    format_args!("`{name}` is the name of the key field `{}`", key.name),
                    match given.key == name {
                        true => format!("{} = \"its_{name}\"", given.key),
                        false => format!("{} = \"{}\"", given.key, given.key),
                    },
                );
            } else if let Some(wrong) = wrong_key_name(model, name) {
                let message = format_args!("the stored name `{name}` of a key field {wrong}");
                errors.push(name_tokens(key), message, rename(key, "key"));
            }
        }
        for alias in key.serde.entries.iter().filter(|entry| entry.is("alias")) {
            let name = alias.string().map(|name| name.value()).unwrap_or_default();
            if let Some(wrong) = wrong_key_name(model, &name) {
                let message = format_args!("the alias `{name}` of a key field {wrong}");
                errors.push(&alias.tokens, message, "remove it");
            }
        }
    }
}

/// The reason why a key field cannot have this name.
fn wrong_key_name(model: &BucketModel<'_>, name: &str) -> Option<&'static str> {
    let is_taken = is_fixed(model, name) || own_names(model).any(|(own, _)| own == name);
    not_a_field_name(name).or(is_taken.then_some("is reserved: every bucket has it"))
}

/// The names that the struct may give to fields of a bucket, each with what it names.
fn own_names(model: &BucketModel<'_>) -> impl Iterator<Item = (String, &'static str)> {
    let names = [
        (Some(model.items_name()), "the items"),
        (Some(model.count_name()), "their count"),
        (model.window_name(), "the start of the window"),
        (model.rollup_name(), "the rollup"),
    ];
    let names = names.into_iter();
    names.filter_map(|(name, what)| Some((name?, what)))
}

/// The value in the struct's attribute that gives this name to a field of each bucket.
fn given<'m>(model: &'m BucketModel<'_>, name: &str) -> Option<&'m Spanned<LitStr>> {
    let attr = &model.attr;
    let names = [&attr.items, &attr.count, &attr.window, &attr.rollup];
    let mut names = names.into_iter().flatten();
    names.find(|given| given.value.value() == name)
}

/// Whether the runtime always has a field of this name.
fn is_fixed(model: &BucketModel<'_>, name: &str) -> bool {
    let expires = model.attr.expire_after.is_some();
    ["_id", "sealed", "oversize", "capacity"].contains(&name) || (name == "newest" && expires)
}
