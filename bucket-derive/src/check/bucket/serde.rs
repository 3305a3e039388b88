//! serde attributes that cannot work in a bucket.

use crate::{
    check::{
        readback::{check_left_out, check_names},
        serde::{check_one_name, check_rename_rule, check_struct},
        serde_words::{check_field_words, check_struct_words},
    },
    errors::Errors,
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
    parse::attr::BUCKET,
};

pub(super) fn check(model: &BucketModel<'_>, errors: &mut Errors) {
    check_struct_words(&model.serde.entries, errors);
    check_struct(&model.serde, &BUCKET, errors);
    check_rename_rule(&model.serde, errors);
    for field in &model.fields {
        match field.part {
            Role::Key => {
                check_key(field, errors);
                let help = |write: &str, read: &str| {
                    format!("#[serde(rename = \"{write}\", alias = \"{read}\")]")
                };
                check_one_name(&model.serde, field, "a key field", help, errors);
            }
            Role::Time => {
                check_field_words(&field.serde.entries, errors);
                check_time(field, errors);
                check_names(&model.serde, field, true, errors);
            }
            Role::Element => {
                check_field_words(&field.serde.entries, errors);
                check_left_out(&model.serde, field, errors);
                check_names(&model.serde, field, false, errors);
            }
        }
    }
}

/// `KeyField` writes a key, always, into `_id` and into its own field: serde only gives its name.
fn check_key(field: &Field<'_, Role>, errors: &mut Errors) {
    for entry in &field.serde.entries {
        let name = entry.name();
        if name == "rename" || name == "alias" {
            continue;
        }
        if name.is_empty() {
            let message = "expected an attribute of serde's";
            errors.push(&entry.tokens, message, "remove it");
            continue;
        }
        let help = match name {
            "with" | "serialize_with" | "deserialize_with" => {
                "remove it, or implement `bucket_runtime::KeyField` for a newtype".to_owned()
            }
            "default" => "remove it: a bucket without its key belongs to nobody".to_owned(),
            _ => format!("remove it, or take `{}` out of the id format", field.name),
        };
        errors.push(
            &entry.tokens,
            format_args!("`#[serde({name})]` cannot be used on a key field"),
            help,
        );
    }
}

/// Pages are read by time, so every stored item has it, under its own name.
fn check_time(field: &Field<'_, Role>, errors: &mut Errors) {
    let help = format!(
        "remove it, or end the id format in `{{#}}` instead of `{{{}}}`",
        field.name
    );
    let lost = [
        "skip",
        "skip_serializing",
        "skip_deserializing",
        "skip_serializing_if",
        "flatten",
    ];
    for entry in field
        .serde
        .entries
        .iter()
        .filter(|entry| lost.contains(&entry.name()))
    {
        errors.push(
            &entry.tokens,
            format_args!(
                "`#[serde({})]` cannot be used on the time of a bucket's items",
                entry.name()
            ),
            &help,
        );
    }
}
