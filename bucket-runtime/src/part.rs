//! The trait behind `#[derive(BucketPart)]`.

use serde::de::MapAccess;

use crate::{Bucket, read::part::PartReader};

/// Some fields of an item, for reads that need no others: the server sends only these.
///
/// Derive it, and read with [`Items::parts`](crate::action::Items::parts). A field has the name and the
/// type of a field of the bucket's struct, which the compiler checks, and is read as that one is: under the
/// same stored name and its aliases, by the same `with`, and with the same default. Key fields may be among
/// the fields.
///
/// Serde attributes of the part itself say how serde writes it, for example as JSON. Those that only say how
/// serde reads (`default`, `alias` and the like) are refused, since they would do nothing.
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
///
/// You can also write by hand what the derive writes:
///
/// ```
/// use bucket_runtime::{Bucket, BucketPart, PartReader, PartValue, bson::DateTime};
/// use serde::de::MapAccess;
///
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 1000)]
/// # struct Trade { customer_id: i64, date: DateTime, ticker: String, quantity: i32 }
/// struct Quote {
///     customer_id: i64,
///     ticker: String,
/// }
///
/// impl BucketPart for Quote {
///     type Of = Trade;
///     const NAMES: &'static [&'static [&'static str]] = &[&["customer_id"], &["ticker"]];
///     type Element = (PartValue<i64>, PartValue<String>);
///
///     fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self::Element, A::Error> {
///         let customer_id = fields.field(&Trade::FIELDS.customer_id);
///         let customer_id = customer_id.of_item(|source| source.value())?;
///         let ticker = fields.field(&Trade::FIELDS.ticker);
///         let ticker = ticker.of_item(|source| source.value())?;
///         Ok((customer_id, ticker))
///     }
///     fn from_parts(key: &(i64,), (customer_id, ticker): Self::Element) -> Self {
///         Quote {
///             customer_id: customer_id.or_of_key::<Trade>(key),
///             ticker: ticker.or_of_key::<Trade>(key),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of an item",
    label = "`BucketPart` is not implemented for this type",
    note = "help: add `#[derive(BucketPart)]` and `#[part(of = …)]` to the struct"
)]
pub trait BucketPart: Sized + Send + 'static {
    /// The struct that it is a part of.
    type Of: Bucket;

    /// The stored names of each field.
    const NAMES: &'static [&'static [&'static str]];

    /// The values of the fields, as [`read`](Self::read) gives them.
    type Element: Send + 'static;

    /// Reads the fields of an element. Key fields are not there.
    ///
    /// # Errors
    ///
    /// If a value is missing, or cannot be read.
    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self::Element, A::Error>;

    /// Makes a part of an item's key and of its element.
    fn from_parts(key: &<Self::Of as Bucket>::Key, element: Self::Element) -> Self;
}
