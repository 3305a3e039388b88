//! `key(…)`, `by` and `numbered`: the id format as names of fields, which editors can follow and rename.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{ext::IdentExt, parse::Parser};

use super::{BucketAttr, Given, table::KeyValue};
use crate::{
    errors::Errors,
    parse::{id_format::Suffix, list::Value},
};

/// `key(customer_id, account)`
pub(crate) struct KeyFields(pub(crate) Vec<Ident>);

/// `by = date`, `by(date, millis)` or `by(date, 1h)`
pub(crate) struct By {
    pub(crate) field: Ident,
    /// A unit, or the length of a window, and its tokens.
    pub(crate) suffix: Option<(Suffix, TokenStream)>,
}

/// `numbered`
pub(crate) struct Numbered;

impl KeyValue for KeyFields {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        let entries = match &given.entry.value {
            Value::List(entries) if !entries.is_empty() => entries,
            _ => {
                let message = "`key` takes names of fields in parentheses";
                errors.push(&given.entry.tokens, message, given.usage);
                return None;
            }
        };
        let mut fields = Vec::new();
        for entry in entries {
            match name(&entry.tokens) {
                Some(field) => fields.push(field),
                None => errors.push(&entry.tokens, "expected the name of a field", given.usage),
            }
        }
        (fields.len() == entries.len()).then_some(Self(fields))
    }
}

impl KeyValue for By {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        let read = match &given.entry.value {
            Value::Assigned(field) => Some((field, None)),
            Value::List(entries) => match entries.as_slice() {
                [field] => Some((&field.tokens, None)),
                [field, suffix] => Some((&field.tokens, Some(&suffix.tokens))),
                _ => None,
            },
            Value::None | Value::Comma | Value::Unreadable => None,
        };
        let by = read.and_then(|(field, suffix)| {
            Some(Self {
                field: name(field)?,
                suffix: suffix.map(|tokens: &TokenStream| (suffix_of(tokens), tokens.clone())),
            })
        });
        if by.is_none() {
            let message = "`by` must name the field with the time of an item";
            let help = "write `by = date`, `by(date, millis)` or `by(date, 1h)`";
            errors.push(&given.entry.tokens, message, help);
        }
        by
    }
}

impl KeyValue for Numbered {
    fn of(given: &Given, errors: &mut Errors) -> Option<Self> {
        if matches!(given.entry.value, Value::None) {
            return Some(Self);
        }
        errors.push(
            &given.entry.tokens,
            "`numbered` takes no value",
            given.usage,
        );
        None
    }
}

impl BucketAttr {
    /// The id format: the text of `id`, or the text with the meaning of `key`, `by` and `numbered`.
    pub(crate) fn id_format(&self) -> String {
        if let Some(id) = &self.id {
            return id.value.value();
        }
        let keys = self.key.iter().flat_map(|key| &key.value.0);
        let mut format: String = keys.map(|key| format!("{{{}}}_", key.unraw())).collect();
        match (&self.by, &self.numbered) {
            (Some(by), _) => format += &by.value.placeholder(),
            (None, Some(_)) => format += "{#}",
            (None, None) => {}
        }
        format
    }
}

impl By {
    fn placeholder(&self) -> String {
        let field = self.field.unraw();
        match &self.suffix {
            None => format!("{{{field}}}"),
            Some((Suffix::Unit(unit), _)) => format!("{{{field}:{unit}}}"),
            Some((Suffix::Window(length), _)) => format!("{{{field}/{length}}}"),
        }
    }
}

/// A unit is a name, and a length begins with a number.
fn suffix_of(tokens: &TokenStream) -> Suffix {
    match tokens.clone().into_iter().next() {
        Some(TokenTree::Ident(_)) => Suffix::Unit(tokens.to_string()),
        _ => Suffix::Window(tokens.to_string()),
    }
}

fn name(tokens: &TokenStream) -> Option<Ident> {
    Ident::parse_any.parse2(tokens.clone()).ok()
}
