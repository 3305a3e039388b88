//! `#[bucket(…)]` and `#[outlier(…)]` on a field: the words that mark it, and its limits.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{
    Attribute, Meta, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
};

use super::{Derive, Given, Limit, Spanned};
use crate::{
    errors::{Errors, did_you_mean, help_for},
    parse::{
        ident::field_ident,
        list::{self, Entry, Value},
    },
};

/// The attribute of a derive on a field.
#[derive(Default)]
pub(crate) struct FieldAttr {
    /// The words that mark the field: each as it is meant, and as it is written.
    words: Vec<(&'static str, Ident)>,
    /// The paths in `index(…)`: fields inside of this one.
    pub(crate) indexes: Vec<Vec<Ident>>,
    /// The field in `unique = …`: one of the items.
    pub(crate) unique: Option<Ident>,
    /// The limits, under the names of their keys; `None` if a value could not be read.
    limits: Vec<(&'static str, Option<Spanned<Limit>>)>,
    /// A part could not be read, so it may have meant any word.
    pub(crate) unreadable: bool,
}

impl FieldAttr {
    pub(crate) fn parse(field: &syn::Field, derive: &Derive, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        if derive.words.is_empty() {
            check_no_attribute(&field.attrs, derive, "the struct", errors);
            return parsed;
        }
        let own = |attr: &&Attribute| attr.path().is_ident(derive.attribute);
        for attr in field.attrs.iter().filter(own) {
            let attrs = std::slice::from_ref(attr);
            let entries = list::of_own_attributes(attrs, derive.attribute, errors);
            // `#[outlier]`, `#[outlier()]` and `#[outlier = …]` mark nothing.
            if entries.is_empty() {
                parsed.unreadable = true;
                let at: &Meta = &attr.meta;
                let message = format!(
                    "`{}` on a field must say what the field is",
                    derive.attribute
                );
                errors.push(at, message, derive.mark());
            }
            for entry in entries {
                parsed.add(field, entry, derive, errors);
            }
        }
        parsed
    }

    /// The word, if the field is marked with it.
    pub(crate) fn word(&self, word: &str) -> Option<&Ident> {
        let found = self.words.iter().find(|(meant, _)| *meant == word)?;
        Some(&found.1)
    }

    /// The words that ask for rollups.
    pub(crate) fn rollups(&self) -> impl Iterator<Item = &Ident> {
        let words = ["sum", "min", "max"].into_iter();
        words.filter_map(|word| self.word(word))
    }

    /// The limit of this name, if the field has it.
    pub(crate) fn limit(&self, key: &str) -> Option<&Spanned<Limit>> {
        let found = self.limits.iter().find(|(known, _)| *known == key)?;
        found.1.as_ref()
    }

    fn add(&mut self, field: &syn::Field, entry: Entry, derive: &Derive, errors: &mut Errors) {
        let Some(key) = entry.key.clone() else {
            self.unreadable = true;
            let message = format!("expected {}", derive.words_listed());
            errors.push(&entry.tokens, message, derive.mark());
            return;
        };
        let name = key.to_string();
        if name == "key" && derive.keys.iter().any(|(known, _)| *known == "id") {
            self.unreadable = true;
            let field = field.ident.as_ref().map(IdentExt::unraw);
            let help = format!(
                "remove it, and name the field in the format: `{{{}}}_{{#}}`",
                field.to_token_stream()
            );
            errors.push(key, "the id format names the key fields", help);
            return;
        }
        if let Some((name, usage)) = derive.limits.iter().find(|(known, _)| *known == name) {
            if self.limits.iter().any(|(known, _)| known == name) {
                let message = format!("`{name}` is given twice");
                errors.push(key, message, format_args!("keep one `{usage}`"));
            } else {
                let given = Given { key, entry, usage };
                self.limits.push((name, given.read(errors)));
            }
            return;
        }
        let meant = match derive.words.iter().find(|word| **word == name) {
            Some(word) => *word,
            None => match derive.unknown_word(&key, errors) {
                Some(meant) => meant,
                None => {
                    self.unreadable = true;
                    return;
                }
            },
        };
        let usage = format!("#[{}({meant})]", derive.attribute);
        match (meant, &entry.value) {
            ("index", Value::List(paths)) => self.add_indexes(&key, paths, errors),
            // In a bucket the field itself is `unique`.
            ("unique", Value::Assigned(field)) if derive.words.contains(&"items") => {
                self.add_unique(field, &entry, errors);
            }
            (_, value) if meant == name && !matches!(value, Value::None) => {
                let message = format!("`{name}` on a field takes no value");
                errors.push(&entry.tokens, message, &usage);
            }
            _ => {}
        }
        if self.word(meant).is_some() {
            let message = format!("`{meant}` is given twice");
            errors.push(key, message, format_args!("keep one `{usage}`"));
        } else {
            self.words.push((meant, key));
        }
    }

    /// `index(city, dealer.home_city)`
    fn add_indexes(&mut self, key: &Ident, paths: &[Entry], errors: &mut Errors) {
        let help = "name fields inside of this one, as in `index(city, owner.name)`";
        if paths.is_empty() {
            self.unreadable = true;
            errors.push(key, "`index()` names no field", help);
        }
        for path in paths {
            match field_path(path) {
                Some(names) if self.indexes.contains(&names) => {
                    let message = format!("`{}` is given twice", joined(&names));
                    errors.push(&path.tokens, message, "remove it");
                }
                Some(names) => self.indexes.push(names),
                None => {
                    self.unreadable = true;
                    errors.push(&path.tokens, "expected the name of a field", help);
                }
            }
        }
    }

    /// `unique = user`
    fn add_unique(&mut self, field: &TokenStream, entry: &Entry, errors: &mut Errors) {
        let name = Ident::parse_any.parse2(field.clone()).ok();
        self.unique = name.and_then(|name| field_ident(&name.unraw().to_string(), name.span()));
        if self.unique.is_none() {
            errors.push(
                &entry.tokens,
                "`unique` needs the name of a field of the items",
                "#[outlier(items, unique = user)], or `unique` alone for items that are single values",
            );
        }
    }
}

/// `dealer.home_city`, with the identifiers of fields.
fn field_path(path: &Entry) -> Option<Vec<Ident>> {
    let names = Punctuated::<Ident, Token![.]>::parse_separated_nonempty_with;
    let names = (|input: ParseStream<'_>| names(input, Ident::parse_any))
        .parse2(path.tokens.clone())
        .ok()?;
    let field = |name: Ident| field_ident(&name.unraw().to_string(), name.span());
    names.into_iter().map(field).collect()
}

fn joined(names: &[Ident]) -> String {
    let names = names.iter().map(|name| name.unraw().to_string());
    Vec::from_iter(names).join(".")
}

/// Reports attributes of this derive where none can stand; `owner` is what may have one.
pub(crate) fn check_no_attribute(
    attrs: &[Attribute],
    derive: &Derive,
    owner: &str,
    errors: &mut Errors,
) {
    let own = |attr: &&Attribute| attr.path().is_ident(derive.attribute);
    for attr in attrs.iter().filter(own) {
        let message = format!("`{}` belongs to {owner}", derive.attribute);
        errors.push(attr, message, "remove it: fields are read by their names");
    }
}

impl Derive {
    /// The attribute with its first word, as help lines show it.
    fn mark(&self) -> String {
        let word = self.words.first().copied().unwrap_or_default();
        format!("#[{}({word})]", self.attribute)
    }

    fn words_listed(&self) -> String {
        match self.words {
            [word] => format!("`{word}`"),
            words => format!("one of `{}`", words.join("`, `")),
        }
    }

    /// Reports the word, and returns the one that the user probably means.
    fn unknown_word(&self, key: &Ident, errors: &mut Errors) -> Option<&'static str> {
        let name = key.to_string();
        let message = format!("unknown word `{name}` on a field");
        if let Some((_, usage)) = self.keys.iter().find(|(known, _)| *known == name) {
            let help = format!(
                "it is a key of the struct's attribute: #[{}({usage})]",
                self.attribute
            );
            errors.push(key, message, help);
            return None;
        }
        let limits = self.limits.iter().map(|(known, _)| *known);
        let words = Vec::from_iter(self.words.iter().copied().chain(limits));
        let meant = did_you_mean(&name, words.iter().copied());
        let help = match meant {
            _ if ["mean", "avg", "average"].contains(&&*name) && words.contains(&"sum") => {
                format!("`sum` keeps the mean, too: #[{}(sum)]", self.attribute)
            }
            _ => help_for(&name, "words", &words),
        };
        errors.push(key, message, help);
        meant.filter(|meant| self.words.contains(meant))
    }
}
