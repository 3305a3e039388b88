//! The lists in attributes: `key, key = value, key(…)`, separated by commas.
//!
//! Read token by token, so that one bad entry does not hide the others.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::{Attribute, LitStr, Meta};

/// One entry of a list.
pub(crate) struct Entry {
    /// The name before `=` or the parenthesis; `None` if the entry does not begin with a name.
    pub(crate) key: Option<Ident>,
    /// The key as text, or nothing. It is kept because the compiler is slow to make a text of an identifier.
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
    /// Anything else.
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

/// The entries of one list.
fn entries(tokens: TokenStream) -> Vec<Entry> {
    let separated = separated(tokens).into_iter();
    let written = separated.filter(|(trees, _)| !trees.is_empty());
    written.map(|(trees, _)| one_entry(trees)).collect()
}

/// The first comma with nothing before it.
pub(crate) fn stray_comma(tokens: TokenStream) -> Option<TokenTree> {
    let mut separated = separated(tokens).into_iter();
    separated.find_map(|(trees, comma)| comma.filter(|_| trees.is_empty()))
}

/// What stands between commas, and the comma behind it. The arguments of a type (`Pair<A, B>`) stay together.
fn separated(tokens: TokenStream) -> Vec<(Vec<TokenTree>, Option<TokenTree>)> {
    let mut found = Vec::new();
    let (mut trees, mut depth) = (Vec::new(), 0_usize);
    for tree in tokens {
        let punct = match &tree {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match punct {
            ',' if depth == 0 => {
                found.push((std::mem::take(&mut trees), Some(tree)));
                continue;
            }
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        trees.push(tree);
    }
    found.push((trees, None));
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
