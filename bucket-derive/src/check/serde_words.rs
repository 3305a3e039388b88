//! Slips in `#[serde(…)]`. serde would report each once per generated struct.

use syn::ExprPath;

use crate::{
    errors::{Errors, did_you_mean},
    parse::list::{Entry, Value},
};

/// The value that an attribute of serde's takes.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Text,
    /// A text, or a list with one for each direction.
    Texts,
    Path,
    /// A path, or nothing.
    Default,
}

use Takes::{Default, Nothing, Path, Text, Texts};

const OF_STRUCTS: [(&str, Takes); 15] = [
    ("rename", Texts),
    ("rename_all", Texts),
    ("deny_unknown_fields", Nothing),
    ("tag", Text),
    ("content", Text),
    ("untagged", Nothing),
    ("bound", Texts),
    ("default", Default),
    ("remote", Text),
    ("transparent", Nothing),
    ("from", Text),
    ("try_from", Text),
    ("into", Text),
    ("crate", Text),
    ("expecting", Text),
];

const OF_FIELDS: [(&str, Takes); 14] = [
    ("rename", Texts),
    ("alias", Text),
    ("default", Default),
    ("flatten", Nothing),
    ("skip", Nothing),
    ("skip_serializing", Nothing),
    ("skip_deserializing", Nothing),
    ("skip_serializing_if", Path),
    ("with", Path),
    ("serialize_with", Path),
    ("deserialize_with", Path),
    ("bound", Texts),
    ("getter", Path),
    ("borrow", Default),
];

pub(super) fn check_struct_words(entries: &[Entry], errors: &mut Errors) {
    check(entries, &OF_STRUCTS, errors);
}

pub(super) fn check_field_words(entries: &[Entry], errors: &mut Errors) {
    check(entries, &OF_FIELDS, errors);
}

fn check(entries: &[Entry], words: &[(&str, Takes)], errors: &mut Errors) {
    for entry in entries {
        let Some(key) = &entry.key else {
            let message = "expected an attribute of serde's";
            errors.push(&entry.tokens, message, "remove it");
            continue;
        };
        let name = key.to_string();
        let Some((_, takes)) = words.iter().find(|(word, _)| *word == name) else {
            let names = Vec::from_iter(words.iter().map(|(word, _)| *word));
            let help = match did_you_mean(&name, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the attributes are `{}`", names.join("`, `")),
            };
            errors.push(
                key,
                format_args!("serde has no attribute `{name}` here"),
                help,
            );
            continue;
        };
        let text = entry.string();
        let path = || {
            text.as_ref()
                .is_some_and(|text| text.parse::<ExprPath>().is_ok())
        };
        let (is_right, help) = match takes {
            Nothing => (
                matches!(entry.value, Value::None),
                format!("#[serde({name})]"),
            ),
            Text => (text.is_some(), format!("#[serde({name} = \"name\")]")),
            Texts => {
                let is_list = matches!(entry.value, Value::List(_));
                (
                    text.is_some() || is_list,
                    format!("#[serde({name} = \"name\")]"),
                )
            }
            Path => (path(), format!("#[serde({name} = \"path\")]")),
            Default => (
                matches!(entry.value, Value::None) || path(),
                format!("#[serde({name})]"),
            ),
        };
        if !is_right {
            let message = match takes {
                Nothing => format!("`{name}` takes no value"),
                Text | Texts => format!("`{name}` takes a string"),
                Path => format!("`{name}` takes a path in a string"),
                Default => format!("`{name}` takes a path in a string, or no value"),
            };
            errors.push(&entry.tokens, message, help);
        }
    }
}
