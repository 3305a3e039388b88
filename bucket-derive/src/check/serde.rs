//! serde attributes that cannot work, whatever is derived.

use crate::{
    errors::{Errors, did_you_mean},
    model::Field,
    parse::{attr::Derive, list::Entry, rename::RenameRule, serde_attr::Container},
};

/// Refuses attributes that replace a struct's fields, since the derives store the fields.
pub(super) fn check_struct(container: &Container, derive: &Derive, errors: &mut Errors) {
    for entry in &container.entries {
        let help = match name(entry).as_str() {
            "transparent" => "remove it: the struct is stored as a document".to_owned(),
            "from" | "try_from" | "into" => "put `with` on the fields that need it".to_owned(),
            "remote" => format!("derive `{}` on the struct itself", derive.name),
            "tag" | "content" | "untagged" => "add a field that holds the tag".to_owned(),
            _ => continue,
        };
        let message = format!(
            "`#[serde({})]` cannot be used with `{}`",
            name(entry),
            derive.name
        );
        errors.push(&entry.tokens, message, help);
    }
}

/// Refuses an unknown `rename_all`, with which the stored names are unknown.
pub(super) fn check_rename_rule(container: &Container, errors: &mut Errors) {
    for literal in &container.unknown_rules {
        let name = literal.value();
        let help = match did_you_mean(&name, RenameRule::NAMES) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the rules are `{}`", RenameRule::NAMES.join("`, `")),
        };
        errors.push(
            literal,
            format_args!("there is no rule `{name}` for names"),
            help,
        );
    }
}

/// Queries and updates find a field by its written name.
///
/// `what` says what the field is, for the message.
pub(super) fn check_one_name<Part>(
    container: &Container,
    field: &Field<'_, Part>,
    what: &str,
    help: impl FnOnce(&str, &str) -> String,
    errors: &mut Errors,
) {
    let (Some(write), Some(read)) = (&field.serde.write, field.serde.read.first()) else {
        return;
    };
    if write == read {
        return;
    }
    let rename = field
        .serde
        .find("rename")
        .or_else(|| container.find("rename_all"));
    let message = format!("{what} must be read under the same name as written, `{write}`");
    let help = help(write, read);
    match rename {
        Some(entry) => errors.push(&entry.tokens, message, help),
        None => errors.push(field.ident, message, help),
    }
}

pub(super) fn name(entry: &Entry) -> String {
    entry.name().to_owned()
}
