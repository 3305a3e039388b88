//! The trait behind `#[derive(Bucket)]`.

use mongodb::{
    Collection, Database,
    bson::{Bson, DateTime, Document},
};
use serde::{Serializer, de::DeserializeOwned};

use crate::{
    maintain::{
        change_capacity::ChangeCapacity,
        create::{CreateCollections, NewCollection},
        open::OpenBuckets,
        verify::{RepairBuckets, VerifyBuckets, verifier},
    },
    protocol::{command, validator},
    read::view,
    schema::{key::Key, size::TooLong, spec::BucketSpec},
    value::rollup::RollupFields,
};

/// A key of `T` as callers pass it: `&123`, `"alice"`, or `("XETRA", &123)` for two key fields.
pub type KeyRef<'k, T> = <<T as Bucket>::Key as Key>::Ref<'k>;

/// An item whose buckets stand for time windows (`{at/1h}`). The derive implements it for such a struct.
#[diagnostic::on_unimplemented(
    message = "the buckets of `{Self}` stand for no time windows",
    label = "its id format ends in no window",
    note = "help: end the id format in a window, such as `{{at/1h}}`"
)]
pub trait Windowed: Bucket {}

/// An item that is stored in buckets.
///
/// Derive it. What the derive writes can be written by hand, too:
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

    /// The key fields as a tuple, in the order in which the id format names them.
    type Key: Key;

    /// What an element of the stored array is read into: the fields that are no key fields.
    type Element: DeserializeOwned + Send + 'static;

    /// The fields that conditions can name: the type of [`FIELDS`](Self::FIELDS).
    type Fields;

    /// The fields by their Rust names, for typed conditions: `Trade::FIELDS.quantity.gte(100)`.
    ///
    /// A flattened field has no name of its own, and one that is not stored cannot be asked for;
    /// neither is here.
    const FIELDS: Self::Fields;

    /// What buckets keep about their items besides: `()` unless the spec names some
    /// [rollups](BucketSpec::rollups).
    type Rollups: RollupFields;

    /// The values of the fields in [`BucketSpec::rollups`], in that order; see
    /// [`RollupField::to_rollup`](crate::RollupField::to_rollup).
    fn rollup_values(&self) -> Vec<Option<Bson>> {
        Vec::new()
    }

    /// The key that the item belongs to.
    fn key(&self) -> KeyRef<'_, Self>;

    /// The moment that a time ordinal is taken from; `None` with `{#}`.
    fn time(&self) -> Option<DateTime>;

    /// A field whose value is longer than it may be (`#[bucket(max_len = …)]`), if there is one: the
    /// item is then refused before anything is sent.
    fn too_long(&self) -> Option<TooLong> {
        None
    }

    /// Writes the element: the fields that are no key fields, as a map.
    fn serialize_element<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Puts a whole item together again.
    fn from_parts(key: Self::Key, element: Self::Element) -> Self;

    /// The stages that turn buckets back into flat items on the server, for pipelines of your own:
    /// one document per item, with the key fields and then the others under their stored names, in
    /// the order in which the buckets come and items stand in them.
    ///
    /// A `$match` on key fields behind them costs no more than one before them: the server moves it
    /// to the front (seen with `explain` on server 6.0), unless the struct has a flattened field.
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
        view::unwind(&Self::SPEC)
    }

    /// A validator for `createCollection` or `collMod`, with which the server refuses whatever breaks
    /// G2 or a read, from the shell and from programs in any language: it asks that `count` is the
    /// length of the array and within the capacity, and that the key is there in the types that it
    /// is stored in (numbers of any type), as is what the struct keeps besides: window, rollups, time
    /// of the newest item. Of the items themselves it asks that those of a bucket differ in the field
    /// that is `unique`, and nothing else.
    ///
    /// What this library writes is never refused, provided that the validator is that of the struct:
    /// when the capacity, a rollup, `unique` or the expiry changes, the validator has to follow. Use
    /// it at `validationLevel: "moderate"`, so that buckets from before that lack something take
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

    /// Makes the struct's collection with the [`validator`](Self::validator), before
    /// [`buckets`](Self::buckets) opens it. A collection that is there and has no validator gets it
    /// by `collMod`, which needs the right to do so, and waits while an index of the collection is
    /// being built; its buckets are not looked at.
    ///
    /// One round trip where the collection is made, else two or three. A dropped future leaves
    /// the collection with the validator or as it was.
    ///
    /// # Errors
    ///
    /// [`is_validator_conflict`](crate::Error::is_validator_conflict) if the collection has another validator, which
    /// is left as it is, or the driver's.
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

    /// Makes a collection of your choice, for [`buckets_in`](Self::buckets_in). Otherwise like
    /// [`create_collection`](Self::create_collection).
    fn create_collection_in<C: Send + Sync>(collection: Collection<C>) -> CreateCollections {
        let collection = collection.clone_with_type();
        let new = NewCollection::of_buckets(collection, Self::validator(), &Self::SPEC);
        CreateCollections::new([new])
    }

    /// The fields to shard the collection by, for `shardCollection`, if not
    /// [`sharded`](crate::action::CreateCollections::sharded) is to do it: the key fields, so that all
    /// buckets of a key lie on one shard.
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

    /// Lists what breaks G2 to G5 in the struct's collection, items of a bucket that are the same by
    /// `unique` (those in two buckets, the index refuses), and items that cannot be read. It need not
    /// have been opened: one whose keys have several open buckets cannot be.
    ///
    /// Passes over all buckets twice, as the primary has them, and over the open ones once more. The
    /// second pass reads all items, in bounded memory. Writers may be active; what is found was there
    /// at one moment.
    ///
    /// # Errors
    ///
    /// [`is_capacity_mismatch`](crate::Error::is_capacity_mismatch) and the others of
    /// [`buckets`](Self::buckets) that are about indexes, or the driver's.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// for problem in Trade::verify(&db).await? {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn verify(db: &Database) -> VerifyBuckets {
        Self::verify_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Verifies a collection of your choice. Otherwise like [`verify`](Self::verify).
    fn verify_in<C: Send + Sync>(collection: Collection<C>) -> VerifyBuckets {
        VerifyBuckets::new(verifier::<Self>(collection.clone_with_type()))
    }

    /// Takes over a collection that others filled without the index `bucket_open`, and mends what
    /// can be mended without guessing: of each key (and time window) all open buckets but the
    /// newest are sealed, counts are corrected, and so is `sealed`. Gives the problems that are
    /// left, whose texts say what to do about them. No item is changed.
    ///
    /// Writers may be active: each correction is one atomic update of a bucket that is still as it
    /// was found. As long as one of them is unguarded it may open further buckets, so
    /// [open](Self::buckets) the collection right afterwards, which makes the index. To repeat it
    /// does no harm; a dropped future leaves some problems mended and others not.
    ///
    /// Round trips: as three times [`verify`](Self::verify), and one for each thousand buckets that
    /// are mended, or for each key that has several open ones.
    ///
    /// # Errors
    ///
    /// As for [`verify`](Self::verify).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let left = Trade::repair(&db).await?;
    /// assert_eq!(left, []);
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn repair(db: &Database) -> RepairBuckets {
        Self::repair_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Repairs a collection of your choice. Otherwise like [`repair`](Self::repair).
    fn repair_in<C: Send + Sync>(collection: Collection<C>) -> RepairBuckets {
        RepairBuckets::new(verifier::<Self>(collection.clone_with_type()))
    }

    /// Moves the struct's collection to the struct's capacity, while writers go on: change the
    /// struct, call this once, and deploy. Handles that are open, in any process, follow by
    /// themselves.
    ///
    /// Raising it leaves the buckets as they are: those that were full are sealed, and new ones take
    /// more items. Lowering it splits those that hold too many. With
    /// [`repack(true)`](crate::action::ChangeCapacity::repack) all buckets are rewritten, so that those
    /// of a key are full but for the last one, and with them their rollups. Items keep their order.
    /// A collection that has the [validator](Self::validator) of the struct at another capacity gets
    /// the new one, once no index of it is being built.
    ///
    /// The index `bucket_open` has to be made anew, under another name, which takes one or two
    /// passes over the collection. As long as it is missing the server refuses appends, and handles
    /// wait, for three seconds at most. Buckets are rewritten in transactions (on a replica set or a
    /// sharded cluster) of bounded size, run by run. A read that goes on from page to page meanwhile
    /// may miss items that were moved, or see them twice; page tokens and numbers that were given
    /// out before may be those of other items. While writers are active a few buckets may end up
    /// not full; a further call packs them.
    ///
    /// Numbered buckets have to be rewritten up to the last one of the key in one transaction, as
    /// have those of one time window, or of one second: of more than 10,000 of them, or 64 MB, the
    /// key is named in [`left`](crate::CapacityProgress::left), and stays as it is.
    ///
    /// Appends to a key wait while the run is rewritten that has the key's open bucket in it.
    ///
    /// Killed on the way, call it again: what is done already is left as it is. The run that was being
    /// rewritten is locked until the server gives its transaction up
    /// (`transactionLifetimeLimitSeconds`, a minute). A dropped future leaves some buckets rewritten
    /// and others not, and at worst no index, which this call, or opening the collection, makes.
    ///
    /// Do not load (`append_many`, `import_flat`) meanwhile: whole buckets are planned before they are
    /// written, of the old size, and behind a last bucket that may be another one by then. With
    /// `{#}` and time windows items could be read in another order than that of the call, and
    /// numbers be left out. An edit that looks for its item just when it is moved may find none.
    ///
    /// # Errors
    ///
    /// [`is_index_conflict`](crate::Error::is_index_conflict), [`is_collation`](crate::Error::is_collation),
    /// [`is_window_mismatch`](crate::Error::is_window_mismatch),
    /// [`is_several_open`](crate::Error::is_several_open) if writers that no index guards keep
    /// opening buckets, or the driver's. [`is_index_conflict`](crate::Error::is_index_conflict) also if another call
    /// changes the capacity again meanwhile: what is left to do is left to that one;
    /// [`is_capacity_mismatch`](crate::Error::is_capacity_mismatch) if that happens again and again.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let change = Trade::change_capacity(&db).repack(true);
    /// let done = change.on_progress(|at| println!("{} buckets", at.seen)).await?;
    /// for error in done.left {
    ///     eprintln!("{error}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn change_capacity(db: &Database) -> ChangeCapacity<'static, Self> {
        Self::change_capacity_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Moves a collection of your choice. Otherwise like [`change_capacity`](Self::change_capacity).
    fn change_capacity_in<C: Send + Sync>(
        collection: Collection<C>,
    ) -> ChangeCapacity<'static, Self> {
        ChangeCapacity::new(collection.clone_with_type())
    }

    /// Opens the struct's collection: awaiting it gives the [`Buckets`](crate::Buckets) to append
    /// to and read from.
    ///
    /// Makes sure that the index `bucket_open` is there, which all guarantees stand on, and those
    /// that the struct asks for, and that the server does what the protocol needs. Three round trips
    /// where they are, five where some have to be made, four behind a `mongos`, which lists the indexes
    /// of one shard alone, so that they are asked for again.
    ///
    /// # Errors
    ///
    /// [`is_unsupported`](crate::Error::is_unsupported),
    /// [`is_shard_key_conflict`](crate::Error::is_shard_key_conflict),
    /// [`is_capacity_mismatch`](crate::Error::is_capacity_mismatch),
    /// [`is_expiry_mismatch`](crate::Error::is_expiry_mismatch),
    /// [`is_index_conflict`](crate::Error::is_index_conflict),
    /// [`is_several_open`](crate::Error::is_several_open),
    /// [`is_not_unique`](crate::Error::is_not_unique),
    /// [`is_collation`](crate::Error::is_collation), or the driver's.
    fn buckets(db: &Database) -> OpenBuckets<Self> {
        Self::buckets_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Opens the buckets in a collection of your choice, with the read preference and the
    /// concerns of that handle. Otherwise like [`buckets`](Self::buckets).
    fn buckets_in<C: Send + Sync>(collection: Collection<C>) -> OpenBuckets<Self> {
        OpenBuckets::new(collection.clone_with_type())
    }
}
