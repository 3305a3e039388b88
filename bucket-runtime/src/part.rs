//! The trait behind `#[derive(Part)]`.

use serde::de::value::Error;

use crate::read::part::PartReader;

/// Some fields of a struct, for reads that need no others: the server sends only these.
///
/// Derive it, and read with `parts`. A field has the name and the type of a field of the whole
/// struct, which the compiler checks, and is read as that one is: under the same stored name and
/// its aliases, by the same `with`, and with the same default. Key fields of a bucket may be among
/// the fields.
///
/// Serde attributes of the part itself say how serde writes it, for example as JSON. Those that
/// only say how serde reads (`default`, `alias` and the like) are refused, since they would do
/// nothing.
///
/// ```no_run
/// use bucket_runtime::{Bucket, Part, bson::DateTime};
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
/// #[derive(Debug, Part)]
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
/// The whole struct derives [`Bucket`](crate::Bucket), as here, [`Outlier`](crate::Outlier), for
/// [parents](crate::action::Find::parts), or [`Fields`](trait@crate::Fields), for the [items of a
/// parent](crate::action::ParentItems::parts). Where it derives several of them, the part is one of
/// a bucket's items or, failing that, of a parent.
///
/// You can also write by hand what the derive writes:
///
/// ```
/// use bucket_runtime::{Bucket, Part, PartReader, PartSource, bson::DateTime};
/// use serde::de::value::Error;
///
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 1000)]
/// # struct Trade { customer_id: i64, date: DateTime, ticker: String, quantity: i32 }
/// struct Quote {
///     customer_id: i64,
///     ticker: String,
/// }
///
/// impl Part for Quote {
///     type Of = Trade;
///     const NAMES: &'static [&'static [&'static str]] = &[&["customer_id"], &["ticker"]];
///
///     fn read(reader: &PartReader<'_>) -> Result<Self, Error> {
///         Ok(Quote {
///             customer_id: reader.field(&Trade::FIELDS.customer_id)?.read(PartSource::value)?,
///             ticker: reader.field(&Trade::FIELDS.ticker)?.read(PartSource::value)?,
///         })
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of another struct",
    label = "`Part` is not implemented for this type",
    note = "help: add `#[derive(Part)]` and `#[part(of = …)]` to the struct"
)]
pub trait Part: Sized + Send + 'static {
    /// The struct that it is a part of.
    type Of;

    /// The stored names of each field.
    const NAMES: &'static [&'static [&'static str]];

    /// Reads the fields.
    ///
    /// # Errors
    ///
    /// If a value is missing, or cannot be read.
    fn read(reader: &PartReader<'_>) -> Result<Self, Error>;
}
