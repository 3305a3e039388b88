//! `#[bucket(sum, min, max)]` on a field.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Attribute, Meta, ext::IdentExt};

use super::BUCKET;
use crate::{
    errors::Errors,
    list::{self, Entry, Value},
};

/// What buckets keep about a field: the words that say it.
#[derive(Default)]
pub(crate) struct RollupAttr {
    pub(crate) sum: Option<Ident>,
    pub(crate) min: Option<Ident>,
    pub(crate) max: Option<Ident>,
}

impl RollupAttr {
    pub(crate) fn parse(field: &syn::Field, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        let own = |attr: &&Attribute| attr.path().is_ident(BUCKET.attribute);
        for attr in field.attrs.iter().filter(own) {
            let entries = list::of_attributes(std::slice::from_ref(attr), BUCKET.attribute);
            // `#[bucket]`, `#[bucket()]` and `#[bucket = …]` ask for nothing.
            if entries.is_empty() {
                let at: &Meta = &attr.meta;
                errors.push(
                    at,
                    "`bucket` on a field must say what buckets keep about it",
                    "#[bucket(sum, min, max)]",
                );
            }
            for entry in entries {
                parsed.add(field, &entry, errors);
            }
        }
        parsed
    }

    /// The first word.
    pub(crate) fn first(&self) -> Option<&Ident> {
        [&self.sum, &self.min, &self.max]
            .into_iter()
            .flatten()
            .next()
    }

    fn add(&mut self, field: &syn::Field, entry: &Entry, errors: &mut Errors) {
        let Some(key) = &entry.key else {
            errors.push(
                &entry.tokens,
                "expected `sum`, `min` or `max`",
                "#[bucket(sum, min, max)]",
            );
            return;
        };
        if key == "key" {
            let name = field.ident.as_ref().map(IdentExt::unraw);
            let help = format!("id = \"{{{}}}_{{#}}\"", name.to_token_stream());
            errors.push(key, "the id format names the key fields", help);
            return;
        }
        let Some(word) = BUCKET.word(key, errors) else {
            return;
        };
        if key == word && !matches!(entry.value, Value::None) {
            errors.push(
                &entry.tokens,
                format_args!("`{word}` on a field takes no value"),
                format_args!("#[bucket({word})]"),
            );
        }
        let mark = match word {
            "sum" => &mut self.sum,
            "min" => &mut self.min,
            _ => &mut self.max,
        };
        if mark.is_some() {
            errors.push(
                key,
                format_args!("`{word}` is given twice"),
                format_args!("keep one `{word}`"),
            );
        }
        mark.get_or_insert_with(|| key.clone());
    }
}
