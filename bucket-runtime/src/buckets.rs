//! The handle: what a program does with the buckets of one collection.

use std::{fmt, marker::PhantomData};

use futures_util::{Stream, stream};
use mongodb::{Collection, bson::Document};

use crate::{
    Bucket, KeyRef,
    maintain::regroup::Regroup,
    protocol::{command::KeyScope, range::Range},
    read::{
        items::Items,
        page::PageToken,
        pages::Pages,
        reader::{Count, Counted, FindPage, Reader, nth},
        rollup::RollUp,
        view::CreateView,
    },
    schema::{key::Key, spec::BucketSpec},
    write::{
        append::{Append, Writer},
        bulk::AppendMany,
        engine::Engine,
        remove::RemoveKey,
    },
};

/// The buckets of one collection: append to it, page through it, stream it.
///
/// Opened by [`Bucket::buckets`]. Cheap to clone, to be shared by tasks.
///
/// Every call is a builder that does nothing until it is awaited, and takes an optional session
/// before that: `trades.append(&trade).session(&mut session).await?`.
pub struct Buckets<T> {
    writer: Writer,
    item: PhantomData<fn() -> T>,
}

impl<T> Clone for Buckets<T> {
    fn clone(&self) -> Self {
        Self {
            writer: self.writer.clone(),
            item: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Buckets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buckets")
            .field(&self.writer.engine.server.name())
            .finish()
    }
}

impl<T: Bucket> Buckets<T> {
    /// The spec as a `static`, which promotion alone does not give in generic code.
    const SPEC: &'static BucketSpec = &T::SPEC;

    pub(crate) fn new(writer: Writer) -> Self {
        Self {
            writer,
            item: PhantomData,
        }
    }

    /// Appends one item to the open bucket of its key (or of its time window), or opens a bucket with
    /// it.
    ///
    /// Appends that wait at the same time, in this handle and its clones, travel together: while a
    /// command for a key is under way further items of the key wait, and the next command carries
    /// them all; items of other keys share a command, too. An append that finds nothing under way
    /// is sent at once. Each caller learns what became of its own item, and one that is dropped
    /// takes nothing away from others. In a session an append travels alone; so do all of a handle
    /// that was opened with [`combine(false)`](crate::action::OpenBuckets::combine). At most 64 MB
    /// of items wait in a handle; then the next append waits before it queues.
    ///
    /// If the connection breaks in the middle, the command is sent once more, and the server
    /// carries out only what it has not yet (on a replica set or a sharded cluster, as with the
    /// driver's own retryable writes). If that breaks, too, or on a standalone server, the items of
    /// that command are maybe stored, and the others of the queue are sent as if nothing had
    /// happened.
    ///
    /// Round trips: one. The first item of a further bucket takes three with `{#}` or within a time
    /// window, and three with a time ordinal if another bucket of the key began at the same moment;
    /// each lost race for opening a bucket costs another one.
    ///
    /// When this returns `Ok`, the item is stored exactly once, as durably as the handle's write
    /// concern says; the server's default is a majority of the replica set. With
    /// `#[bucket(unique)]` it may have been stored [before](crate::write::appended::Appended::AlreadyThere), and a
    /// call that failed may be repeated without a look; finding that takes one round trip more.
    ///
    /// A dropped future leaves the item stored or not stored, never a broken bucket. What was sent
    /// already is carried out.
    ///
    /// # Errors
    ///
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// stored nevertheless. Others: [`is_serialize`](crate::Error::is_serialize),
    /// [`is_out_of_range`](crate::Error::is_out_of_range),
    /// [`is_too_large`](crate::Error::is_too_large), [`is_index`](crate::Error::is_index),
    /// [`is_duplicate`](crate::Error::is_duplicate),
    /// [`is_contended`](crate::Error::is_contended).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, trade: Trade) -> bucket_runtime::Result<()> {
    /// trades.append(&trade).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, item: &T) -> Append<'static> {
        Append::new(&self.writer, item)
    }

    /// Appends any number of items of any keys, from an iterator, in bounded memory.
    ///
    /// The items of a key (or of a time window) keep their order. They fill the open bucket, and what
    /// is left is written in whole buckets, many in one command and several commands at once. Other writers
    /// may append meanwhile. (With a time ordinal, items that were to share a bucket with one that
    /// is refused may come last.)
    ///
    /// Items are held back until they take the memory that
    /// [`buffer`](crate::action::AppendMany::buffer) allows, since whole buckets are what makes
    /// this quick: about one round trip for each thousand buckets.
    ///
    /// When this returns `Ok`, each item is stored exactly once; with `#[bucket(unique)]` those that
    /// were there already are left out, and not counted. A dropped future leaves some items
    /// stored and others not, never a broken bucket.
    ///
    /// # Errors
    ///
    /// [`AppendManyError`](crate::AppendManyError) hands back each item that was not stored, with
    /// its reason; all others are stored.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, history: Vec<Trade>) {
    /// let append = trades.append_many(history).on_progress(|stored| println!("{stored} trades"));
    /// if let Err(error) = append.await {
    ///     for failed in error.failed() {
    ///         eprintln!("trade {}: {}", failed.index, failed.error);
    ///     }
    /// }
    /// # }
    /// ```
    pub fn append_many<'i, I>(&self, items: I) -> AppendMany<'i, T>
    where
        I: IntoIterator<Item = T>,
        I::IntoIter: Send + 'i,
    {
        self.append_stream(stream::iter(items))
    }

    /// Appends the items of a stream; otherwise like [`append_many`](Self::append_many).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # use futures_util::Stream;
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, feed: impl Stream<Item = Trade> + Send) -> bucket_runtime::Result<()> {
    /// let stored = trades.append_stream(feed).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn append_stream<'i>(&self, items: impl Stream<Item = T> + Send + 'i) -> AppendMany<'i, T> {
        AppendMany::new(self.writer.engine.clone(), items)
    }

    /// Writes the documents of a flat collection, one per item, into buckets: by key, and in the
    /// order of the items' time. The flat collection stays as it is.
    ///
    /// The flat documents have the struct's fields under their stored names, and may have others,
    /// which are left out. The server puts them in order, on its disk if they are many, so memory
    /// stays bounded on both sides; an index on the key and the time saves that.
    ///
    /// It goes on where an earlier call with the same collections was dropped or killed: each
    /// command is a transaction that also notes how far it got, in the collection `bucket_regroup`
    /// of the same database, until all is done. So it needs a replica set; one of a single member
    /// will do. Flat documents that are added or removed between the two calls may be missed.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](crate::Error::is_key_taken) if the buckets hold one of the keys already,
    /// before anything is written; [`is_deserialize`](crate::Error::is_deserialize) for a flat
    /// document that is no item; [`is_overtaken`](crate::Error::is_overtaken). After each of them
    /// all that is written stays, and the next call goes on from there.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let regroup = trades.regroup(&flat).on_progress(|at| println!("{} of {}", at.stored, at.found));
    /// let done = regroup.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn regroup<C: Send + Sync>(&self, flat: &Collection<C>) -> Regroup<'static, T> {
        Regroup::new(self.writer.engine.clone(), flat.clone_with_type())
    }

    /// Page `n` of a key, counted from 1; `None` if there is none.
    ///
    /// One round trip. With `{#}` the page is read by its exact id, whatever its number. With a
    /// time ordinal the server steps over `n - 1` entries of the `_id` index and fetches one
    /// document (seen with `explain` on server 6.0); to go deep, use [`after`](Self::after).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// if let Some(page) = trades.page(alice, 1).await? {
    ///     println!("{} items", page.items.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn page(&self, key: KeyRef<'_, T>, n: u64) -> FindPage<'static, T> {
        let reader = self.reader(key);
        let at = nth(&reader, n);
        FindPage::new(reader, at)
    }

    /// The last page of a key in the order of ids: with a time ordinal the one with the latest
    /// first item, with `{#}` the newest, with time windows the last one of the latest window. `None`
    /// if the key has none. One round trip.
    pub fn latest(&self, key: KeyRef<'_, T>) -> FindPage<'static, T> {
        let reader = self.reader(key);
        let at = Some((reader.scope.all(), Range::newest_first()));
        FindPage::new(reader, at)
    }

    /// The page that follows the one with this token; `None` after the last one.
    ///
    /// One round trip, and as quick at any depth: a range on the `_id` index, no skip.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef, PageToken};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>, query: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// let token: PageToken = query.parse()?; // …?after=1698335223
    /// let next = trades.after(alice, &token).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(&self, key: KeyRef<'_, T>, token: &PageToken) -> FindPage<'static, T> {
        let reader = self.reader(key);
        let at = Some((reader.scope.after(token.as_str()), Range::oldest_first()));
        FindPage::new(reader, at)
    }

    /// The page that precedes the one with this token; `None` before the first one. Otherwise like
    /// [`after`](Self::after).
    pub fn before(&self, key: KeyRef<'_, T>, token: &PageToken) -> FindPage<'static, T> {
        let reader = self.reader(key);
        let at = Some((reader.scope.before(token.as_str()), Range::newest_first()));
        FindPage::new(reader, at)
    }

    /// All pages of a key, as a stream in the order of ids. One round trip for the first batch.
    pub fn pages(&self, key: KeyRef<'_, T>) -> Pages<'static, T> {
        Pages::new(self.reader(key))
    }

    /// All items of a key, as a stream across its buckets, in bounded memory; or those that a filter
    /// asks for, newest first, or so many of them: see [`Items`].
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut history = trades.items(alice).await?;
    /// while let Some(trade) = history.try_next().await? {
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn items(&self, key: KeyRef<'_, T>) -> Items<'static, T> {
        Items::of_key(self.reader(key), self.engine().index)
    }

    /// The items of all keys, or those that a filter asks for, in the order of their buckets' ids:
    /// key by key, as text. Otherwise like [`items`](Self::items).
    ///
    /// Where the filter tells with `eq` what the first key fields are, the ids of these keys bound
    /// what is visited; otherwise all buckets are, unless an index of yours knows better. With time
    /// windows a filter on the time asks for the buckets of its windows, so an index on the field
    /// `window` is such a one.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let mongo = trades.all_items().filter(Trade::FIELDS.ticker.eq("MDB")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn all_items(&self) -> Items<'static, T> {
        Items::of_all_keys(self.writer.engine.server.clone())
    }

    /// Publishes the items as a MongoDB view, flat under their stored names, for Compass, BI tools and
    /// programs in other languages: `{ customerId: …, date: …, ticker: …, … }`, one document per
    /// item, without `_id`. A [`Filter`](crate::Filter) is a filter on it.
    ///
    /// One round trip. If there is such a view already, two, and nothing is changed.
    ///
    /// # Errors
    ///
    /// [`is_name_taken`](crate::Error::is_name_taken) if the name belongs to something else, or to a
    /// view with another definition.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # use bucket_runtime::mongodb::bson::Document;
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
    /// # struct Trade { customer: i64, ticker: String }
    /// # async fn example(db: bucket_runtime::mongodb::Database, trades: Buckets<Trade>) -> Result<(), Box<dyn std::error::Error>> {
    /// trades.create_view("trades_flat").await?;
    ///
    /// let flat = db.collection::<Document>("trades_flat");
    /// let one = flat.find_one(Trade::FIELDS.ticker.eq("MDB").into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_view(&self, name: impl Into<String>) -> CreateView<'static> {
        CreateView::new(&self.writer.engine.server, name.into(), T::unwind())
    }

    /// How many pages a key has, counted on the `_id` index alone. One round trip.
    pub fn page_count(&self, key: KeyRef<'_, T>) -> Count<'static> {
        Count::new(self.reader(key), Counted::Pages)
    }

    /// How many items a key has: the sum of its buckets' counts, added up by the server. One round
    /// trip.
    pub fn count(&self, key: KeyRef<'_, T>) -> Count<'static> {
        Count::new(self.reader(key), Counted::Items)
    }

    /// What the buckets of a key keep about their items (`#[bucket(sum, min, max)]`), added up by the
    /// server: see [`Rollup`](crate::Rollup). One round trip, which reads the key's buckets but not
    /// their items.
    ///
    /// # Errors
    ///
    /// [`is_incomplete_rollup`](crate::Error::is_incomplete_rollup) if a bucket does not keep that of
    /// all of its items.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime, mongodb::Database};
    /// #[derive(Bucket)]
    /// #[bucket(collection = "readings", id = "{sensor}_{at/1h}", capacity = 3600)]
    /// struct Reading {
    ///     sensor: i64,
    ///     at: DateTime,
    ///     #[bucket(sum, min, max)]
    ///     celsius: f64,
    /// }
    ///
    /// # async fn example(db: &Database, midnight: DateTime) -> bucket_runtime::Result<()> {
    /// let readings = Reading::buckets(db).await?;
    /// let today = readings.rollup(&7).windows(midnight..).await?;
    /// println!("{} readings, {:?} °C on average", today.count(), today.celsius.mean());
    /// # Ok(())
    /// # }
    /// ```
    pub fn rollup(&self, key: KeyRef<'_, T>) -> RollUp<'static, T> {
        RollUp::new(&self.writer.engine.server, Some(self.scope(key)))
    }

    /// What the buckets of all keys keep about their items, added up by the server. It reads all
    /// buckets; otherwise like [`rollup`](Self::rollup).
    pub fn rollup_all(&self) -> RollUp<'static, T> {
        RollUp::new(&self.writer.engine.server, None)
    }

    /// Removes all buckets of a key, and tells how many these were. One round trip, of one command
    /// that visits no other key's buckets.
    ///
    /// What was stored before the call is gone when it returns `Ok`. The server removes one bucket
    /// after the other: items that others append meanwhile, or that wait in this handle, go with a
    /// bucket or stay in one, and G2 to G4 hold throughout. Such a bucket may have the id of one that
    /// was removed, and with `{#}` its number, so that the key's pages then do not begin at 1: to
    /// remove a key at one moment, use a transaction. With nobody at work the key begins anew.
    ///
    /// A dropped future leaves the command to the server, which carries it out. After an error some
    /// buckets may be gone: call it again.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
    /// let buckets = trades.remove_key(alice).await?;
    /// println!("{buckets} buckets are gone");
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove_key(&self, key: KeyRef<'_, T>) -> RemoveKey<'static> {
        RemoveKey::new(self.reader(key))
    }

    /// A filter for all buckets of a key, for commands of your own on
    /// [`collection`](Self::collection): a range of ids, which the `_id` index answers.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, KeyRef};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> mongodb::error::Result<()> {
    /// let erased = trades.collection().delete_many(trades.filter(alice)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(&self, key: KeyRef<'_, T>) -> Document {
        self.scope(key).all()
    }

    /// The driver's handle of the collection, for everything else.
    pub fn collection(&self) -> &Collection<Document> {
        self.writer.engine.server.collection()
    }

    pub(crate) fn reader(&self, key: KeyRef<'_, T>) -> Reader {
        Reader {
            server: self.writer.engine.server.clone(),
            scope: self.scope(key),
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        self.writer.engine.clone()
    }

    fn scope(&self, key: KeyRef<'_, T>) -> KeyScope {
        KeyScope::new(Self::SPEC, T::Key::parts(key)).by(self.writer.engine.index.get())
    }
}
