//! The rules of `BucketPart` and `OutlierPart`.

use syn::{Error, Path, spanned::Spanned};

use super::{
    check_is_struct, check_references, check_shared,
    serde::{check_rename_rule, check_struct},
    serde_words::{check_field_words, check_struct_words},
    values::check_required,
};
use crate::{
    errors::Errors,
    model::part::{Model, Pattern},
};

/// A model that keeps all rules, with the value that is then present.
pub(crate) struct Checked<'a> {
    pub(crate) model: &'a Model<'a>,
    pub(crate) of: &'a Path,
}

/// Checks all rules, and returns the model, or every error found so far.
pub(crate) fn check<'a>(model: &'a Model<'a>, mut errors: Errors) -> Result<Checked<'a>, Error> {
    let derive = model.pattern.derive();
    let is_struct = check_is_struct(model.input, derive, &mut errors);
    check_generics(model, &mut errors);
    check_references(&model.fields, derive, &mut errors);
    check_shared(&model.fields, derive, &mut errors);
    let required = [("of", "of = Trade".to_owned())];
    check_required(
        model.input,
        derive,
        &model.attr.written,
        &required,
        &mut errors,
    );
    if is_struct && model.fields.is_empty() {
        let message = "a part has at least one field";
        errors.push(&model.input.ident, message, "add the fields to read");
    }
    check_serde(model, &mut errors);
    errors.finish(())?;
    let of = model.of();
    let missing = || Error::new_spanned(&model.input.ident, "`#[part(…)]` is incomplete");
    Ok(Checked {
        model,
        of: of.ok_or_else(missing)?,
    })
}

/// The constants that compare a field with its original cannot name a parameter.
fn check_generics(model: &Model<'_>, errors: &mut Errors) {
    let generics = &model.input.generics;
    if generics.params.is_empty() {
        return;
    }
    let message = format!("`{}` takes no parameters", model.pattern.derive().name);
    errors.push(
        &generics.params,
        message,
        "write the types of the fields out",
    );
}

fn check_serde(model: &Model<'_>, errors: &mut Errors) {
    check_struct_words(&model.serde.entries, errors);
    check_struct(&model.serde, model.pattern.derive(), errors);
    check_rename_rule(&model.serde, errors);
    for field in &model.fields {
        check_field_words(&field.serde.entries, errors);
        let unnamed = ["skip", "skip_deserializing", "flatten"];
        let unnamed = unnamed.iter().find_map(|word| field.serde.find(word));
        if let Some(entry) = unnamed {
            let message = format!("`{}` has no name by which it could be read", field.name);
            let help = match entry.is("flatten") {
                true => "remove it, and name the fields",
                false => "remove the field",
            };
            errors.push_at(entry.tokens.span(), message, help);
        }
    }
    check_default(model, errors);
}

/// The element's struct is another one, and lacks the key fields.
fn check_default(model: &Model<'_>, errors: &mut Errors) {
    if model.pattern == Pattern::Bucket
        && let Some(entry) = model.serde.find("default")
    {
        let message = "a part of an item has no default as a whole";
        let help = "put `#[serde(default)]` on the fields that need it";
        errors.push(&entry.tokens, message, help);
    }
}
