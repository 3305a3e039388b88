//! Slips in `#[serde(…)]`. serde would report each once per generated struct.

use syn::{ExprPath, LitStr, WherePredicate, punctuated::Punctuated, token::Comma};

use crate::{
    errors::{Errors, help_for},
    parse::list::{Entry, Value},
};

/// The value that an attribute of serde's takes.
#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    Text,
    /// A text, or a list with one for each direction.
    Texts,
    /// Predicates as a text, or as a list with one text for each direction.
    Bounds,
    Path,
    /// A path, or nothing.
    Default,
}

use Takes::{Bounds, Default, Nothing, Path, Text, Texts};

const OF_STRUCTS: [(&str, Takes); 15] = [
    ("rename", Texts),
    ("rename_all", Texts),
    ("deny_unknown_fields", Nothing),
    ("tag", Text),
    ("content", Text),
    ("untagged", Nothing),
    ("bound", Bounds),
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
    ("bound", Bounds),
    ("getter", Path),
    ("borrow", Default),
];

pub(super) fn check_struct_words(entries: &[Entry], errors: &mut Errors) {
    check(entries, &OF_STRUCTS, errors);
}

pub(super) fn check_field_words(entries: &[Entry], errors: &mut Errors) {
    check(entries, &OF_FIELDS, errors);
    for entry in entries {
        let message = match entry.name() {
            "borrow" => "`borrow` cannot be used: what is read owns its values",
            "getter" => "`getter` cannot be used: it belongs to serde's `remote`",
            _ => continue,
        };
        errors.push(&entry.tokens, message, "remove it");
    }
}

fn check(entries: &[Entry], words: &[(&str, Takes)], errors: &mut Errors) {
    for (n, entry) in entries.iter().enumerate() {
        let Some(key) = &entry.key else {
            let message = "expected an attribute of serde's";
            errors.push(&entry.tokens, message, "remove it");
            continue;
        };
        let name = entry.name();
        let Some((_, takes)) = words.iter().find(|(word, _)| *word == name) else {
            let names = Vec::from_iter(words.iter().map(|(word, _)| *word));
            let message = format_args!("serde has no attribute `{name}` here");
            errors.push(key, message, help_for(name, "attributes", &names));
            continue;
        };
        if entries[..n]
            .iter()
            .any(|earlier| is_repeated(earlier, entry))
        {
            let message = format_args!("`{name}` is given twice");
            errors.push(&entry.tokens, message, "remove one of them");
        } else if let Some((message, help)) = takes.wrong(entry) {
            errors.push(&entry.tokens, message, help);
        }
    }
}

/// Whether both entries say one thing. There may be several aliases and several names to read, and
/// one entry may say how to write, and another how to read.
fn is_repeated(earlier: &Entry, entry: &Entry) -> bool {
    let name = entry.name();
    let is_single = |side: &str| name != "rename" || side == "serialize";
    let has = |entry: &Entry, side: &str| match &entry.value {
        Value::List(sides) => sides.iter().any(|found| found.is(side)),
        _ => true,
    };
    let both = |side| is_single(side) && has(earlier, side) && has(entry, side);
    earlier.is(name) && name != "alias" && ["serialize", "deserialize"].into_iter().any(both)
}

impl Takes {
    /// The message and the help for a value of another kind.
    fn wrong(self, entry: &Entry) -> Option<(String, String)> {
        let (name, text) = (entry.name(), entry.string());
        let is_path = || {
            text.as_ref()
                .is_some_and(|text| text.parse::<ExprPath>().is_ok())
        };
        let is_nothing = matches!(entry.value, Value::None);
        let (is_right, takes, example) = match self {
            Nothing => (is_nothing, "no value", ""),
            Text => (text.is_some(), "a string", " = \"name\""),
            Texts => (all_texts(entry, |_| true), "a string", " = \"name\""),
            Bounds => (
                all_texts(entry, is_where_clause),
                "predicates in a string",
                " = \"T: Clone\"",
            ),
            Path => (is_path(), "a path in a string", " = \"path\""),
            Default => (
                is_nothing || is_path(),
                "a path in a string, or no value",
                "",
            ),
        };
        let message = || format!("`{name}` takes {takes}");
        (!is_right).then(|| (message(), format!("#[serde({name}{example})]")))
    }
}

/// Whether the entry has a text, or one for each direction in a list.
fn all_texts(entry: &Entry, is_right: impl Fn(&LitStr) -> bool) -> bool {
    let is_side = |entry: &Entry| entry.is("serialize") || entry.is("deserialize");
    match &entry.value {
        Value::List(sides) => sides
            .iter()
            .all(|side| is_side(side) && side.string().is_some_and(|text| is_right(&text))),
        _ => entry.string().is_some_and(|text| is_right(&text)),
    }
}

fn is_where_clause(text: &LitStr) -> bool {
    let predicates = Punctuated::<WherePredicate, Comma>::parse_terminated;
    text.parse_with(predicates).is_ok()
}
