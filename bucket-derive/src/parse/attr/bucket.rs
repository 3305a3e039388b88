//! `#[bucket(…)]`.

use proc_macro2::TokenStream;
use syn::{DeriveInput, LitStr, Path};

use super::{Derive, Given, Limit, Spanned, Written, import, krate};
use crate::errors::Errors;

pub(crate) const BUCKET: Derive = Derive {
    name: "Bucket",
    attribute: "bucket",
    usage: r#"#[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 100)]"#,
    keys: &[
        ("collection", r#"collection = "trades""#),
        ("id", r#"id = "{customer_id}_{date}""#),
        ("capacity", "capacity = 100"),
        ("max_bytes", "max_bytes = 1_000_000"),
        ("items", r#"items = "history""#),
        ("count", r#"count = "size""#),
        ("expire_after", r#"expire_after = "90d""#),
        ("window", r#"window = "window""#),
        ("rollup", r#"rollup = "rollup""#),
        ("crate", "crate = ::bucket_runtime"),
    ],
    words: &["index", "unique", "sum", "min", "max"],
    limits: &[("max_len", "max_len = 64")],
};

/// `#[bucket(…)]`, as far as it could be read.
#[derive(Default)]
pub(crate) struct BucketAttr {
    pub(crate) written: Written,
    pub(crate) collection: Option<Spanned<LitStr>>,
    pub(crate) id: Option<Spanned<LitStr>>,
    pub(crate) capacity: Option<Spanned<Limit>>,
    pub(crate) max_bytes: Option<Spanned<Limit>>,
    pub(crate) items: Option<Spanned<LitStr>>,
    pub(crate) count: Option<Spanned<LitStr>>,
    pub(crate) expire_after: Option<Spanned<LitStr>>,
    pub(crate) window: Option<Spanned<LitStr>>,
    pub(crate) rollup: Option<Spanned<LitStr>>,
    krate: Option<Spanned<Path>>,
}

impl BucketAttr {
    pub(crate) fn parse(input: &DeriveInput, errors: &mut Errors) -> Self {
        let mut parsed = Self::default();
        let add = |given, errors: &mut Errors| parsed.add(given, errors);
        parsed.written = BUCKET.read(&input.attrs, errors, add);
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
            "id" => self.id = given.string(errors),
            "items" => self.items = given.string(errors),
            "count" => self.count = given.string(errors),
            "expire_after" => self.expire_after = given.string(errors),
            "window" => self.window = given.string(errors),
            "rollup" => self.rollup = given.string(errors),
            "capacity" => self.capacity = given.limit(errors),
            "max_bytes" => self.max_bytes = given.limit(errors),
            _ => self.krate = given.path(errors),
        }
    }
}
