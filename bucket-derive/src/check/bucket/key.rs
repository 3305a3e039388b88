//! The rules of `key(…)`, `by` and `numbered`, which name in tokens what an id format names in text.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::ext::IdentExt;

use super::id_format::{MAX_KEYS, meant_unit, of_unit, wrong_window};
use crate::{
    errors::{Errors, did_you_mean},
    model::{bucket::BucketModel, guess},
    parse::{attr::By, id_format::Suffix},
};

pub(super) fn check(model: &BucketModel<'_>, is_struct: bool, errors: &mut Errors) {
    check_without_id(model, errors);
    if model.attr.written.names("id") {
        return;
    }
    check_complete(model, errors);
    if is_struct {
        check_fields(model, errors);
    }
    check_repeated(model, errors);
    check_number_of_keys(model, errors);
    check_one_order(model, errors);
    if let Some(by) = &model.attr.by {
        check_suffix(&by.value, errors);
    }
}

/// The key fields as they are written.
fn keys<'m>(model: &'m BucketModel<'_>) -> &'m [Ident] {
    match &model.attr.key {
        Some(key) => &key.value.0,
        None => &[],
    }
}

/// An id format says all of it already, and might say something else.
fn check_without_id(model: &BucketModel<'_>, errors: &mut Errors) {
    let attr = &model.attr;
    if attr.id.is_none() {
        return;
    }
    let key = attr.key.as_ref().map(|key| &key.key);
    let by = attr.by.as_ref().map(|by| &by.key);
    let numbered = attr.numbered.as_ref().map(|numbered| &numbered.key);
    if let Some(first) = key.or(by).or(numbered) {
        let message = format_args!("`{first}` beside `id`, which names key and order already");
        errors.push(first, message, "remove it, or remove `id`");
    }
}

/// An item belongs to a key, and the buckets of a key have an order.
fn check_complete(model: &BucketModel<'_>, errors: &mut Errors) {
    let (attr, written) = (&model.attr, &model.attr.written);
    let order = written.has("by") || written.has("numbered");
    if let Some(key) = attr.key.as_ref().filter(|_| !order) {
        let help = match guess::time(&model.fields) {
            Some(time) => format!("by = {}", time.ident),
            None => "numbered".to_owned(),
        };
        let message = "`key` needs `by` or `numbered` beside it, for the order of the buckets";
        errors.push(&key.key, message, help);
    }
    let by = attr.by.as_ref().map(|by| &by.key);
    let order = by.or(attr.numbered.as_ref().map(|numbered| &numbered.key));
    if let Some(order) = order.filter(|_| !written.has("key")) {
        let message = format_args!("`{order}` needs `key(…)` beside it, for whom items belong to");
        let key = guess::key(&model.fields).map(|key| key.ident);
        errors.push(
            order,
            message,
            format_args!("key({})", key.to_token_stream()),
        );
    }
}

fn check_fields(model: &BucketModel<'_>, errors: &mut Errors) {
    let names = || model.fields.iter().map(|field| field.name.as_str());
    let by = model.attr.by.iter().map(|by| &by.value.field);
    for ident in keys(model).iter().chain(by) {
        let name = ident.unraw().to_string();
        if model.field(&name).is_some() {
            continue;
        }
        let help = match did_you_mean(&name, names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the fields are `{}`", Vec::from_iter(names()).join("`, `")),
        };
        errors.push(ident, format_args!("there is no field `{name}`"), help);
    }
}

/// A field that is in the id twice adds nothing.
fn check_repeated(model: &BucketModel<'_>, errors: &mut Errors) {
    let keys = keys(model);
    for (n, key) in keys.iter().enumerate() {
        if keys[..n]
            .iter()
            .any(|earlier| earlier.unraw() == key.unraw())
        {
            let message = format_args!("`{key}` stands twice in `key(…)`");
            errors.push(key, message, "remove one of them");
        }
    }
    let by = model.attr.by.iter().map(|by| &by.value.field);
    for by in by.filter(|by| keys.iter().any(|key| key.unraw() == by.unraw())) {
        let message =
            format_args!("`{by}` is a key field, and cannot order the buckets of its key");
        let help = "name another field, or write `numbered`";
        errors.push(by, message, help);
    }
}

fn check_number_of_keys(model: &BucketModel<'_>, errors: &mut Errors) {
    let keys = keys(model);
    if let Some(first_too_many) = keys.get(MAX_KEYS) {
        let count = keys.len();
        let message = format_args!("`key` names {count} fields; the maximum is {MAX_KEYS}");
        errors.push(
            first_too_many,
            message,
            "put several of them into one field",
        );
    }
}

/// The buckets of a key have one order.
fn check_one_order(model: &BucketModel<'_>, errors: &mut Errors) {
    if let (Some(_), Some(numbered)) = (&model.attr.by, &model.attr.numbered) {
        let message = "`numbered` and `by` are two orders of the buckets";
        errors.push(&numbered.key, message, "remove one of them");
    }
}

/// The unit in which a time is written, or the length of time of a bucket.
fn check_suffix(by: &By, errors: &mut Errors) {
    let Some((suffix, tokens)) = &by.suffix else {
        return;
    };
    let name = &by.field;
    let wrong = match suffix {
        Suffix::Unit(unit) => of_unit(unit).is_none().then(|| {
            let help = match meant_unit(unit) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("write `by = {name}` for seconds, or `by({name}, millis)`"),
            };
            (format!("there is no unit `{unit}`"), help)
        }),
        Suffix::Window(length) => {
            let window = |length: &str| format!("by({name}, {length})");
            wrong_window(length, window, "numbered")
        }
    };
    if let Some((message, help)) = wrong {
        errors.push(tokens, message, help);
    }
}
