//! The trait behind `#[derive(OutlierPart)]`, and reads of parts of parents.

use mongodb::{
    ClientSession,
    bson::Document,
    options::{ReadConcern, ReadPreference},
};
use serde::{Deserialize, Deserializer, de::MapAccess};

use super::{
    Outlier,
    read::{Find, Reading},
    stream::FindStream,
};
use crate::{
    Error, Result,
    read::part::{PartReader, ReadPart, read_part},
    schema::spec::KeyName,
};

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

/// A parent that is read into a part.
pub(super) struct ParentPart<P>(pub(super) P);

impl<P: OutlierPart> ReadPart for ParentPart<P> {
    const NAMES: &'static [&'static [&'static str]] = P::NAMES;
    const KEYS: &'static [KeyName] = &[];

    fn read<'de, A: MapAccess<'de>>(fields: &mut PartReader<A>) -> Result<Self, A::Error> {
        P::read(fields).map(Self)
    }
}

impl<'de, P: OutlierPart> Deserialize<'de> for ParentPart<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_part(deserializer)
    }
}

/// Builder of a find of some fields of parents: await it; see [`Find::parts`]. The output is a
/// [`FindStream`] of [`Parent`](crate::Parent)s, each with a part as its document.
#[must_use = "nothing is read until this is awaited"]
pub struct FindParts<'s, P: OutlierPart>(Find<'s, P::Of>);

impl<'s, P: OutlierPart> FindParts<'s, P> {
    pub(super) fn new(find: Find<'s, P::Of>) -> Self {
        Self(find.only(&P::NAMES.concat()))
    }

    /// The order of the parents, as [`Find::sort`] says it.
    pub fn sort(self, sort: Document) -> Self {
        Self(self.0.sort(sort))
    }

    /// Skips the first parents.
    pub fn skip(self, parents: u64) -> Self {
        Self(self.0.skip(parents))
    }

    /// Ends after this many parents.
    pub fn limit(self, parents: i64) -> Self {
        Self(self.0.limit(parents))
    }

    /// Reads from these members, as [`Find::read_preference`] does.
    pub fn read_preference(self, preference: ReadPreference) -> Self {
        Self(self.0.read_preference(preference))
    }

    /// Reads with this concern, as [`Find::read_concern`] does.
    pub fn read_concern(self, concern: ReadConcern) -> Self {
        Self(self.0.read_concern(concern))
    }

    /// Reads in this session, which the stream borrows.
    pub fn session(self, session: impl Into<&'s mut ClientSession>) -> Self {
        Self(self.0.session(session))
    }

    /// Leaves out the parents that cannot be read, as [`Find::skip_unreadable`] does.
    pub fn skip_unreadable(self, tell: impl FnMut(Error) + Send + 's) -> Self {
        Self(self.0.skip_unreadable(tell))
    }

    pub(crate) async fn execute(self) -> Result<FindStream<'s, P>> {
        self.0.read(Reading::PART).await
    }
}
