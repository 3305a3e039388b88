//! The rules of `Part`.

use syn::{Error, TypePath};

use super::{
    check_is_struct, check_references, check_shared,
    serde::check_rename_rule,
    serde_words::{check_field_words, check_struct_words},
    values::check_required,
};
use crate::{
    errors::Errors,
    model::part::PartModel,
    parse::{attr::PART, list::Entry},
};

/// A model that keeps all rules, with the value that is then present.
pub(crate) struct PartChecked<'a> {
    pub(crate) model: &'a PartModel<'a>,
    pub(crate) of: &'a TypePath,
}

/// Checks all rules, and returns the model, or every error found so far.
pub(crate) fn check<'a>(
    model: &'a PartModel<'a>,
    mut errors: Errors,
) -> Result<PartChecked<'a>, Error> {
    let is_struct = check_is_struct(model.input, &PART, &mut errors);
    check_generics(model, &mut errors);
    check_references(&model.fields, &PART, &mut errors);
    check_shared(&model.fields, &PART, &mut errors);
    let required = [("of", "of = Trade".to_owned())];
    let (input, written) = (model.input, &model.attr.written);
    check_required(input, &PART, written, &required, &mut errors);
    if is_struct && model.fields.is_empty() {
        let message = "a part has at least one field";
        errors.push(&model.input.ident, message, "add the fields to read");
    }
    check_serde(model, &mut errors);
    errors.finish(())?;
    let of = model.of();
    let missing = || Error::new_spanned(&model.input.ident, "`#[part(…)]` is incomplete");
    Ok(PartChecked {
        model,
        of: of.ok_or_else(missing)?,
    })
}

/// The constants that compare a field with its original cannot name a parameter.
fn check_generics(model: &PartModel<'_>, errors: &mut Errors) {
    let generics = &model.input.generics;
    if generics.params.is_empty() {
        return;
    }
    let message = "`Part` takes no parameters";
    errors.push(
        &generics.params,
        message,
        "write the types of the fields out",
    );
}

/// A part is read as the whole struct is. Attributes that only say how serde reads would do
/// nothing; the others say how serde writes the part, for the user's own purposes.
fn check_serde(model: &PartModel<'_>, errors: &mut Errors) {
    check_struct_words(&model.serde.entries, errors);
    check_rename_rule(&model.serde, errors);
    let of_struct = model.serde.entries.iter();
    let mut refused = Vec::from_iter(of_struct.filter(|entry| is_any(entry, &OF_STRUCTS)));
    for field in &model.fields {
        check_field_words(&field.serde.entries, errors);
        let of_field = field.serde.entries.iter();
        refused.extend(of_field.filter(|entry| is_any(entry, &OF_FIELDS)));
    }
    let whole = model.of().and_then(|of| of.path.segments.last());
    let whole = whole.map_or_else(
        || "the whole struct".to_owned(),
        |name| format!("`{}`", name.ident),
    );
    for entry in refused {
        let message = format!(
            "a part is read as {whole} is, whatever `{}` says",
            entry.name()
        );
        errors.push(&entry.tokens, message, format!("remove `{}`", entry.tokens));
    }
}

/// The serde attributes of a struct that do not change how it is written.
const OF_STRUCTS: [&str; 4] = ["default", "deny_unknown_fields", "from", "try_from"];

/// The serde attributes of a field that do not change how it is written.
const OF_FIELDS: [&str; 5] = [
    "alias",
    "borrow",
    "default",
    "deserialize_with",
    "skip_deserializing",
];

fn is_any(entry: &Entry, names: &[&str]) -> bool {
    names.iter().any(|name| entry.is(name))
}
