//! The outlier pattern: the trait behind `#[derive(Outlier)]`, and what its calls do.

mod advice;
mod advise;
pub(crate) mod command;
mod core;
mod delete;
mod extra;
mod filter;
mod handle;
mod insert;
mod known;
mod open;
mod pages;
mod push;
mod read;
mod split;
mod state;
mod stream;
mod unreadable;
mod verify;

use mongodb::{Collection, Database, bson::Document};
use serde::{Serialize, de::DeserializeOwned};

use self::extra::Extra;
pub use self::{
    advice::{Advice, Candidate},
    advise::Advise,
    delete::{Delete, Remove},
    filter::ParentFilter,
    handle::Outliers,
    insert::Insert,
    open::OpenOutliers,
    push::{Push, PushMany, PushManyError},
    read::{CountValues, Find, Get, GetAll, Parent},
    split::{SplitExisting, SplitProgress},
    stream::{Extras, ExtrasPage, ExtrasStream, FindStream, ValueStream, Values},
    verify::{OutlierProblem, Repair, Verify},
};
use crate::{
    Bucket,
    maintain::create::{CreateCollections, NewCollection},
    protocol::validator,
    schema::{key::KeyField, size::TooLong, spec::OutlierSpec},
};

/// The id of a parent as callers pass it: `&2`, `"invisible-cities"`.
pub type IdRef<'i, T> = &'i <<T as Outlier>::Id as KeyField>::Borrowed;

/// A document with one array that may grow without bound.
///
/// Derive it, together with serde's two derives. What the derive writes can be written by hand:
///
/// ```
/// use bucket_runtime::{Field, IdRef, Outlier, OutlierSpec};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i64,
///     title: String,
///     customers_purchased: Vec<String>,
/// }
///
/// struct BookFields {
///     title: Field<Book, String>,
/// }
///
/// impl Outlier for Book {
///     const SPEC: OutlierSpec = OutlierSpec::new(
///         "sales",
///         "extra_sales",
///         "book_id",
///         "customers_purchased",
///         "customers_purchased_extra",
///         50,
///     );
///     type Id = i64;
///     type Item = String;
///     type Fields = BookFields;
///     const FIELDS: BookFields = BookFields { title: Field::new("title") };
///
///     fn id(&self) -> IdRef<'_, Self> {
///         &self.id
///     }
///     fn items_mut(&mut self) -> &mut Vec<String> {
///         &mut self.customers_purchased
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored by the outlier pattern",
    label = "`Outlier` is not implemented for this type",
    note = "help: add `#[derive(Outlier)]` and `#[outlier(…)]` to the struct"
)]
pub trait Outlier: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// How the struct is stored.
    const SPEC: OutlierSpec;

    /// The type of the field that is stored as `_id`. Its serde form must be its
    /// [`KeyField::to_bson`] form, as it is for all types of this crate.
    type Id: KeyField;

    /// The type of the array's items.
    type Item: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static;

    /// The fields that conditions can name: the type of [`FIELDS`](Self::FIELDS).
    type Fields;

    /// The fields of a parent by their Rust names, for typed conditions:
    /// `Book::FIELDS.year.gte(2020)`. A condition on the array sees what the parent itself holds.
    const FIELDS: Self::Fields;

    /// The parent's id.
    fn id(&self) -> IdRef<'_, Self>;

    /// The parent's array, to be joined with its extras.
    fn items_mut(&mut self) -> &mut Vec<Self::Item>;

    /// A field whose value is longer than it may be (`#[outlier(max_len = …)]`), if there is one, or
    /// an item that is: the parent is then refused before anything is sent.
    fn too_long(&self) -> Option<TooLong> {
        None
    }

    /// Whether an item is longer than it may be (`#[outlier(items, max_len = …)]`): it is then refused
    /// before anything is sent.
    fn item_too_long(item: &Self::Item) -> Option<TooLong> {
        let _ = item;
        None
    }

    /// A validator for the parents' collection, with which the server refuses an array that is longer
    /// than the threshold (O2), whoever pushes to it. It asks that the array is one, and that the id
    /// has the type that it is stored in (numbers of any type), and nothing else.
    ///
    /// What this library writes is never refused, provided that the validator has the struct's
    /// threshold. Use it at `validationLevel: "moderate"`: parents from before that are too long
    /// may then be written until they are split.
    fn validator() -> Document {
        validator::of_parent(&Self::SPEC, Self::Id::BSON_TYPE)
    }

    /// A validator for the extras, which are buckets: see
    /// [`Bucket::validator`](crate::Bucket::validator). It refuses the manual's own extras documents,
    /// which have no count.
    fn extras_validator() -> Document {
        Extra::<Self>::validator()
    }

    /// Makes the struct's two collections with their validators, before
    /// [`outliers`](Self::outliers) opens them; for each of them as
    /// [`Bucket::create_collection`](crate::Bucket::create_collection), the parents first.
    ///
    /// For parents that are there already: once they have the validator, a program that pushes
    /// without a look at the threshold is refused, so let all writers use this library first.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Outlier, mongodb::Database};
    /// # async fn example<Book: Outlier>(db: Database) -> bucket_runtime::Result<()> {
    /// Book::create_collections(&db).await?;
    /// let books = Book::outliers(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn create_collections(db: &Database) -> CreateCollections {
        Self::create_collections_in(
            db.collection::<Self>(Self::SPEC.collection),
            db.collection::<Self>(Self::SPEC.extras),
        )
    }

    /// Makes two collections of your choice, the parents' and the extras', for
    /// [`outliers_in`](Self::outliers_in). Otherwise like
    /// [`create_collections`](Self::create_collections).
    fn create_collections_in<C: Send + Sync>(
        parents: Collection<C>,
        extras: Collection<C>,
    ) -> CreateCollections {
        let (parents, extras) = (parents.clone_with_type(), extras.clone_with_type());
        let spec = Extra::<Self>::SPEC;
        CreateCollections::new([
            NewCollection::of_parents(parents, Self::validator()),
            NewCollection::of_buckets(extras, Self::extras_validator(), &spec),
        ])
    }

    /// Opens the struct's two collections: awaiting it gives the [`Outliers`] to push to and read
    /// from.
    ///
    /// Makes sure that the indexes of the extras are there, and that the server does what the protocol
    /// needs: four round trips where they are, up to seven where they have to be made, two more behind a
    /// `mongos`. For indexes of the parents one or two more.
    ///
    /// # Errors
    ///
    /// As of [`Bucket::buckets`](crate::Bucket::buckets), for the collection of the extras.
    fn outliers(db: &Database) -> OpenOutliers<Self> {
        Self::outliers_in(
            db.collection::<Self>(Self::SPEC.collection),
            db.collection::<Self>(Self::SPEC.extras),
        )
    }

    /// Opens two collections of your choice, the parents' and the extras', with the read
    /// preference and the concerns of those handles.
    fn outliers_in<C: Send + Sync>(
        parents: Collection<C>,
        extras: Collection<C>,
    ) -> OpenOutliers<Self> {
        OpenOutliers::new(parents.clone_with_type(), extras.clone_with_type())
    }

    /// Looks at a collection that exists, and tells how long its arrays are and which threshold
    /// suits them: step one of the pattern. It reads all parents, with the server doing the
    /// counting; nothing is changed. Of a parent that has extras already it sees what is left.
    ///
    /// ```no_run
    /// # use bucket_runtime::Outlier;
    /// # async fn example<Book: Outlier>(db: bucket_runtime::mongodb::Database) -> bucket_runtime::Result<()> {
    /// let advice = Book::advise(&db).await?;
    /// println!("{advice}");
    /// # Ok(())
    /// # }
    /// ```
    fn advise(db: &Database) -> Advise {
        Advise::new(db.collection(Self::SPEC.collection), Self::SPEC.items)
    }
}
