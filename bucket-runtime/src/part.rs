//! The trait behind `#[derive(BucketPart)]`.

use serde::de::DeserializeOwned;

use crate::Bucket;

/// Some fields of an item, for reads that need no others: the server sends only these.
///
/// Derive it, and read with [`Items::parts`](crate::action::Items::parts). The compiler compares each
/// field with the bucket's struct: it must have the same name, the same type and the same serde name, so
/// repeat `#[serde(rename = "…")]` and `rename_all`, and `alias`, `with` and `default` if the struct has
/// them. Key fields may be among the fields.
///
/// ```no_run
/// use bucket_runtime::{Bucket, BucketPart, bson::DateTime};
/// use futures_util::TryStreamExt;
///
/// #[derive(Bucket)]
/// #[serde(rename_all = "camelCase")]
/// #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 1000)]
/// struct Trade {
///     customer_id: i64,
///     date: DateTime,
///     ticker: String,
///     quantity: i32,
///     note: String,
/// }
///
/// #[derive(Debug, BucketPart)]
/// #[serde(rename_all = "camelCase")]
/// #[part(of = Trade)]
/// struct Quote {
///     date: DateTime,
///     ticker: String,
/// }
///
/// # async fn example(db: bucket_runtime::mongodb::Database) -> bucket_runtime::Result<()> {
/// let trades = Trade::buckets(&db).await?;
/// let mut quotes = trades.items(&123).parts::<Quote>().await?;
/// while let Some(quote) = quotes.try_next().await? {
///     println!("{} {}", quote.date, quote.ticker);
/// }
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of an item",
    label = "`BucketPart` is not implemented for this type",
    note = "help: add `#[derive(BucketPart)]` and `#[part(of = …)]` to the struct"
)]
pub trait BucketPart: Sized + Send + 'static {
    /// The struct that it is a part of.
    type Of: Bucket;

    /// The stored names of its fields.
    const NAMES: &'static [&'static str];

    /// The type that the stored fields are read into, without the key fields.
    type Element: DeserializeOwned + Send + 'static;

    /// Makes a part of an item's key and of its element.
    fn from_parts(key: &<Self::Of as Bucket>::Key, element: Self::Element) -> Self;
}
