//! serde attributes that cannot work in a bucket.

use crate::{
    errors::{Errors, did_you_mean},
    list::Entry,
    model::{Field, Model, Role},
    rename::Rule,
};

pub(super) fn check(model: &Model<'_>, errors: &mut Errors) {
    check_struct(model, errors);
    check_rename_rule(model, errors);
    for field in &model.fields {
        match field.role {
            Role::Key => {
                check_key(field, errors);
                check_one_key_name(model, field, errors);
            }
            Role::Time => check_time(field, errors),
            Role::Element => {}
        }
    }
}

/// These replace a struct's own fields by something else; buckets are made of the fields.
fn check_struct(model: &Model<'_>, errors: &mut Errors) {
    for entry in &model.serde.entries {
        let help = match name(entry).as_str() {
            "transparent" => "remove it: a bucket's items are documents",
            "from" | "try_from" | "into" => "put `with` on the fields that need it",
            "remote" => "derive `Bucket` on the struct itself",
            "tag" | "content" | "untagged" => "add a field that holds the tag",
            _ => continue,
        };
        errors.push(
            &entry.tokens,
            format_args!("`#[serde({})]` cannot be used with `Bucket`", name(entry)),
            help,
        );
    }
}

/// The stored names of the key fields follow from the rule.
fn check_rename_rule(model: &Model<'_>, errors: &mut Errors) {
    for literal in &model.serde.unknown_rules {
        let name = literal.value();
        let help = match did_you_mean(&name, Rule::NAMES) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the rules are `{}`", Rule::NAMES.join("`, `")),
        };
        errors.push(
            literal,
            format_args!("there is no rule `{name}` for names"),
            help,
        );
    }
}

/// A key is written by `KeyField`, into `_id` and into its own field, and always there: serde has
/// no say in it but for the name.
fn check_key(field: &Field<'_>, errors: &mut Errors) {
    for entry in &field.serde.entries {
        let name = name(entry);
        if name == "rename" || name == "alias" {
            continue;
        }
        let help = match name.as_str() {
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

/// The key is found by the name that it was written under.
fn check_one_key_name(model: &Model<'_>, field: &Field<'_>, errors: &mut Errors) {
    let (Some(write), Some(read)) = (&field.serde.write, field.serde.read.first()) else {
        return;
    };
    if write == read {
        return;
    }
    let rename = field
        .serde
        .find("rename")
        .or_else(|| model.serde.find("rename_all"));
    let message =
        format!("a key field must be read under the name that it is written under, `{write}`");
    let help = format!("#[serde(rename = \"{write}\", alias = \"{read}\")]");
    match rename {
        Some(entry) => errors.push(&entry.tokens, message, help),
        None => errors.push(field.ident, message, help),
    }
}

/// Pages are read by time, so every stored item has it, under its own name.
fn check_time(field: &Field<'_>, errors: &mut Errors) {
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
        .filter(|entry| lost.contains(&name(entry).as_str()))
    {
        errors.push(
            &entry.tokens,
            format_args!(
                "`#[serde({})]` cannot be used on the time of a bucket's items",
                name(entry)
            ),
            format_args!(
                "remove it, or end the id format in `{{#}}` instead of `{{{}}}`",
                field.name
            ),
        );
    }
}

fn name(entry: &Entry) -> String {
    entry
        .key
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default()
}
