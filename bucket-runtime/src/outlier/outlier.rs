//! The trait behind `#[derive(Outlier)]`.

use bucket_core::{
    protocol::{
        indexes::required::{self, RequiredIndex},
        validator,
    },
    schema::{key::KeyField, size::TooLong, spec::OutlierSpec},
    value::read_back::Flattened,
};
use mongodb::{Collection, Database, bson::Document};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    extra::ExtraItem,
    open::{OpenOutliers, open_outliers},
};
use crate::{
    Bucket,
    open::create::{CreateCollections, NewCollection, create_all},
};

/// The id of a parent as callers pass it: `&2`, `"invisible-cities"`.
pub type IdRef<'i, T> = &'i <<T as Outlier>::Id as KeyField>::Borrowed;

/// A parent whose items have an identity. The derive implements it for a struct whose array is
/// marked with `#[outlier(items, unique = …)]`.
#[diagnostic::on_unimplemented(
    message = "the items of `{Self}` have no identity",
    label = "its items are not `unique`",
    note = "help: name the field that tells the items apart, `#[outlier(items, unique = user)]`, or write `unique` alone for items that are single values"
)]
pub trait IdentifiedItems: Outlier {}

/// A document with one array that may grow without bound.
///
/// Derive it, together with serde's two derives. You can also write by hand what the derive writes:
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

    /// The type of the field stored as `_id`. Its serde form must be its [`KeyField::to_bson`]
    /// form, as it is for all types of this crate.
    type Id: KeyField;

    /// The type of the array's items.
    type Item: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static;

    /// The fields that conditions can name: the type of [`FIELDS`](Self::FIELDS).
    type Fields;

    /// The fields of a parent by their Rust names, for typed conditions:
    /// `Book::FIELDS.year.gte(2020)`. A condition on the array sees only the parent's own items,
    /// not its extras.
    const FIELDS: Self::Fields;

    /// The parent's id.
    fn id(&self) -> IdRef<'_, Self>;

    /// The parent's array, to which reads add its extras.
    fn items_mut(&mut self) -> &mut Vec<Self::Item>;

    /// A field or an item that is longer than its `max_len` (`#[outlier(max_len = …)]`), if there
    /// is one: the parent is then refused before anything is sent.
    fn too_long(&self) -> Option<TooLong> {
        None
    }

    /// Whether an item is longer than its `max_len` (`#[outlier(items, max_len = …)]`): it is then
    /// refused before anything is sent.
    fn item_too_long(item: &Self::Item) -> Option<TooLong> {
        let _ = item;
        None
    }

    #[doc(hidden)]
    const FLATTENED: Option<Flattened<Self>> = None;

    /// A validator for the parents' collection. With it, the server refuses an array longer than
    /// the threshold (O2) from every program. It also requires that the field is an array and that
    /// the id has its stored type (numbers of any type), and nothing else.
    ///
    /// It never refuses what this library writes, provided that it has the struct's threshold. Use
    /// it at `validationLevel: "moderate"`: older parents that are too long may then be written
    /// until they are split.
    fn validator() -> Document {
        validator::of_parent(&Self::SPEC, Self::Id::BSON_TYPE)
    }

    /// A validator for the extras, which are buckets: see
    /// [`Bucket::validator`](crate::Bucket::validator). It refuses the manual's own extras
    /// documents, which have no count.
    fn extras_validator() -> Document {
        ExtraItem::<Self>::validator()
    }

    /// Creates the struct's two collections with their validators, before
    /// [`outliers`](Self::outliers) opens them; each as
    /// [`Bucket::create_collection`](crate::Bucket::create_collection) does, the parents first.
    ///
    /// If there are parents already: once they have the validator, a program that pushes without
    /// checking the threshold is refused, so let all writers use this library first.
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

    /// Creates two collections of your choice, the parents' and the extras', for
    /// [`outliers_in`](Self::outliers_in). Otherwise like
    /// [`create_collections`](Self::create_collections).
    fn create_collections_in<C: Send + Sync>(
        parents: Collection<C>,
        extras: Collection<C>,
    ) -> CreateCollections {
        let (parents, extras) = (parents.clone_with_type(), extras.clone_with_type());
        let spec = ExtraItem::<Self>::SPEC;
        create_all([
            NewCollection::of_parents(parents, Self::validator()),
            NewCollection::of_buckets(extras, Self::extras_validator(), &spec),
        ])
    }

    /// The indexes that the two collections need, for somebody else to create before
    /// [`outliers`](Self::outliers) opens them: as models of the driver, and as text for MongoDB's
    /// shell.
    fn indexes() -> Vec<RequiredIndex> {
        required::of_outlier(&Self::SPEC, &ExtraItem::<Self>::SPEC)
    }

    /// Opens the struct's two collections: awaiting it gives the [`Outliers`](crate::Outliers) to
    /// push to and read from.
    ///
    /// It makes sure that the indexes of the extras exist, and that the server supports what the
    /// protocol needs: three round trips if the indexes exist, five if they have to be created,
    /// five behind a `mongos`. Indexes of the parents take one or two more.
    ///
    /// # Errors
    ///
    /// Those of [`Bucket::buckets`](crate::Bucket::buckets), for the extras collection.
    fn outliers(db: &Database) -> OpenOutliers<Self> {
        Self::outliers_in(
            db.collection::<Self>(Self::SPEC.collection),
            db.collection::<Self>(Self::SPEC.extras),
        )
    }

    /// Opens two collections of your choice, the parents' and the extras', with the read preference
    /// and the concerns of those handles.
    fn outliers_in<C: Send + Sync>(
        parents: Collection<C>,
        extras: Collection<C>,
    ) -> OpenOutliers<Self> {
        open_outliers(parents.clone_with_type(), extras.clone_with_type())
    }
}
