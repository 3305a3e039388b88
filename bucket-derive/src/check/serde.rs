//! serde attributes that cannot work, whatever is derived.

use quote::ToTokens;

use crate::{
    errors::{Errors, help_for},
    model::Field,
    parse::{attr::Derive, rename::RenameRule, serde_attr::Container},
};

/// Refuses attributes that replace a struct's fields, since the derives store the fields.
pub(super) fn check_struct(container: &Container, derive: &Derive, errors: &mut Errors) {
    for entry in &container.entries {
        let help = match entry.name() {
            "transparent" => "remove it: the struct is stored as a document".to_owned(),
            "from" | "try_from" | "into" => "put `with` on the fields that need it".to_owned(),
            "remote" => format!("derive `{}` on the struct itself", derive.name),
            "tag" | "content" | "untagged" => "add a field that holds the tag".to_owned(),
            _ => continue,
        };
        let message = format!(
            "`#[serde({})]` cannot be used with `{}`",
            entry.name(),
            derive.name
        );
        errors.push(&entry.tokens, message, help);
    }
}

/// Refuses an unknown `rename_all`, with which the stored names are unknown.
pub(super) fn check_rename_rule(container: &Container, errors: &mut Errors) {
    for literal in &container.unknown_rules {
        let name = literal.value();
        let help = help_for(&name, "rules", &RenameRule::NAMES);
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
    let at = rename.map_or_else(
        || field.ident.to_token_stream(),
        |entry| entry.tokens.clone(),
    );
    let message = format!("{what} must be read under the same name as written, `{write}`");
    errors.push(at, message, help(write, read));
}
