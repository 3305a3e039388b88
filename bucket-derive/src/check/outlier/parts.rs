//! The parts of a parent, each a field of its own: an id, one array, and perhaps a flag and a
//! total.

use crate::{
    errors::Errors,
    model::{
        Field,
        outlier::{Marks, OutlierModel},
    },
};

/// Checks a struct with named fields.
pub(super) fn check(model: &OutlierModel<'_>, errors: &mut Errors) {
    check_id(model, errors);
    check_one_array(model, errors);
    check_one(model, "flag", errors);
    check_one(model, "total", errors);
    check_one_flag_name(model, errors);
    for field in &model.fields {
        check_one_part(field, errors);
        check_unique(field, errors);
    }
}

/// Extras refer to their parent by its id. Without a field for it, the server would create one that
/// the program does not know.
fn check_id(model: &OutlierModel<'_>, errors: &mut Errors) {
    if model.id().is_some() {
        return;
    }
    let message = "no field is stored as `_id`";
    let help = r#"#[serde(rename = "_id")]"#;
    // A `rename_all` rule may remove the underscore.
    let is_meant = |field: &&Field<'_, Marks>| field.name == "id" || field.name == "_id";
    match model.fields.iter().find(is_meant) {
        Some(field) => errors.push(field.ident, message, help),
        None => errors.push(
            &model.input.ident,
            message,
            format_args!(
                "put {help} on the field that names a `{}`",
                model.input.ident
            ),
        ),
    }
}

/// A parent is full when its array is, so exactly one array counts.
fn check_one_array(model: &OutlierModel<'_>, errors: &mut Errors) {
    check_one(model, "items", errors);
    let is_meant =
        |field: &Field<'_, Marks>| field.attr.word("items").is_some() || field.attr.unreadable;
    if !model.attr.written.has("items") && !model.fields.iter().any(is_meant) {
        errors.push(
            &model.input.ident,
            "no field holds the items",
            "put #[outlier(items)] on the `Vec` that may grow",
        );
    }
}

/// The runtime sets one flag, and keeps one total.
fn check_one(model: &OutlierModel<'_>, word: &'static str, errors: &mut Errors) {
    let fields = model.fields.iter();
    let mut marked = fields.filter(|field| field.attr.word(word).is_some());
    let Some(first) = marked.next() else {
        return;
    };
    for again in marked {
        errors.push(
            again.attr.word(word),
            format_args!(
                "`{}` and `{}` cannot both be the {word}",
                first.name, again.name
            ),
            format_args!("keep one `#[outlier({word})]`"),
        );
    }
}

/// The flag's field already has a name from serde; a second name could only differ.
fn check_one_flag_name(model: &OutlierModel<'_>, errors: &mut Errors) {
    if let (Some(name), Some(field)) = (&model.attr.flag, model.flag()) {
        errors.push(
            &name.key,
            format_args!(
                "the flag is the field `{}`, which has its own name",
                field.name
            ),
            format_args!(
                "remove it, or put #[serde(rename = \"{}\")] on the field",
                name.value.value()
            ),
        );
    }
}

/// The id never changes, the array grows, the flag is set, the total counts: no field can do two of
/// these.
fn check_one_part(field: &Field<'_, Marks>, errors: &mut Errors) {
    let name = &field.name;
    let parts = ["items", "flag", "total"].into_iter();
    let mut parts = parts.filter_map(|part| Some((part, field.attr.word(part)?)));
    let Some((part, word)) = parts.next() else {
        return;
    };
    if let Some((other, word)) = parts.next() {
        errors.push(
            word,
            format_args!("`{name}` cannot be both the {part} and the {other}"),
            format_args!("keep one of `{part}` and `{other}`"),
        );
    } else if field.part.is_id {
        errors.push(
            word,
            format_args!("`{name}` is stored as `_id`: it cannot be the {part}"),
            "remove it, or rename the field",
        );
    }
}

/// An identity is one of the items.
fn check_unique(field: &Field<'_, Marks>, errors: &mut Errors) {
    if let (Some(word), None) = (field.attr.word("unique"), field.attr.word("items")) {
        errors.push(
            word,
            format_args!(
                "`unique` tells items apart, and `{}` does not hold them",
                field.name
            ),
            "put it beside `items`: `#[outlier(items, unique = user)]`",
        );
    }
}
