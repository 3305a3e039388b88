//! `#[outlier(…)]` on the struct.

use proc_macro2::TokenStream;
use syn::{DeriveInput, LitStr, Path};

use super::{Derive, Given, Limit, Spanned, Written, import, krate};
use crate::errors::Errors;

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
        ("max_bytes", "max_bytes = 1_000_000"),
        ("flag", r#"flag = "has_extras""#),
        ("extra_items", r#"extra_items = "items_extra""#),
        ("crate", "crate = ::bucket_runtime"),
    ],
    words: &["items", "flag", "index"],
    limits: &[("max_len", "max_len = 40")],
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
    pub(crate) max_bytes: Option<Spanned<Limit>>,
    pub(crate) flag: Option<Spanned<LitStr>>,
    pub(crate) extra_items: Option<Spanned<LitStr>>,
    krate: Option<Spanned<Path>>,
}

impl OutlierAttr {
    pub(crate) fn parse(input: &DeriveInput, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        let add = |given, errors: &mut Errors| parsed.add(given, errors);
        parsed.written = OUTLIER.read(&input.attrs, errors, add);
        parsed
    }

    /// What generated code begins with.
    pub(crate) fn import(&self) -> TokenStream {
        import(self.krate.as_ref(), self.written.name.as_ref())
    }

    /// The name of the runtime in generated code.
    pub(crate) fn krate(&self) -> Path {
        krate()
    }

    fn add(&mut self, given: Given, errors: &mut Errors) {
        match given.key.to_string().as_str() {
            "collection" => self.collection = given.string(errors),
            "extras" => self.extras = given.string(errors),
            "reference" => self.reference = given.string(errors),
            "threshold" => self.threshold = given.limit(errors),
            "extras_capacity" => self.extras_capacity = given.limit(errors),
            "max_bytes" => self.max_bytes = given.limit(errors),
            "flag" => self.flag = given.string(errors),
            "extra_items" => self.extra_items = given.string(errors),
            _ => self.krate = given.path(errors),
        }
    }
}
