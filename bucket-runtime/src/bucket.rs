//! The trait behind `#[derive(Bucket)]`.

use bucket_core::{
    protocol::{
        command,
        indexes::required::{self, RequiredIndex},
        unwind, validator,
    },
    schema::{key::Key, names::is_same, size::TooLong, spec::BucketSpec},
    value::{read_back::Flattened, rollup::RollupFields},
};
use mongodb::{
    Collection, Database,
    bson::{Bson, DateTime, Document},
};
use serde::{Serializer, de::DeserializeOwned};

use crate::{
    call::Call,
    maintain::{
        change_capacity::change_capacity,
        create::{CreateCollections, NewCollection},
        migrate::Migrate,
        open::OpenBuckets,
        verify::{RepairedBuckets, VerifiedBuckets, rebuild::RebuildRollups, verifier},
    },
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
        CreateCollections::new([new])
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

    /// Lists what breaks G2 to G5 in the struct's collection, and what else is not as the struct
    /// says: items that cannot be read, items outside their time window, items of one bucket with
    /// the same `unique` value (the index refuses those in two buckets), rollups that are not those
    /// of the items, gaps in the numbers of a key, and missing indexes. The collection need not
    /// open: one whose keys have several open buckets does not.
    ///
    /// It reads all buckets, with their items, as the primary has them and in bounded memory; then
    /// the open ones once more; with `{#}` all ids once more (behind a `mongos`, whole buckets).
    /// Writers may be active; each problem existed at one moment. Behind a `mongos`, missing
    /// indexes are those of one shard.
    ///
    /// Sums of floats count as right if they are one of the sums that adding in another order
    /// gives. Where a field is read back as another value than was stored, as by a `serde` function
    /// that rounds, its rollup is one of other values, and counts as false.
    ///
    /// # Errors
    ///
    /// [`is_collection_missing`](crate::Error::is_collection_missing) if the collection does not
    /// exist, [`is_capacity_mismatch`](crate::Error::is_capacity_mismatch) and the other errors of
    /// [`buckets`](Self::buckets) about indexes, or the driver's.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let verified = Trade::verify(&db).await?;
    /// println!("{} buckets with {} items", verified.buckets, verified.items);
    /// for problem in verified.problems {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn verify(db: &Database) -> Call<'static, VerifiedBuckets> {
        Self::verify_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Verifies a collection of your choice. Otherwise like [`verify`](Self::verify).
    fn verify_in<C: Send + Sync>(collection: Collection<C>) -> Call<'static, VerifiedBuckets> {
        verifier::<Self>(collection.clone_with_type()).into_verified()
    }

    /// Takes over a collection that other programs filled without the index `bucket_open`, and
    /// repairs whatever needs no guessing: for each key (and time window) it seals all open buckets
    /// but the newest; it corrects counts and `sealed`; it computes rollups from the items where
    /// they are something else; and it deletes empty buckets, with `{#}` only open ones, since the
    /// others keep their places (`Empty`). Returns how many problems of each kind it has repaired,
    /// and the remaining ones, whose [remedies](crate::Problem::remedy) say what to do about them.
    /// No item changes.
    ///
    /// Writers may be active: each correction is one atomic update of a bucket that is still as it
    /// was found. While one of the writers is unguarded it may open further buckets, so
    /// [open](Self::buckets) the collection right afterwards, which creates the missing indexes.
    /// Repeating the call does no harm; a dropped future leaves some problems repaired and others
    /// not.
    ///
    /// Round trips: twice those of [`verify`](Self::verify), and one for each thousand repaired
    /// counts and seals, or for each key with several open buckets, two for each bucket that gets
    /// another rollup, and one for all empty buckets.
    ///
    /// # Errors
    ///
    /// Those of [`verify`](Self::verify).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let done = Trade::repair(&db).await?;
    /// println!("repaired: {:?}", done.repaired); // {SeveralOpen: 7, WrongCount: 1}
    /// for problem in done.left {
    ///     println!("{problem}");
    /// }
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn repair(db: &Database) -> Call<'static, RepairedBuckets> {
        Self::repair_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Repairs a collection of your choice. Otherwise like [`repair`](Self::repair).
    fn repair_in<C: Send + Sync>(collection: Collection<C>) -> Call<'static, RepairedBuckets> {
        verifier::<Self>(collection.clone_with_type()).into_repaired()
    }

    /// Computes the rollups of all buckets from their items, and writes those that are something
    /// else: for fields that were marked with `sum`, `min` or `max` after items had been stored, or
    /// after another program changed items by hand. No item changes, and writers may be active.
    ///
    /// First replace all programs that do not know the field yet. What they append afterwards
    /// leaves rollups incomplete again, which reads notice; but an edit or a removal by them can
    /// leave a rollup that is false and looks complete, which only [`verify`](Self::verify) sees.
    ///
    /// Each rollup is written by one atomic update, on condition that the bucket's items are still
    /// those that were read; otherwise they are read again. After an error, a dropped future or a
    /// killed program some buckets are done: call it again, and it writes only what is still wrong.
    ///
    /// Round trips: one for each thousand buckets (more if these exceed 16 MB), and two for each
    /// bucket that gets another rollup. It holds the ids of a thousand buckets, and one batch of
    /// the driver.
    ///
    /// # Errors
    ///
    /// [`is_collection_missing`](crate::Error::is_collection_missing), or the driver's. Buckets
    /// whose items cannot be read, or whose sums no rollup can hold, are no error: they are in
    /// [`left`](crate::RollupProgress::left).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let rebuild = Trade::rebuild_rollups(&db);
    /// let done = rebuild.on_progress(|at| println!("{} buckets", at.buckets)).await?;
    /// println!("{} of {} buckets got another rollup", done.rebuilt, done.buckets);
    /// for problem in done.left {
    ///     eprintln!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    fn rebuild_rollups(db: &Database) -> RebuildRollups<'static> {
        Self::rebuild_rollups_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Rebuilds the rollups in a collection of your choice. Otherwise like
    /// [`rebuild_rollups`](Self::rebuild_rollups).
    fn rebuild_rollups_in<C: Send + Sync>(collection: Collection<C>) -> RebuildRollups<'static> {
        RebuildRollups::new(verifier::<Self>(collection.clone_with_type()))
    }

    /// Changes the struct's collection to the struct's capacity. Handles of the old capacity, in
    /// any process, then get an [error](crate::Error::is_index_missing), with nothing stored, until
    /// they are opened again; with [`stored_capacity`](crate::action::OpenBuckets::stored_capacity)
    /// a program of either version can open them.
    ///
    /// Items keep their order. Full buckets stay as they are, and so do larger ones if the capacity
    /// is lowered; open ones are sealed as they are, so each key goes on with a new bucket. To
    /// divide all items anew, or to change the capacity while no program may pause, use
    /// [`migrate_from`](Self::migrate_from). A collection that has the struct's
    /// [validator](Self::validator) at another capacity gets the new one.
    ///
    /// Some ten round trips, two of which pass over the collection, and one that creates the index
    /// under another name. Appends are refused meanwhile; a collection that has the capacity takes
    /// one round trip. Do not load (`append_many`, `import_flat`) meanwhile: whole buckets are
    /// planned before they are written, with the old size.
    ///
    /// After a dropped future or a killed program call it again, which finishes the change; until
    /// then appends and openings are refused with
    /// [`is_index_missing`](crate::Error::is_index_missing).
    ///
    /// # Errors
    ///
    /// [`is_index_conflict`](crate::Error::is_index_conflict),
    /// [`is_collation`](crate::Error::is_collation),
    /// [`is_window_mismatch`](crate::Error::is_window_mismatch),
    /// [`is_several_open`](crate::Error::is_several_open) if writers without the index keep opening
    /// buckets, or the driver's.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// Trade::change_capacity(&db).await?;
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    fn change_capacity(db: &Database) -> Call<'static, ()> {
        Self::change_capacity_in(db.collection::<Self>(Self::SPEC.collection))
    }

    /// Changes a collection of your choice. Otherwise like
    /// [`change_capacity`](Self::change_capacity).
    fn change_capacity_in<C: Send + Sync>(collection: Collection<C>) -> Call<'static, ()> {
        change_capacity::<Self>(collection.clone_with_type())
    }

    /// Moves the items of another struct's collection into this struct's, which becomes another
    /// collection: for what cannot [change in place](crate::guide::versions), such as the key, the
    /// ordinal or the windows. The closure makes each item; its key, time and everything else may
    /// be new. The old collection does not change. With `impl From<OldTrade> for Trade` name the
    /// old struct, which the compiler cannot infer:
    /// `Trade::migrate_from::<OldTrade>(&db, Trade::from)`.
    ///
    /// The old program may append meanwhile: the call follows the change stream, and stores what is
    /// appended to buckets that it has copied. With [`until`](crate::action::Migrate::until) it
    /// follows the writers until your future says that they are replaced; without, until everything
    /// is copied. The items of a new key are in the order of the old buckets' ids, and within a
    /// bucket in the order in which they were appended; what is appended while the call runs comes
    /// after the items that were copied before. So the items of an old key, or window, stay in
    /// order.
    ///
    /// Items that were copied may not be changed or removed until the call is done, and nobody may
    /// write to the new collection. At the end the call counts the items of the old collection,
    /// reads the whole new one, and compares the number and a sum over all keys and values with
    /// those of the items that the closure made.
    ///
    /// Round trips: one transaction for each 500 buckets or 4 MB. One command fills its open
    /// buckets and one inserts the new ones; up to four read the old buckets and what the new
    /// collection holds (with `{#}` and windows two more per hundred keys or windows, behind a
    /// `mongos` one for each). Where the server refuses that, since the items of one moment have
    /// filled earlier buckets, each new bucket takes up to three. Each transaction also records the
    /// progress in the collection `bucket_progress`, so each item is stored once. After a dropped
    /// future or a killed program, call it again: it resumes from the record, at the latest when
    /// the server aborts the transaction that was running (`transactionLifetimeLimitSeconds`, a
    /// minute by default). To start from the beginning, drop the new collection.
    ///
    /// Needs a replica set (one member is enough) or a cluster. A cluster shows an event when every
    /// shard has written something later, as an idle one does after ten seconds
    /// (`periodicNoopIntervalSecs`); the call waits for some events.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](crate::Error::is_key_taken) if the new collection holds anything when the
    /// call begins, or when it stores its first items, since another call has ended meanwhile; but
    /// if it holds exactly the items of the old one, an earlier call has ended, and the output is
    /// their number; [`is_migrated_item_changed`](crate::Error::is_migrated_item_changed);
    /// [`is_unverified`](crate::Error::is_unverified), after which a further call verifies again;
    /// [`is_deserialize`](crate::Error::is_deserialize) for an item that the old struct cannot
    /// read; those of [`append`](crate::Buckets::append) for an item that the new one may not hold;
    /// [`is_not_unique`](crate::Error::is_not_unique) for two with the same identity;
    /// [`is_history_lost`](crate::Error::is_history_lost) if a further call comes after the oplog
    /// has lost the events since; [`is_import_overtaken`](crate::Error::is_import_overtaken). What
    /// was stored stays.
    ///
    /// Two structs with one collection are an error of `cargo build`, not yet of `cargo check`:
    /// only a build puts both into this function.
    ///
    /// ```no_run
    /// use bucket_runtime::{Bucket, bson::DateTime, mongodb::Database};
    ///
    /// mod old {
    /// #   use bucket_runtime::{Bucket, bson::DateTime};
    ///     #[derive(Bucket)]
    ///     #[bucket(collection = "trades", id = "{customer}_{date}", capacity = 10)]
    ///     pub struct Trade { pub customer: i64, pub date: DateTime, pub qty: i32 }
    /// }
    ///
    /// /// A bucket for each hour of a customer, with sums.
    /// #[derive(Bucket)]
    /// #[bucket(collection = "trades_by_hour", id = "{customer}_{date/1h}", capacity = 100)]
    /// struct Trade { customer: i64, date: DateTime, #[bucket(sum)] quantity: i64 }
    ///
    /// # async fn example(db: Database) -> bucket_runtime::Result<()> {
    /// let items = Trade::migrate_from(&db, |old: old::Trade| Trade {
    ///     customer: old.customer,
    ///     date: old.date,
    ///     quantity: old.qty.into(),
    /// }).await?;
    /// println!("{items} trades are moved");
    /// # Ok(())
    /// # }
    /// ```
    fn migrate_from<'f, O: Bucket>(
        db: &Database,
        convert: impl FnMut(O) -> Self + Send + 'f,
    ) -> Migrate<'f, O, Self> {
        const {
            assert!(
                !is_same(O::SPEC.collection, Self::SPEC.collection),
                "the two structs have the same collection; migrate to another one"
            );
        }
        Migrate::new(db, convert)
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
    /// while the capacity [changes](Self::change_capacity),
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
        OpenBuckets::new(collection.clone_with_type())
    }
}
