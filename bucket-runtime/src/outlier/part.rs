//! The trait behind `#[derive(OutlierPart)]`.

use serde::de::MapAccess;

use super::Outlier;
use crate::read::part::PartReader;

/// Some fields of a parent, for reads that need no others: the server sends only these.
///
/// Derive it, and read with [`Find::parts`](crate::action::Find::parts). A field has the name and the type
/// of a field of the parent's struct, and is read as that one is; its serde attributes are those of
/// [`BucketPart`](crate::BucketPart).
///
/// ```no_run
/// use bucket_runtime::{Outlier, OutlierPart};
/// use futures_util::TryStreamExt;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Outlier)]
/// #[outlier(collection = "books", reference = "book_id", threshold = 50)]
/// struct Book {
///     _id: i64,
///     title: String,
///     year: i32,
///     #[outlier(items)]
///     buyers: Vec<String>,
/// }
///
/// #[derive(OutlierPart)]
/// #[part(of = Book)]
/// struct Title {
///     _id: i64,
///     title: String,
/// }
///
/// # async fn example(db: bucket_runtime::mongodb::Database) -> bucket_runtime::Result<()> {
/// let books = Book::outliers(&db).await?;
/// let mut titles = books.find(Book::FIELDS.year.gte(2020)).parts::<Title>().await?;
/// while let Some(title) = titles.try_next().await? {
///     println!("{} {}", title.document.title, if title.has_extras { "…" } else { "" });
/// }
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of a parent",
    label = "`OutlierPart` is not implemented for this type",
    note = "help: add `#[derive(OutlierPart)]` and `#[part(of = …)]` to the struct"
)]
pub trait OutlierPart: Sized + Send + 'static {
    /// The struct that it is a part of.
    type Of: Outlier;

    /// The stored names of each field.
    const NAMES: &'static [&'static [&'static str]];

    /// Reads the fields of a parent.
    ///
    /// # Errors
    ///
    /// If a value is missing, or cannot be read.
    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error>;
}
