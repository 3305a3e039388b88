//! serde attributes that cannot work in a parent.

use crate::{
    check::{
        readback::{check_left_out, check_names},
        serde::{check_one_name, check_rename_rule, check_struct},
        serde_words::{check_field_words, check_struct_words},
    },
    errors::Errors,
    model::{
        Field,
        outlier::{Marks, OutlierModel},
    },
    parse::attr::OUTLIER,
};

/// A field with one of these is not stored, or not under its own name.
const LOST: [&str; 4] = ["skip", "skip_serializing", "skip_deserializing", "flatten"];

/// The serde attributes with which a value is not stored in the form of its type.
const WITH: [&str; 3] = ["with", "serialize_with", "deserialize_with"];

pub(super) fn check(model: &OutlierModel<'_>, errors: &mut Errors) {
    check_struct(&model.serde, &OUTLIER, errors);
    check_rename_rule(&model.serde, errors);
    check_unknown_fields(model, errors);
    if let Some(id) = model.id() {
        check_id(id, errors);
        check_id_name(id, errors);
    }
    for (field, what) in model.written() {
        if field.part.is_id {
            continue;
        }
        check_marked(field, what, errors);
        let help = |write: &str, _: &str| format!("#[serde(rename = \"{write}\")]");
        check_one_name(&model.serde, field, &format!("the {what}"), help, errors);
    }
    check_flag_default(model, errors);
    for field in model.fields.iter().filter(|field| !field.part.is_id) {
        let mut written = model.written();
        // For marked fields, `check_marked` and `check_one_name` report the mistakes.
        if written.all(|(written, _)| written.name != field.name) {
            check_names(&model.serde, field, false, errors);
            check_left_out(&model.serde, field, errors);
        }
    }
}

/// Whether serde's own derives report one of the struct's attributes.
pub(super) fn is_refused(model: &OutlierModel<'_>) -> bool {
    let mut refused = Errors::new();
    check_struct_words(&model.serde.entries, &mut refused);
    for field in &model.fields {
        check_field_words(&field.serde.entries, &mut refused);
    }
    refused.finish(()).is_err()
}

/// A parent that has extras has the flag, too, which such a struct would refuse to read.
fn check_unknown_fields(model: &OutlierModel<'_>, errors: &mut Errors) {
    let (Some(entry), None) = (model.serde.find("deny_unknown_fields"), model.flag()) else {
        return;
    };
    errors.push(
        &entry.tokens,
        "`deny_unknown_fields` refuses the flag of a parent with extras",
        "remove it, or add a field: #[outlier(flag)] #[serde(default)] pub has_extras: bool",
    );
}

/// Each parent stores its id, in the form in which `KeyField` writes it into the extras.
fn check_id(id: &Field<'_, Marks>, errors: &mut Errors) {
    for entry in &id.serde.entries {
        let name = entry.name();
        let help = if WITH.contains(&name) {
            "remove it, or implement `bucket_runtime::KeyField` for a newtype"
        } else if LOST.contains(&name) || name == "skip_serializing_if" {
            "remove it: extras refer to their parent by its id"
        } else {
            continue;
        };
        errors.push(
            &entry.tokens,
            format_args!("`#[serde({name})]` cannot be used on the id"),
            help,
        );
    }
}

/// The server knows the id under this name alone.
fn check_id_name(id: &Field<'_, Marks>, errors: &mut Errors) {
    let mut names = id.serde.write.iter().chain(id.serde.read.first());
    if names.any(|name| name != "_id") {
        let message = "the id must be both written and read as `_id`";
        let at = crate::check::names::name_tokens(id);
        errors.push(at, message, r#"#[serde(rename = "_id")]"#);
    }
}

/// The runtime itself writes these fields of the stored parent: under one name, and in their own
/// form.
fn check_marked(field: &Field<'_, Marks>, what: &str, errors: &mut Errors) {
    for entry in &field.serde.entries {
        let name = entry.name();
        let help = if LOST.contains(&name) {
            format!("remove it, or remove `#[outlier({what})]`")
        } else if WITH.contains(&name) {
            match what {
                "items" => {
                    "remove it, or give the items a type that serde writes that way".to_owned()
                }
                "flag" => "remove it: the flag is stored as `true`".to_owned(),
                _ => "remove it: the total is stored as a number".to_owned(),
            }
        } else if name == "alias" {
            "remove it, and rename the field in the stored documents".to_owned()
        } else {
            continue;
        };
        errors.push(
            &entry.tokens,
            format_args!("`#[serde({name})]` cannot be used on the {what}"),
            help,
        );
    }
}

/// Parents have no flag until they have extras.
fn check_flag_default(model: &OutlierModel<'_>, errors: &mut Errors) {
    // Another rule reports an id that is the flag.
    let Some(flag) = model.flag().filter(|flag| !flag.part.is_id) else {
        return;
    };
    if let (None, None) = (flag.serde.find("default"), model.serde.find("default")) {
        errors.push(
            flag.attr.word("flag"),
            format_args!(
                "`{}` needs a default: parents without extras have no flag",
                flag.name
            ),
            "#[serde(default)]",
        );
    }
}
