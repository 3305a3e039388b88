//! Stored values must be readable. A value that serde leaves out, or writes under a name that it
//! does not read, would make its whole document unreadable.

use crate::{
    errors::Errors,
    model::{Field, nested::Variant},
    parse::serde_attr::Container,
};

/// A value that is left out needs a default. Whether its type has one, as an `Option` does, only
/// the compiler knows; the user's own function for reading is not called at all.
pub(super) fn check_left_out<Part>(
    container: &Container,
    field: &Field<'_, Part>,
    errors: &mut Errors,
) {
    let (Some(left_out), Some(reader)) = (field.left_out(container), field.reader()) else {
        return;
    };
    let (left_out_by, reader) = (left_out.name(), reader.name());
    let message = format!(
        "`{}` is not always stored, and `{reader}` cannot read what is missing",
        field.name
    );
    let help = match field.serde.has("flatten") {
        true => format!("remove `{left_out_by}`"),
        false => "#[serde(default)]".to_owned(),
    };
    errors.push(&left_out.tokens, message, help);
}

/// A value under a name that is not read is lost, and if the field is required, so is the whole
/// item. With a default that is the user's choice, unless `is_needed`.
pub(super) fn check_names<Part>(
    container: &Container,
    field: &Field<'_, Part>,
    is_needed: bool,
    errors: &mut Errors,
) {
    let Some(write) = &field.serde.write else {
        return;
    };
    if field.serde.read.contains(write) {
        return;
    }
    let alias = format!("#[serde(alias = {write:?})]");
    let denied = container.find("deny_unknown_fields").is_some();
    match field.serde.read.first() {
        None if denied => errors.push(
            field
                .serde
                .find("skip_deserializing")
                .map(|entry| &entry.tokens),
            format_args!(
                "`{}` is written, and `deny_unknown_fields` refuses to read it",
                field.name
            ),
            "write `skip`, or remove `deny_unknown_fields`",
        ),
        None => {}
        Some(read) if denied || is_needed || !field.has_default(container) => {
            let message = format!(
                "`{}` is written as `{write}`, and not read under that name but as `{read}`",
                field.name
            );
            match field.serde.find("rename") {
                Some(rename) => errors.push(&rename.tokens, message, alias),
                None => errors.push(field.ident, message, alias),
            }
        }
        Some(_) => {}
    }
}

/// A variant under a name that is not read makes its item unreadable.
pub(super) fn check_variant(variant: &Variant<'_>, errors: &mut Errors) {
    let (serde, ident) = (&variant.serde, &variant.node.ident);
    let Some(write) = serde
        .write
        .as_ref()
        .filter(|write| !serde.read.contains(write))
    else {
        return;
    };
    match (serde.read.first(), serde.fields.find("skip_deserializing")) {
        (Some(read), _) => {
            let message = format!(
                "`{ident}` is written as `{write}`, and not read under that name but as `{read}`"
            );
            let alias = format!("#[serde(alias = {write:?})]");
            match serde.fields.find("rename") {
                Some(rename) => errors.push(&rename.tokens, message, alias),
                None => errors.push(ident, message, alias),
            }
        }
        (None, entry) => errors.push(
            entry.map(|entry| &entry.tokens),
            format_args!("`{ident}` is written, and cannot be read"),
            "write `skip`, or remove `skip_deserializing`",
        ),
    }
}
