//! Names in a bucket: each must be one that a field can have, and must be free.

use syn::LitStr;

use crate::{
    check::names::{check_distinct, name_tokens, not_a_field_name, rename},
    errors::Errors,
    model::{bucket::BucketModel, guess},
    parse::{attr::Spanned, id_format::Ordinal},
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    check_array_and_count(model, errors);
    check_window(model, errors);
    check_key_names(model, errors);
    check_key_aliases(model, errors);
    check_distinct(&model.fields, errors);
}

/// These names stand beside the key at the top of the document.
fn check_array_and_count(model: &BucketModel<'_>, errors: &mut Errors) {
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
    let (items, count) = (model.items_name(), model.count_name());
    let written = model.attr.count.as_ref().or(model.attr.items.as_ref());
    if let Some(written) = written.filter(|_| items == count) {
        errors.push(
            &written.value,
            format_args!("`{items}` cannot name both the items and their count"),
            r#"items = "items", count = "count""#,
        );
    }
}

/// The start of the window has a field of its own, if buckets have windows.
fn check_window(model: &BucketModel<'_>, errors: &mut Errors) {
    let attr = &model.attr;
    let Some(name) = model.window_name() else {
        if let (Some(window), Some(ordinal)) = (&attr.window, model.format.ordinal()) {
            let time = match ordinal {
                Ordinal::Time { field, .. } => Some(field),
                Ordinal::Number => guess::time(&model.fields).map(|time| time.name.as_str()),
            };
            let help = match time {
                Some(time) => {
                    format!("remove it, or end the id format in a window: `{{{time}/1h}}`")
                }
                None => "remove it".to_owned(),
            };
            errors.push(
                &window.key,
                "`window` names a field that only the buckets of time windows have",
                help,
            );
        }
        return;
    };
    let other = match () {
        () if name == model.items_name() => "the items",
        () if name == model.count_name() => "their count",
        () => return,
    };
    let written = attr
        .window
        .as_ref()
        .or(attr.items.as_ref())
        .or(attr.count.as_ref());
    if let Some(written) = written {
        errors.push(
            &written.value,
            format_args!("`{name}` cannot name both {other} and the start of the window"),
            r#"window = "window", items = "items", count = "count""#,
        );
    }
}

/// A key field stands beside `_id`, the items, their count, `sealed` and `oversize`.
fn check_key_names(model: &BucketModel<'_>, errors: &mut Errors) {
    for key in model.keys() {
        if let Some(name) = &key.serde.write {
            let at = name_tokens(key);
            if let Some(wrong) = not_a_field_name(name) {
                errors.push(
                    at,
                    format_args!("the stored name `{name}` of a key field {wrong}"),
                    rename(key, "key"),
                );
            } else if let Some(given) = given(model, name).filter(|_| !is_fixed(model, name)) {
                errors.push(
                    &given.value,
                    format_args!("`{name}` is the name of the key field `{}`", key.name),
                    match given.key == name {
                        true => format!("{} = \"its_{name}\"", given.key),
                        false => format!("{} = \"{}\"", given.key, given.key),
                    },
                );
            } else if is_reserved(model, name) {
                errors.push(
                    at,
                    format_args!(
                        "the stored name `{name}` of a key field is reserved: every bucket has it"
                    ),
                    rename(key, "key"),
                );
            }
        }
    }
}

/// Reading looks for a key under its aliases, too.
fn check_key_aliases(model: &BucketModel<'_>, errors: &mut Errors) {
    for key in model.keys() {
        for alias in key.serde.entries.iter().filter(|entry| entry.is("alias")) {
            let Some(name) = alias.string().map(|name| name.value()) else {
                continue;
            };
            if let Some(wrong) = not_a_field_name(&name) {
                errors.push(
                    &alias.tokens,
                    format_args!("the alias `{name}` of a key field {wrong}"),
                    "remove it",
                );
            } else if is_reserved(model, &name) {
                errors.push(
                    &alias.tokens,
                    format_args!(
                        "the alias `{name}` of a key field is reserved: every bucket has it"
                    ),
                    "remove it",
                );
            }
        }
    }
}

/// The value in the struct's attribute that gives this name to a field of each bucket.
fn given<'m>(model: &'m BucketModel<'_>, name: &str) -> Option<&'m Spanned<LitStr>> {
    let attr = &model.attr;
    let names = [&attr.items, &attr.count, &attr.window, &attr.rollup];
    let mut names = names.into_iter().flatten();
    names.find(|given| given.value.value() == name)
}

fn is_reserved(model: &BucketModel<'_>, name: &str) -> bool {
    is_fixed(model, name)
        || name == model.items_name()
        || name == model.count_name()
        || model.window_name().is_some_and(|window| name == window)
        || model.rollup_name().is_some_and(|rollup| name == rollup)
}

/// Whether the runtime always has a field of this name.
fn is_fixed(model: &BucketModel<'_>, name: &str) -> bool {
    let expires = model.attr.expire_after.is_some();
    ["_id", "sealed", "oversize", "capacity"].contains(&name) || (name == "newest" && expires)
}
