//! `#[outlier(…)]` on the struct.

use syn::LitStr;

use super::{Limit, table::attribute};

attribute! {
    /// `#[outlier(…)]`, as far as it could be read.
    OutlierAttr,
    OUTLIER {
        name: "Outlier",
        attribute: "outlier",
        usage: r#"#[outlier(collection = "books", reference = "book_id", threshold = 50)]"#,
        words: &["items", "flag", "total", "index", "unique"],
        limits: &[("max_len", "max_len = 40")],
    }
    collection: LitStr = r#"collection = "books""#,
    extras: LitStr = r#"extras = "extra_books""#,
    reference: LitStr = r#"reference = "book_id""#,
    threshold: Limit = "threshold = 50",
    extras_capacity: Limit = "extras_capacity = 1000",
    max_bytes: Limit = "max_bytes = 1_000_000",
    flag: LitStr = r#"flag = "has_extras""#,
    extra_items: LitStr = r#"extra_items = "items_extra""#,
}
