//! Names in a parent and in its extras: each must be one that a field can have, and must be free.

use syn::LitStr;

use crate::{
    check::names::{check_distinct, name_tokens, not_a_field_name, rename},
    errors::Errors,
    model::{
        Field,
        outlier::{Marks, OutlierModel},
    },
    parse::attr::Spanned,
};

/// The fields of every extras document.
const RESERVED: [&str; 4] = ["_id", "count", "sealed", "capacity"];

pub(super) fn check(model: &OutlierModel<'_>, errors: &mut Errors) {
    for name in [&model.attr.reference, &model.attr.extra_items]
        .into_iter()
        .flatten()
    {
        check_in_extras(name, errors);
    }
    check_reference_and_items(model, errors);
    check_flag(model, errors);
    check_unmarked_flag(model, errors);
    check_marked(model, errors);
    check_distinct(&model.fields, errors);
}

/// The reference and the items stand beside the fields of every extras document.
fn check_in_extras(name: &Spanned<LitStr>, errors: &mut Errors) {
    let text = name.value.value();
    if let Some(wrong) = not_a_field_name(&text) {
        let message = format!("the name in `{}` {wrong}", name.key);
        errors.push(&name.value, message, name.usage);
    } else if RESERVED.contains(&text.as_str()) {
        let message = format!("`{text}` is reserved: every extras document has it");
        errors.push(&name.value, message, name.usage);
    }
}

/// An extras document holds both.
fn check_reference_and_items(model: &OutlierModel<'_>, errors: &mut Errors) {
    let (Some(reference), Some(items)) = (&model.attr.reference, model.extra_items_name()) else {
        return;
    };
    if reference.value.value() == items {
        let (at, help) = match &model.attr.extra_items {
            Some(written) => (&written.value, written.usage),
            None => (&reference.value, reference.usage),
        };
        errors.push(
            at,
            format_args!("`{items}` cannot name both the reference and the items of extras"),
            help,
        );
    }
}

/// The runtime sets the flag in the parent, where it must not overwrite another field.
fn check_flag(model: &OutlierModel<'_>, errors: &mut Errors) {
    // Another rule reports two names for a flag that is a field.
    let (Some(flag), None) = (&model.attr.flag, model.flag()) else {
        return;
    };
    let name = flag.value.value();
    if let Some(wrong) = not_a_field_name(&name) {
        errors.push(
            &flag.value,
            format_args!("the name in `flag` {wrong}"),
            flag.usage,
        );
    } else if name == "_id" {
        let message = "`_id` is reserved: every parent has it";
        errors.push(&flag.value, message, flag.usage);
    } else if let Some(field) = stored_as(model, &name) {
        let help = match field.attr.word("items") {
            Some(_) => flag.usage.to_owned(),
            None => format!(
                "put #[outlier(flag)] #[serde(default)] on `{}`, and remove `flag`",
                field.name
            ),
        };
        let message = format!("`{name}` is taken by the field `{}`", field.name);
        errors.push(&flag.value, message, help);
    }
}

/// The runtime would set a field with the flag's default name: most likely it is meant to be the
/// flag.
fn check_unmarked_flag(model: &OutlierModel<'_>, errors: &mut Errors) {
    let name = "has_extras";
    if model.attr.written.has("flag") || model.flag().is_some() {
        return;
    }
    if let Some(field) = stored_as(model, name).filter(|field| !field.attr.unreadable) {
        let help = match field.attr.word("items") {
            Some(_) => rename(field, "value"),
            None => "#[outlier(flag)] #[serde(default)]".to_owned(),
        };
        errors.push(
            name_tokens(field),
            format_args!("`{name}` is the name of the flag: the runtime sets it"),
            help,
        );
    }
}

/// Updates name the array, the flag and the total.
fn check_marked(model: &OutlierModel<'_>, errors: &mut Errors) {
    for (field, what) in model.written() {
        let Some(name) = &field.serde.write else {
            continue;
        };
        if let Some(wrong) = not_a_field_name(name) {
            errors.push(
                name_tokens(field),
                format_args!("the stored name `{name}` of the {what} {wrong}"),
                rename(field, "value"),
            );
        }
    }
}

/// The field that is written or read under this name.
fn stored_as<'m, 'a>(model: &'m OutlierModel<'a>, name: &str) -> Option<&'m Field<'a, Marks>> {
    model.fields.iter().find(|field| {
        let serde = &field.serde;
        serde.write.as_deref() == Some(name) || serde.read.iter().any(|read| read == name)
    })
}
