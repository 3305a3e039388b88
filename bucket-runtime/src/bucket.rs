//! The trait behind `#[derive(Bucket)]`.

use bucket_core::{
    protocol::{
        command,
        indexes::required::{self, RequiredIndex},
        unwind, validator,
    },
    schema::{key::Key, size::TooLong, spec::BucketSpec},
    server::{Server, call::span},
    value::{read_back::Flattened, rollup::RollupFields},
};
use mongodb::{
    Collection, Database,
    bson::{Bson, DateTime, Document},
};
use serde::{Serializer, de::DeserializeOwned};

use crate::open::{
    OpenBuckets,
    create::{CreateCollections, NewCollection, create_all},
    open_buckets,
};

/// A key of `T` as callers pass it: `&123`, `"alice"`, or `("XETRA", &123)` for two key fields.
pub type KeyRef<'k, T> = <<T as Bucket>::Key as Key>::Ref<'k>;

/// An item whose buckets are time windows (`{at/1h}`). The derive implements it for such a struct.
#[diagnostic::on_unimplemented(
    message = "the buckets of `{Self}` are not time windows",
    label = "its id format does not end in a window",
    note = "help: end the id format in a window, such as `{{at/1h}}`"
)]
pub trait Windowed: Bucket {}

/// An item with a field that identifies it within its key. The derive implements it for a struct
/// with a field that is marked with `#[bucket(unique)]`.
#[diagnostic::on_unimplemented(
    message = "no field of `{Self}` identifies an item",
    label = "none of its fields is `unique`",
    note = "help: mark the field that identifies an item within its key: `#[bucket(unique)]`"
)]
#[doc(alias = "idempotent")]
pub trait Identified: Bucket {}

/// An item that is stored in buckets.
///
/// Derive it. You can also write by hand what the derive writes:
///
/// ```
/// use bucket_runtime::{Bucket, BucketSpec, Field, IdFormat, KeyName, KeyRef, Ordinal};
/// use bucket_runtime::mongodb::bson::DateTime;
/// use serde::{Deserialize, Serialize, Serializer};
///
/// struct Visit {
///     page: String,
///     at: DateTime,
///     user: i64,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct VisitElement {
///     at: DateTime,
///     user: i64,
/// }
///
/// struct VisitFields {
///     page: Field<Visit, String>,
///     user: Field<Visit, i64>,
/// }
///
/// impl Bucket for Visit {
///     // #[bucket(collection = "visits", id = "{page}_{at}", capacity = 100)]
///     const SPEC: BucketSpec = BucketSpec::new(
///         "visits",
///         IdFormat::new("", &["_"], Ordinal::Seconds),
///         100,
///         &[KeyName::new("page")],
///     );
///     type Key = (String,);
///     type Element = VisitElement;
///     type Fields = VisitFields;
///     const FIELDS: VisitFields = VisitFields { page: Field::key("page"), user: Field::new("user") };
///     type Rollups = ();
///
///     fn key(&self) -> KeyRef<'_, Self> {
///         &self.page
///     }
///     fn time(&self) -> Option<DateTime> {
///         Some(self.at)
///     }
///     fn serialize_element<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         VisitElement { at: self.at, user: self.user }.serialize(serializer)
///     }
///     fn from_parts((page,): Self::Key, element: VisitElement) -> Self {
///         Visit { page, at: element.at, user: element.user }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not stored in buckets",
    label = "`Bucket` is not implemented for this type",
    note = "help: add `#[derive(Bucket)]` and `#[bucket(…)]` to the struct"
)]
pub trait Bucket: Sized + Send + Sync + 'static {
    /// How the struct is stored.
    const SPEC: BucketSpec;

    /// The key fields as a tuple, in the order of the id format.
    type Key: Key;

    /// The type that stored elements are read into: the fields other than key fields.
    type Element: DeserializeOwned + Send + 'static;

    /// The fields that conditions can name: the type of [`FIELDS`](Self::FIELDS).
    type Fields;

    /// The fields by their Rust names, for typed conditions: `Trade::FIELDS.quantity.gte(100)`.
    ///
    /// Flattened fields, which have no name of their own, and fields that are not stored are
    /// missing here.
    const FIELDS: Self::Fields;

    /// The rollup that buckets keep: `()` unless the spec names some
    /// [rollups](BucketSpec::rollups).
    type Rollups: RollupFields;

    /// The values of the fields in [`BucketSpec::rollups`], in that order; see
    /// [`RollupField::to_rollup`](crate::RollupField::to_rollup).
    fn rollup_values(&self) -> Vec<Option<Bson>> {
        Vec::new()
    }

    /// The item's key.
    fn key(&self) -> KeyRef<'_, Self>;

    /// The time for a time ordinal; `None` with `{#}`.
    fn time(&self) -> Option<DateTime>;

    /// A field that is longer than its `max_len` (`#[bucket(max_len = …)]`), if there is one: the
    /// item is then refused before anything is sent.
    fn too_long(&self) -> Option<TooLong> {
        None
    }

    #[doc(hidden)]
    const FLATTENED: Option<Flattened<Self>> = None;

    /// Writes the element as a map: the fields other than key fields.
    fn serialize_element<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Makes an item of its key and its element.
    fn from_parts(key: Self::Key, element: Self::Element) -> Self;

    /// The stages that turn buckets back into flat items on the server, for pipelines of your own:
    /// one document per item, with the key fields and then the other fields under their stored
    /// names, in the order of the buckets and of the items in them.
    ///
    /// A `$match` on key fields after these stages costs no more than one before them: the server
    /// moves it to the front (seen with `explain` on server 6.0), unless the struct has a flattened
    /// field.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, bson::doc};
    /// # #[derive(Bucket)]
    /// # #[serde(rename_all = "camelCase")]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{#}", capacity = 10, items = "history")]
    /// # struct Trade { customer_id: i64, ticker: String, quantity: i32 }
    /// let mut pipeline = Trade::unwind();
    /// assert_eq!(pipeline, [
    ///     doc! { "$unwind": "$history" },
    ///     doc! { "$project": {
    ///         "_id": 0,
    ///         "customerId": "$customerId",
    ///         "ticker": "$history.ticker",
    ///         "quantity": "$history.quantity",
    ///     } },
    /// ]);
    /// pipeline.push(doc! { "$group": { "_id": "$ticker", "traded": { "$sum": "$quantity" } } });
    /// // trades.collection().aggregate(pipeline)
    /// ```
    fn unwind() -> Vec<Document> {
        unwind::unwind(&Self::SPEC)
    }

    /// A validator for `createCollection` or `collMod`. With it, the server refuses whatever breaks
    /// G2 or a read, from the shell and from programs in any language. It requires that `count` is
    /// the length of the array and within the capacity, and that the key fields have their stored
    /// types (numbers of any type), as do the other fields of a bucket: window, rollups, time of
    /// the newest item. It requires of the items only that those of a bucket differ in the `unique`
    /// field.
    ///
    /// It never refuses what this library writes, provided that it is the struct's validator: when
    /// the capacity, a rollup, `unique` or the expiry changes, the validator has to change with it.
    /// Use it at `validationLevel: "moderate"`, so that older buckets that lack something accept
    /// further items.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, bson::doc};
    /// # #[derive(Bucket)]
    /// # #[serde(rename_all = "camelCase")]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{#}", capacity = 10, items = "history")]
    /// # struct Trade { customer_id: i64, ticker: String, quantity: i32 }
    /// let validator = Trade::validator();
    /// let schema = validator.get_document("$jsonSchema").unwrap();
    /// let fields = schema.get_document("properties").unwrap();
    /// assert_eq!(fields.get_document("customerId").unwrap(), &doc! { "bsonType": "number" });
    /// let array = doc! { "bsonType": "array", "maxItems": 10 };
    /// assert_eq!(fields.get_document("history").unwrap(), &array);
    /// ```
    fn validator() -> Document {
        validator::of_bucket(&Self::SPEC, Self::Key::BSON_TYPES)
    }

    /// Creates the struct's collection with the [`validator`](Self::validator), before
    /// [`buckets`](Self::buckets) opens it. An existing collection without a validator gets it by
    /// `collMod`, which needs the privilege for that, and waits while an index of the collection is
    /// being built; existing buckets are not checked.
    ///
    /// One round trip if the collection is created, otherwise two or three. A dropped future leaves
    /// the collection with the validator or as it was.
    ///
    /// # Errors
    ///
    /// [`is_validator_conflict`](crate::Error::is_validator_conflict) if the collection has another
    /// validator, which stays as it is, or the driver's.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// Trade::create_collection(&db).await?;
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn create_collection(db: &Database) -> CreateCollections {
        Self::create_collection_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Creates a collection of your choice, for [`buckets_in`](Self::buckets_in). Otherwise like
    /// [`create_collection`](Self::create_collection).
    fn create_collection_in<C: Send + Sync>(collection: Collection<C>) -> CreateCollections {
        let collection = collection.clone_with_type();
        let new = NewCollection::of_buckets(collection, Self::validator(), &Self::SPEC);
        create_all([new])
    }

    /// The shard key for `shardCollection`, if you do not use
    /// [`sharded`](crate::action::CreateCollections::sharded): the key fields, so that all buckets
    /// of a key are on one shard.
    ///
    /// ```
    /// # use bucket_runtime::{Bucket, bson::{DateTime, doc}};
    /// # #[derive(Bucket)]
    /// # #[serde(rename_all = "camelCase")]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, ticker: String }
    /// assert_eq!(Trade::shard_key(), doc! { "customerId": 1 });
    /// ```
    fn shard_key() -> Document {
        command::shard_key(&Self::SPEC)
    }

    /// The indexes that the struct's collection needs, for somebody else to create before
    /// [`buckets`](Self::buckets) opens it: as models of the driver, and as text for MongoDB's
    /// shell.
    ///
    /// ```
    /// # use bucket_runtime::Bucket;
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{#}", capacity = 10)]
    /// # struct Trade { customer_id: i64, #[bucket(index)] ticker: String }
    /// for index in Trade::indexes() {
    ///     println!("{index};");
    /// }
    /// ```
    fn indexes() -> Vec<RequiredIndex> {
        required::of_bucket(&Self::SPEC)
    }

    /// Opens the struct's collection: awaiting it gives the [`Buckets`](crate::Buckets) to append
    /// to and read from.
    ///
    /// It makes sure that the index `bucket_open`, on which all guarantees depend, and the indexes
    /// that the struct asks for exist, and that the server supports what the protocol needs. It
    /// compares the struct with the collection's indexes and one of its buckets: a struct that
    /// knows less than these is refused. Four round trips if the indexes exist, and up to eight if
    /// some have to be created. Behind a `mongos`, which lists only one shard's indexes, it takes
    /// five, since it requests them again.
    ///
    /// # Errors
    ///
    /// [`is_index_conflict`](crate::Error::is_index_conflict) for another struct's collection, and
    /// for a `unique` field or a rollup that this struct does not know: [the
    /// guide](crate::guide::versions) says in which order to deploy one;
    /// [`is_deserialize`](crate::Error::is_deserialize) for buckets made by hand;
    /// [`is_unsupported`](crate::Error::is_unsupported),
    /// [`is_shard_key_conflict`](crate::Error::is_shard_key_conflict),
    /// [`is_index_missing`](crate::Error::is_index_missing) if the user may not create indexes, or
    /// while the capacity
    /// [changes](https://docs.rs/bucket-ops/latest/bucket_ops/struct.Ops.html#method.change_capacity),
    /// [`is_capacity_mismatch`](crate::Error::is_capacity_mismatch),
    /// [`is_expiry_mismatch`](crate::Error::is_expiry_mismatch),
    /// [`is_several_open`](crate::Error::is_several_open),
    /// [`is_not_unique`](crate::Error::is_not_unique),
    /// [`is_collation`](crate::Error::is_collation), or the driver's.
    fn buckets(db: &Database) -> OpenBuckets<Self> {
        Self::buckets_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Opens the buckets in a collection of your choice, with the read preference and the concerns
    /// of that handle. Otherwise like [`buckets`](Self::buckets).
    fn buckets_in<C: Send + Sync>(collection: Collection<C>) -> OpenBuckets<Self> {
        let server = Server::new(collection.clone_with_type());
        OpenBuckets::new(span!(buckets), |settings| open_buckets(server, settings))
    }
}
