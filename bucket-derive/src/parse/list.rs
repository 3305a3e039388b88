//! The lists in attributes: `key, key = value, key(…)`, separated by commas.
//!
//! Read token by token, so that one bad entry does not hide the others.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::{Attribute, LitStr, Meta};

use crate::errors::Errors;

/// One entry of an attribute's list.
pub(crate) struct Entry {
    /// The name before `=` or the parenthesis; `None` if the entry does not begin with a name.
    pub(crate) key: Option<Ident>,
    /// The key as text, or nothing. It is kept because the compiler is slow to make a text of an
    /// identifier.
    name: String,
    pub(crate) value: Value,
    /// The entry as it was written.
    pub(crate) tokens: TokenStream,
}

pub(crate) enum Value {
    /// `key`
    None,
    /// `key = tokens`
    Assigned(TokenStream),
    /// `key(entries)`
    List(Vec<Entry>),
    /// A comma with nothing before it.
    Comma,
    /// Tokens that are none of the other forms.
    Unreadable,
}

impl Entry {
    pub(crate) fn is(&self, key: &str) -> bool {
        self.name == key
    }

    /// The key as text; empty if there is none.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The string of `key = "string"`.
    pub(crate) fn string(&self) -> Option<LitStr> {
        match &self.value {
            Value::Assigned(tokens) => syn::parse2(tokens.clone()).ok(),
            _ => None,
        }
    }
}

/// The entries of all attributes of this name.
pub(crate) fn of_attributes(attrs: &[Attribute], name: &str) -> Vec<Entry> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident(name))
        .flat_map(|attr| match &attr.meta {
            Meta::List(list) => entries(list.tokens.clone()),
            _ => Vec::new(),
        })
        .collect()
}

/// The entries of a derive's own attributes of this name. Commas that are missing, or have nothing
/// before them, are reported: serde does that for its attributes.
pub(crate) fn of_own_attributes(
    attrs: &[Attribute],
    name: &str,
    errors: &mut Errors,
) -> Vec<Entry> {
    separated(of_attributes(attrs, name), errors)
}

fn separated(entries: Vec<Entry>, errors: &mut Errors) -> Vec<Entry> {
    let mut found = Vec::new();
    for mut entry in entries {
        if matches!(entry.value, Value::Comma) {
            let message = "a comma with nothing before it";
            errors.push(&entry.tokens, message, "remove it");
            continue;
        }
        if let Some((first, second)) = without_comma(&entry) {
            let message = format_args!("there is no comma before `{}`", second.name);
            let help = format_args!("{}, {}", first.tokens, second.name);
            errors.push(&second.key, message, help);
            found.push(first);
            found.extend(separated(vec![second], errors));
            continue;
        }
        if let Value::List(inner) = entry.value {
            entry.value = Value::List(separated(inner, errors));
        }
        found.push(entry);
    }
    found
}

/// The two entries in `key = value key = value`: but for `<A as Trait>::B`, no value has a name
/// behind another token than punctuation.
fn without_comma(entry: &Entry) -> Option<(Entry, Entry)> {
    let trees = Vec::from_iter(entry.tokens.clone());
    let is_as = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "as");
    let before = trees.windows(2).position(|trees| {
        matches!(trees, [before, TokenTree::Ident(_)] if !matches!(before, TokenTree::Punct(_)))
            && !trees.iter().any(is_as)
    });
    let (first, second) = trees.split_at(before? + 1);
    Some((one_entry(first.to_vec()), one_entry(second.to_vec())))
}

/// The entries of one list. The arguments of a type (`Pair<A, B>`) stay together.
fn entries(tokens: TokenStream) -> Vec<Entry> {
    let mut found = Vec::new();
    let (mut entry, mut depth) = (Vec::new(), 0_usize);
    for tree in tokens {
        let punct = match &tree {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match punct {
            ',' if depth == 0 => {
                found.push(match entry.is_empty() {
                    true => Entry {
                        key: None,
                        name: String::new(),
                        value: Value::Comma,
                        tokens: tree.into(),
                    },
                    false => one_entry(std::mem::take(&mut entry)),
                });
                continue;
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        entry.push(tree);
    }
    if !entry.is_empty() {
        found.push(one_entry(entry));
    }
    found
}

fn one_entry(trees: Vec<TokenTree>) -> Entry {
    let (key, value) = match trees.as_slice() {
        [TokenTree::Ident(key)] => (Some(key.clone()), Value::None),
        [TokenTree::Ident(key), TokenTree::Punct(eq), value @ ..] if eq.as_char() == '=' => (
            Some(key.clone()),
            Value::Assigned(value.iter().cloned().collect()),
        ),
        [TokenTree::Ident(key), TokenTree::Group(group)]
            if group.delimiter() == Delimiter::Parenthesis =>
        {
            (Some(key.clone()), Value::List(entries(group.stream())))
        }
        [TokenTree::Ident(key), ..] => (Some(key.clone()), Value::Unreadable),
        _ => (None, Value::Unreadable),
    };
    Entry {
        name: key.as_ref().map(Ident::to_string).unwrap_or_default(),
        key,
        value,
        tokens: trees.into_iter().collect(),
    }
}
