//! `#[bucket(…)]` on the struct.

use syn::LitStr;

use super::{Limit, table::attribute};

attribute! {
    /// `#[bucket(…)]`, as far as it could be read.
    BucketAttr,
    BUCKET {
        name: "Bucket",
        attribute: "bucket",
        usage: r#"#[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 100)]"#,
        words: &["index", "unique", "sum", "min", "max"],
        limits: &[("max_len", "max_len = 64")],
    }
    collection: LitStr = r#"collection = "trades""#,
    id: LitStr = r#"id = "{customer_id}_{date}""#,
    capacity: Limit = "capacity = 100",
    max_bytes: Limit = "max_bytes = 1_000_000",
    items: LitStr = r#"items = "history""#,
    count: LitStr = r#"count = "size""#,
    expire_after: LitStr = r#"expire_after = "90d""#,
    window: LitStr = r#"window = "window""#,
    rollup: LitStr = r#"rollup = "rollup""#,
}
