//! `#[outlier(…)]`, on the struct and on its fields.

use proc_macro2::Ident;
use syn::{Attribute, DeriveInput, LitStr, Meta, Path};

use super::{Derive, Given, Limit, Spanned, Written, krate};
use crate::{
    errors::Errors,
    list::{self, Entry, Value},
};

pub(crate) const OUTLIER: Derive = Derive {
    name: "Outlier",
    attribute: "outlier",
    usage: r#"#[outlier(collection = "books", reference = "book_id", threshold = 50)]"#,
    keys: &[
        ("collection", r#"collection = "books""#),
        ("extras", r#"extras = "extra_books""#),
        ("reference", r#"reference = "book_id""#),
        ("threshold", "threshold = 50"),
        ("extras_capacity", "extras_capacity = 1000"),
        ("flag", r#"flag = "has_extras""#),
        ("extra_items", r#"extra_items = "items_extra""#),
        ("crate", "crate = ::bucket_runtime"),
    ],
    words: &["items", "flag"],
};

/// `#[outlier(…)]` on the struct, as far as it could be read.
#[derive(Default)]
pub(crate) struct OutlierAttr {
    pub(crate) written: Written,
    pub(crate) collection: Option<Spanned<LitStr>>,
    pub(crate) extras: Option<Spanned<LitStr>>,
    pub(crate) reference: Option<Spanned<LitStr>>,
    pub(crate) threshold: Option<Spanned<Limit>>,
    pub(crate) extras_capacity: Option<Spanned<Limit>>,
    pub(crate) flag: Option<Spanned<LitStr>>,
    pub(crate) extra_items: Option<Spanned<LitStr>>,
    krate: Option<Spanned<Path>>,
}

/// `#[outlier(…)]` on a field: the words that mark it.
#[derive(Default)]
pub(crate) struct FieldAttr {
    pub(crate) items: Option<Ident>,
    pub(crate) flag: Option<Ident>,
    /// Something could not be read, so nobody knows what it was to mark.
    pub(crate) unreadable: bool,
}

impl OutlierAttr {
    pub(crate) fn parse(input: &DeriveInput, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        let add = |given, errors: &mut Errors| parsed.add(given, errors);
        parsed.written = OUTLIER.read(&input.attrs, errors, add);
        parsed
    }

    /// The path of the runtime.
    pub(crate) fn krate(&self) -> Path {
        krate(self.krate.as_ref())
    }

    fn add(&mut self, given: Given, errors: &mut Errors) {
        match given.key.to_string().as_str() {
            "collection" => self.collection = given.string(errors),
            "extras" => self.extras = given.string(errors),
            "reference" => self.reference = given.string(errors),
            "threshold" => self.threshold = given.limit(errors),
            "extras_capacity" => self.extras_capacity = given.limit(errors),
            "flag" => self.flag = given.string(errors),
            "extra_items" => self.extra_items = given.string(errors),
            _ => self.krate = given.path(errors),
        }
    }
}

impl FieldAttr {
    pub(crate) fn parse(field: &syn::Field, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        let own = |attr: &&Attribute| attr.path().is_ident(OUTLIER.attribute);
        for attr in field.attrs.iter().filter(own) {
            let entries = list::of_attributes(std::slice::from_ref(attr), OUTLIER.attribute);
            // `#[outlier]`, `#[outlier()]` and `#[outlier = …]` mark nothing.
            if entries.is_empty() {
                parsed.unreadable = true;
                let at: &Meta = &attr.meta;
                errors.push(
                    at,
                    "`outlier` on a field must say what the field is",
                    "#[outlier(items)]",
                );
            }
            for entry in entries {
                parsed.add(&entry, errors);
            }
        }
        parsed
    }

    fn add(&mut self, entry: &Entry, errors: &mut Errors) {
        let Some(key) = &entry.key else {
            self.unreadable = true;
            errors.push(
                &entry.tokens,
                "expected `items` or `flag`",
                "#[outlier(items)]",
            );
            return;
        };
        let name = key.to_string();
        let Some(meant) = OUTLIER.word(key, errors) else {
            self.unreadable = true;
            return;
        };
        if meant == name && !matches!(entry.value, Value::None) {
            errors.push(
                &entry.tokens,
                format_args!("`{name}` on a field takes no value"),
                format_args!("#[outlier({name})]"),
            );
        }
        let mark = match meant {
            "items" => &mut self.items,
            _ => &mut self.flag,
        };
        if mark.is_some() {
            errors.push(
                key,
                format_args!("`{meant}` is given twice"),
                format_args!("keep one `#[outlier({meant})]`"),
            );
        }
        mark.get_or_insert_with(|| key.clone());
    }
}
