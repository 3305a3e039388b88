//! The handle of operations on buckets.

use std::{fmt, marker::PhantomData};

use bucket_core::{schema::names::is_same, server::Server};
use bucket_runtime::{
    Bucket, KeyRef,
    action::Call,
    mongodb::{Collection, Database},
};
use futures_util::Stream;

use crate::{
    archive::{export::Export, import::Import},
    change_capacity::change_capacity,
    import_flat::ImportFlat,
    migrate::Migrate,
    verify::{RepairedBuckets, VerifiedBuckets, rebuild::RebuildRollups, verifier},
};

/// Operations on the buckets of a collection. Making it sends nothing.
///
/// [`import_flat`](Self::import_flat), [`import`](Self::import) and
/// [`migrate_from`](Self::migrate_from) store items, so they open the collection first, as
/// [`Bucket::buckets`] does, with its round trips and its errors, and take the capacity that it has.
///
/// ```no_run
/// use bucket_ops::Ops;
/// # use bucket_runtime::{Bucket, mongodb::Database};
///
/// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
/// let ops = Ops::<Trade>::of(&db);
/// for problem in ops.verify().await?.problems {
///     println!("{problem}");
/// }
/// # Ok(())
/// # }
/// ```
pub struct Ops<T> {
    server: Server,
    item: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Ops<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ops").field(&self.server.name()).finish()
    }
}

impl<T: Bucket> Ops<T> {
    /// Operations on the struct's collection.
    pub fn of(db: &Database) -> Self {
        Self::in_collection(db.collection::<T>(T::SPEC.collection))
    }

    /// Operations on a collection of your choice, with the read preference and the concerns of that
    /// handle.
    pub fn in_collection<C: Send + Sync>(collection: Collection<C>) -> Self {
        Self {
            server: Server::new(collection.clone_with_type()),
            item: PhantomData,
        }
    }

    /// Lists what breaks G2 to G5 in the collection, and what else is not as the struct says: items
    /// that cannot be read, items outside their time window, items of one bucket with the same
    /// `unique` value (the index refuses those in two buckets), rollups that are not those of the
    /// items, gaps in the numbers of a key, and missing indexes. The collection need not open: one
    /// whose keys have several open buckets does not.
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
    /// [`is_collection_missing`](bucket_runtime::Error::is_collection_missing) if the collection
    /// does not exist, [`is_capacity_mismatch`](bucket_runtime::Error::is_capacity_mismatch) and
    /// the other errors of [`buckets`](bucket_runtime::Bucket::buckets) about indexes, or the
    /// driver's.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let verified = Ops::<Trade>::of(&db).verify().await?;
    /// println!("{} buckets with {} items", verified.buckets, verified.items);
    /// for problem in verified.problems {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify(&self) -> Call<'static, VerifiedBuckets> {
        verifier::<T>(self.server.clone()).into_verified()
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
    /// [open](bucket_runtime::Bucket::buckets) the collection right afterwards, which creates the
    /// missing indexes. Repeating the call does no harm; a dropped future leaves some problems
    /// repaired and others not.
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
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let done = Ops::<Trade>::of(&db).repair().await?;
    /// println!("repaired: {:?}", done.repaired); // {SeveralOpen: 7, WrongCount: 1}
    /// for problem in done.left {
    ///     println!("{problem}");
    /// }
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn repair(&self) -> Call<'static, RepairedBuckets> {
        verifier::<T>(self.server.clone()).into_repaired()
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
    /// [`is_collection_missing`](bucket_runtime::Error::is_collection_missing), or the driver's.
    /// Buckets whose items cannot be read, or whose sums no rollup can hold, are not an error: they are
    /// in [`left`](crate::RollupProgress::left).
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let rebuild = Ops::<Trade>::of(&db).rebuild_rollups();
    /// let done = rebuild.on_progress(|at| println!("{} buckets", at.buckets)).await?;
    /// println!("{} of {} buckets got another rollup", done.rebuilt, done.buckets);
    /// for problem in done.left {
    ///     eprintln!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn rebuild_rollups(&self) -> RebuildRollups<'static> {
        RebuildRollups::new(verifier::<T>(self.server.clone()))
    }

    /// Changes the collection to the struct's capacity. Handles of the old capacity, in any
    /// process, then get an [error](bucket_runtime::Error::is_index_missing), with nothing stored,
    /// until they are opened again; with
    /// [`stored_capacity`](bucket_runtime::action::OpenBuckets::stored_capacity) a program of
    /// either version can open them.
    ///
    /// Full buckets stay as they are, larger ones too; open ones are sealed: keys go on with new ones.
    /// To divide all items again, or while no program may pause, use
    /// [`migrate_from`](Self::migrate_from). A validator of the struct's gets the new capacity.
    ///
    /// Some ten round trips, two of which pass over the collection, and one that creates an index;
    /// one if the collection has the capacity. Appends are refused meanwhile. Do not load
    /// (`append_many`, `import_flat`) meanwhile: loads plan whole buckets, with the old size.
    ///
    /// After a dropped future or a killed program call it again, which finishes the change; until
    /// then appends and openings are refused with
    /// [`is_index_missing`](bucket_runtime::Error::is_index_missing).
    ///
    /// # Errors
    ///
    /// [`is_index_conflict`](bucket_runtime::Error::is_index_conflict),
    /// [`is_collation`](bucket_runtime::Error::is_collation),
    /// [`is_window_mismatch`](bucket_runtime::Error::is_window_mismatch),
    /// [`is_several_open`](bucket_runtime::Error::is_several_open) if writers without the index
    /// keep opening buckets, or the driver's.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// Ops::<Trade>::of(&db).change_capacity().await?;
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn change_capacity(&self) -> Call<'static, ()> {
        change_capacity::<T>(self.server.clone())
    }

    /// Moves the items of another struct's collection, in the same database, into this one: for
    /// what cannot change in place, such as the key, the ordinal or the windows. The closure makes
    /// each item; its key, time and everything else may be new. The old collection does not change.
    ///
    /// The old program may append meanwhile, and nobody may change what was copied or write to the
    /// new collection. [The guide](crate::guide::migrating) has the
    /// order of the items, the round trips, the comparison at the end, and further errors.
    ///
    /// One transaction for each 500 buckets or 4 MB also records the progress in `bucket_progress`,
    /// so it needs a replica set. After a dropped future or a killed program, call it again: it
    /// resumes. Each item is stored once.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](bucket_runtime::Error::is_key_taken) if the new collection holds anything
    /// before; but if it holds exactly these items, the output is their number;
    /// [`is_migrated_item_changed`](bucket_runtime::Error::is_migrated_item_changed);
    /// [`is_unverified`](bucket_runtime::Error::is_unverified);
    /// [`is_import_overtaken`](bucket_runtime::Error::is_import_overtaken), and those of
    /// [`append`](bucket_runtime::Buckets::append). What was stored stays.
    ///
    /// ```no_run
    /// use bucket_ops::Ops;
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
    /// let items = Ops::<Trade>::of(&db).migrate_from(|old: old::Trade| Trade {
    ///     customer: old.customer,
    ///     date: old.date,
    ///     quantity: old.qty.into(),
    /// }).await?;
    /// println!("{items} trades are moved");
    /// # Ok(())
    /// # }
    /// ```
    pub fn migrate_from<'f, O: Bucket>(
        &self,
        convert: impl FnMut(O) -> T + Send + 'f,
    ) -> Migrate<'f, O, T> {
        const {
            assert!(
                !is_same(O::SPEC.collection, T::SPEC.collection),
                "the two structs have the same collection; migrate to another one"
            );
        }
        Migrate::new(self.server.clone(), convert)
    }

    /// Writes the documents of a flat collection, a view or a time series, one per item, into
    /// buckets: by key, and in the order of the items' time. The flat collection does not change.
    ///
    /// The flat documents have the struct's fields under their stored names; other fields are left
    /// out. The server sorts them; an index on the key and the time saves the sort.
    ///
    /// The call continues where an earlier one with the same collections was dropped or killed.
    /// Each command is a transaction that also records the progress in the collection
    /// `bucket_progress` of the same database, until the import is complete. So it needs a replica
    /// set; a single member is enough. The flat documents have to stay as they are until then.
    ///
    /// Round trips: those of opening, a few to begin and to end, and one transaction for up to a
    /// thousand buckets. A dropped future leaves some items in buckets and others not.
    ///
    /// When this returns `Ok`, each flat document that the call
    /// [found](crate::ImportProgress::found) is stored once, left out because of `unique`, or was
    /// skipped.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](bucket_runtime::Error::is_key_taken) if the buckets already hold one of the
    /// keys, before anything is written; [`is_deserialize`](bucket_runtime::Error::is_deserialize)
    /// for a flat document that is not an item of the struct;
    /// [`is_import_overtaken`](bucket_runtime::Error::is_import_overtaken). The next call continues
    /// after each of them, and not after
    /// [`is_unverified`](bucket_runtime::Error::is_unverified): the flat collection has changed.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, ops: Ops<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let import_flat = ops.import_flat(&flat).on_progress(|at| println!("{} of {}", at.stored, at.found));
    /// let done = import_flat.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn import_flat<'s, C: Send + Sync>(&self, flat: &Collection<C>) -> ImportFlat<'s, T> {
        ImportFlat::new(self.server.clone(), flat.clone_with_type())
    }

    /// Streams the buckets of a key as they are stored, each as one line of extended JSON
    /// (canonical, so that no value changes its type), in the order of their ids.
    /// [`import`](Self::import) takes the lines back, and so does `mongoimport`.
    ///
    /// The items are not read into the struct, so those that cannot be read are carried, too.
    /// Extended JSON has no form for a document with a name such as `$oid`, nor for very deep
    /// nesting: the line of such a bucket holds the bucket's bytes in the field `bson`, which only
    /// [`import`](Self::import) reads. One round trip per batch.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, KeyRef};
    /// # async fn example<Trade: Bucket>(ops: Ops<Trade>, alice: KeyRef<'_, Trade>) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::Write;
    /// use futures_util::TryStreamExt;
    ///
    /// let mut file = std::fs::File::create("alice.jsonl")?;
    /// let mut lines = ops.export(alice).await?;
    /// while let Some(line) = lines.try_next().await? {
    ///     writeln!(file, "{line}")?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self, key: KeyRef<'_, T>) -> Export<'static, T> {
        Export::new(self.server.clone(), Some(key))
    }

    /// Streams the buckets of all keys. Otherwise like [`export`](Self::export).
    pub fn export_all(&self) -> Export<'static, T> {
        Export::new(self.server.clone(), None)
    }

    /// Stores the buckets of an [`export`](Self::export) again, from lines of extended JSON, with
    /// their ids. Memory is bounded.
    ///
    /// Afterwards each item of the lines is stored once, or its line is in
    /// [`refused`](crate::Imported::refused), with the reason and a way out: check that this list
    /// is empty. One such line does not end the import. A line goes back as it is if its id is
    /// free, or if the bucket with that id is empty, which it replaces. A bucket that begins with
    /// the line's items has them already. Any other one stays as it is, and the line is listed.
    ///
    /// The import can be repeated: after an error, or after the program was killed, import all
    /// lines again. Appends, edits and removals may go on meanwhile. A bucket that has room while
    /// its key has a newer or another open one is sealed. A wrong rollup, and a missing time of the
    /// newest item, are computed from the items.
    ///
    /// One round trip for each thousand buckets, one more for each bucket that has room, and two or
    /// three for each that is there. A dropped future leaves some lines stored
    /// and others not.
    ///
    /// # Errors
    ///
    /// [`is_deserialize`](bucket_runtime::Error::is_deserialize) if reading a line failed, whose
    /// error is the [source](std::error::Error::source); or the driver's.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::Bucket;
    /// # async fn example<Trade: Bucket>(ops: Ops<Trade>) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::{BufRead, BufReader};
    /// use futures_util::stream;
    ///
    /// let file = BufReader::new(std::fs::File::open("alice.jsonl")?);
    /// let imported = ops.import(stream::iter(file.lines())).await?;
    /// println!("{} trades in {} buckets", imported.items, imported.buckets);
    /// for refused in &imported.refused {
    ///     eprintln!("{refused}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn import<'l, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
        &self,
        lines: impl Stream<Item = Result<String, E>> + Send + 'l,
    ) -> Import<'l, T> {
        Import::new(self.server.clone(), lines)
    }
}
