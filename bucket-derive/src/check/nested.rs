//! The rules of `Fields`.

use quote::ToTokens;
use syn::{Data, Error};

use super::{
    check_is_struct,
    names::not_a_field_name,
    readback::{check_left_out, check_names, check_variant},
};
use crate::{
    errors::Errors,
    model::nested::{Content, NestedKind, NestedModel},
    parse::attr::FIELDS,
};

/// Checks all rules, and returns the model, or every error found so far.
pub(crate) fn check<'m, 'a>(
    model: &'m NestedModel<'a>,
    mut errors: Errors,
) -> Result<&'m NestedModel<'a>, Error> {
    match &model.input.data {
        Data::Enum(_) => check_variants(model, &mut errors),
        // `check_serde` reports a transparent struct.
        Data::Struct(_) if model.serde.has("transparent") => {}
        Data::Struct(_) | Data::Union(_) => {
            check_is_struct(model.input, &FIELDS, &mut errors);
        }
    }
    check_generics(model, &mut errors);
    check_serde(model, &mut errors);
    check_tag(model, &mut errors);
    check_readback(model, &mut errors);
    errors.finish(model)
}

/// The paths of the fields are constants, which cannot depend on a parameter of the type.
fn check_generics(model: &NestedModel<'_>, errors: &mut Errors) {
    let generics = &model.input.generics;
    if !generics.params.is_empty() {
        let message = "`Fields` cannot be derived for a type with parameters";
        let help = "write the types of the fields out";
        errors.push(&generics.params, message, help);
    }
}

/// Refuses attributes with which other fields are stored than those of the type.
fn check_serde(model: &NestedModel<'_>, errors: &mut Errors) {
    for entry in &model.serde.entries {
        let name = entry.name();
        let help = match name {
            "transparent" => "derive it for the type inside",
            "from" | "try_from" | "into" => "derive it for the type that is stored",
            "remote" => "derive it for the type itself",
            "untagged" => "give the enum a tag: #[serde(tag = \"kind\")]",
            _ => continue,
        };
        let message = format!("`Fields` knows no stored names beside `#[serde({name})]`");
        errors.push(&entry.tokens, message, help);
    }
}

/// A condition on a variant looks at the tag, and conditions on its fields may look into the
/// content.
fn check_tag(model: &NestedModel<'_>, errors: &mut Errors) {
    let NestedKind::Enum(_) = &model.kind else {
        return;
    };
    for (key, usage) in [
        ("tag", "tag = \"kind\""),
        ("content", "content = \"value\""),
    ] {
        let literal = model.serde.find(key).and_then(|entry| entry.string());
        if let Some(literal) = literal
            && let Some(wrong) = not_a_field_name(&literal.value())
        {
            let message = format!("the name of the {key} {wrong}, so no condition can spell it");
            errors.push(&literal, message, usage);
        }
    }
}

/// A value that cannot be read back makes the whole item unreadable, and so its bucket.
fn check_readback(model: &NestedModel<'_>, errors: &mut Errors) {
    let fields = match &model.kind {
        NestedKind::Struct(fields) => Vec::from_iter(fields),
        NestedKind::Enum(variants) => {
            for variant in variants {
                check_variant(variant, errors);
            }
            let written = variants.iter().filter(|variant| variant.is_written());
            written.flat_map(|variant| variant.fields()).collect()
        }
        NestedKind::Union => Vec::new(),
    };
    for field in fields {
        check_left_out(&model.serde, field, errors);
        check_names(&model.serde, field, false, errors);
    }
}

/// An enum without a tag and without fields is stored as text.
fn check_variants(model: &NestedModel<'_>, errors: &mut Errors) {
    let NestedKind::Enum(variants) = &model.kind else {
        return;
    };
    let is_text = |content: &Content<'_>| matches!(content, Content::Nothing);
    let has_names = variants.iter().any(|variant| !is_text(&variant.content));
    if !has_names && !model.serde.has("tag") {
        let message = format!(
            "the variants of `{}` hold no fields",
            model.input.ident.to_token_stream()
        );
        let help = "remove `Fields`: conditions compare such a value as a whole";
        errors.push(&model.input.ident, message, help);
    }
}
