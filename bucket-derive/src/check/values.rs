//! Values of the struct's attribute: which are missing, and which no server accepts.

use std::ops::RangeInclusive;

use proc_macro2::Ident;
use syn::{DeriveInput, ExprPath, LitStr};

use crate::{
    errors::Errors,
    model::Field,
    parse::attr::{Derive, Limit, Spanned, Written},
};

/// The maximum capacity, equal to `bucket_runtime::MAX_CAPACITY`.
const MAX_CAPACITY: i128 = 1_000_000;

/// The maximum of `max_bytes`, equal to `bucket_runtime::MAX_BYTES`.
const MAX_BYTES: i128 = 15_728_640;

/// The minimum of `max_bytes`, as in `bucket_runtime`: an id, a key and an item must fit.
const MIN_BYTES: i128 = 1024;

/// Without these nothing can be stored, and no default would suit everybody.
///
/// `required` holds each key, and the key with a value that may fit the struct.
pub(super) fn check_required(
    input: &DeriveInput,
    derive: &Derive,
    written: &Written,
    required: &[(&str, String)],
    errors: &mut Errors,
) {
    let (ident, name) = (&input.ident, derive.attribute);
    let Some(attr) = &written.name else {
        let values = Vec::from_iter(required.iter().map(|(_, help)| help.as_str()));
        errors.push(
            ident,
            format_args!("`{ident}` has no `#[{name}(…)]`"),
            format_args!("#[{name}({})]", values.join(", ")),
        );
        return;
    };
    for (key, help) in required {
        if !written.has(key) {
            errors.push(attr, format_args!("`{key}` is missing"), help);
        }
    }
}

/// `collection = "trades"` for `Trade`.
pub(super) fn collection_of(input: &DeriveInput) -> String {
    format!(
        "collection = \"{}s\"",
        input.ident.to_string().to_lowercase()
    )
}

/// The server refuses these names or reserves them (MongoDB manual, "Naming Restrictions"). The
/// user learns it here, and not at the first write.
pub(super) fn check_collection(collection: &Spanned<LitStr>, errors: &mut Errors) {
    let name = collection.value.value();
    let wrong = if name.is_empty() {
        "be empty"
    } else if name.contains('$') {
        "contain `$`"
    } else if name.contains('\0') {
        "contain NUL"
    } else if name.starts_with('.') {
        "begin with `.`"
    } else if name.starts_with("system.") {
        "begin with `system.`"
    } else {
        return;
    };
    errors.push(
        &collection.value,
        format_args!("a collection's name cannot {wrong}"),
        collection.usage,
    );
}

/// An array needs room for one item, and a document has a maximum size.
pub(super) fn check_limit(
    input: &DeriveInput,
    limit: &Spanned<Limit>,
    holder: &str,
    errors: &mut Errors,
) {
    let wrong = [
        format!("{holder} must hold at least one item"),
        format!("{holder} can hold at most {MAX_CAPACITY} items"),
    ];
    check_number(input, limit, 1..=MAX_CAPACITY, wrong, errors);
}

/// A bucket needs room for its head, and is a document, whose size the server limits.
pub(super) fn check_max_bytes(
    input: &DeriveInput,
    limit: &Spanned<Limit>,
    holder: &str,
    errors: &mut Errors,
) {
    let wrong = [
        format!("{holder} needs {MIN_BYTES} at least"),
        format!("{holder} can take at most {MAX_BYTES}, to be a document"),
    ];
    check_number(input, limit, MIN_BYTES..=MAX_BYTES, wrong, errors);
}

/// The lengths that values may have.
pub(super) fn check_max_lens<P>(input: &DeriveInput, fields: &[Field<'_, P>], errors: &mut Errors) {
    for field in fields {
        let Some(max_len) = field.attr.limit("max_len") else {
            continue;
        };
        // Zero would leave room for empty values only, and no value exceeds a document.
        let wrong = [
            "a value needs room for one byte at least".to_owned(),
            format!("no value can have more than {MAX_BYTES} bytes"),
        ];
        check_number(input, max_len, 1..=MAX_BYTES, wrong, errors);
        // Such a field has no stored value of its own.
        if field.serde.write.is_none() {
            errors.push(
                &max_len.key,
                "`max_len` on a field that is not stored under a name of its own",
                "remove it, or the `skip` or `flatten` of the field",
            );
        }
    }
}

/// Reports a number outside of the range, with the reason for its least or for its greatest. The
/// value of a constant is not known here: the generated code checks it.
fn check_number(
    input: &DeriveInput,
    limit: &Spanned<Limit>,
    right: RangeInclusive<i128>,
    [too_small, too_large]: [String; 2],
    errors: &mut Errors,
) {
    match &limit.value {
        Limit::Const(path) => check_limit_path(input, &limit.key, path, errors),
        Limit::Literal { node, number } => {
            let (wrong, reason) = match number {
                Some(number) if right.contains(number) => return,
                Some(0) => ("zero", too_small),
                Some(..0) => ("negative", too_small),
                Some(number) if number < right.start() => ("too small", too_small),
                _ => ("too large", too_large),
            };
            let message = format!("`{}` is {wrong}: {reason}", limit.key);
            errors.push(node, message, limit.usage);
        }
    }
}

/// `Self` means nothing in an attribute, and the compiler's message would point elsewhere.
fn check_limit_path(input: &DeriveInput, key: &Ident, path: &ExprPath, errors: &mut Errors) {
    let mut segments = path.path.segments.iter().map(|segment| &segment.ident);
    if segments.next().is_some_and(|first| first == "Self") {
        let rest = Vec::from_iter(segments.map(ToString::to_string)).join("::");
        let help = match input.generics.params.is_empty() {
            true => format!("{key} = {}::{rest}", input.ident),
            // A constant of a generic struct depends on its parameters.
            false => format!("write the number, or make `{rest}` a constant outside of the `impl`"),
        };
        errors.push(path, format_args!("`Self` cannot be used in `{key}`"), help);
    }
}
