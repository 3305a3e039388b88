//! Names in the stored document: each must be one that a field can have, and must be free.

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::{
    attr::Spanned,
    errors::Errors,
    model::{Field, Model, Role},
};

pub(super) fn check(model: &Model<'_>, errors: &mut Errors) {
    check_array_and_count(model, errors);
    check_key_names(model, errors);
    check_key_aliases(model, errors);
    check_distinct(model, errors);
}

/// Both names stand beside the key at the top of the document.
fn check_array_and_count(model: &Model<'_>, errors: &mut Errors) {
    for (name, help) in [
        (&model.attr.items, r#"items = "items""#),
        (&model.attr.count, r#"count = "count""#),
    ] {
        let Some(Spanned { key, value }) = name else {
            continue;
        };
        let text = value.value();
        if let Some(wrong) = not_a_field_name(&text) {
            errors.push(value, format_args!("the name in `{key}` {wrong}"), help);
        } else if text == "_id" || text == "sealed" {
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

/// A key field stands beside `_id`, the items, their count and `sealed`.
fn check_key_names(model: &Model<'_>, errors: &mut Errors) {
    for key in model.keys() {
        if let Some(name) = &key.serde.write {
            let at = name_tokens(key);
            if let Some(wrong) = not_a_field_name(name) {
                errors.push(
                    at,
                    format_args!("the stored name `{name}` of a key field {wrong}"),
                    rename(key),
                );
            } else if is_reserved(model, name) {
                errors.push(
                    at,
                    format_args!(
                        "the stored name `{name}` of a key field is reserved: every bucket has it"
                    ),
                    rename(key),
                );
            }
        }
    }
}

/// Reading looks for a key under its aliases, too.
fn check_key_aliases(model: &Model<'_>, errors: &mut Errors) {
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

/// Two fields of one name cannot be told apart, neither in a document nor by who queries it.
fn check_distinct(model: &Model<'_>, errors: &mut Errors) {
    for (n, field) in model.fields.iter().enumerate() {
        let clash = model.fields[..n]
            .iter()
            .find_map(|earlier| Some((earlier, shared(earlier, field)?)));
        if let Some((earlier, name)) = clash {
            errors.push(
                name_tokens(field),
                format_args!(
                    "`{}` and `{}` are both stored as `{name}`",
                    earlier.name, field.name
                ),
                rename(field),
            );
        }
    }
}

fn shared<'a>(a: &Field<'_>, b: &'a Field<'_>) -> Option<&'a str> {
    let written = b
        .serde
        .write
        .as_ref()
        .filter(|_| a.serde.write == b.serde.write);
    let read = || b.serde.read.iter().find(|name| a.serde.read.contains(name));
    written.or_else(read).map(String::as_str)
}

/// What a document's field cannot be called (MongoDB manual, "Field Names"); a dot or a leading
/// dollar sign would moreover mean something else in an update.
fn not_a_field_name(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name.starts_with('$') {
        Some("begins with `$`")
    } else if name.contains('.') {
        Some("contains `.`")
    } else if name.contains('\0') {
        Some("contains NUL")
    } else {
        None
    }
}

fn is_reserved(model: &Model<'_>, name: &str) -> bool {
    name == "_id" || name == "sealed" || name == model.items_name() || name == model.count_name()
}

/// Where the name comes from: `rename`, else the field.
fn name_tokens(field: &Field<'_>) -> TokenStream {
    match field.serde.find("rename") {
        Some(rename) => rename.tokens.clone(),
        None => field.ident.to_token_stream(),
    }
}

fn rename(field: &Field<'_>) -> String {
    let suffix = if field.role == Role::Key {
        "key"
    } else {
        "value"
    };
    format!("#[serde(rename = \"{}_{suffix}\")]", field.name)
}
