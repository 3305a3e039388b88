//! Bulk appends: many items of many keys, in bounded memory.
//!
//! `protocol/whole_bucket.rs` composes every bucket that is inserted with all its items: in loads,
//! imports, changes of the capacity and splits. `append_many` buffers items by key, fills the open
//! buckets, and inserts the rest as whole buckets. Other writers may open a bucket meanwhile, and a
//! key's items must still keep their order. Only the call itself knows the struct: it holds the
//! items, and gets back the indexes of those that were not stored. All other code of a load sees
//! indexes and `UntypedItem`s, so a program compiles it once for all structs. The buffer counts
//! keys as well as items, and a flush stores a few thousand keys at a time (`Load::store`): what it
//! knows of a key while it stores it, and above all the statements that fill open buckets, take
//! more memory than the items. With `{#}`, the load reads the last numbers of a hundred keys at
//! once (`server/read/last_buckets.rs`). A writer that opens a bucket takes a planned number; the server
//! then refuses the planned buckets from there on, and the load plans them again. In a window, a
//! refused id has the same effect. With the ordinals `{date}` and `{date:millis}` the load inserts
//! the last bucket first, with room left: while it is open, the index lets nobody open another.
//! `bucket-ops` writes up to a thousand buckets in one transaction, together with a record
//! of its progress.

mod buffer;
mod failed;
mod fill;
mod in_session;
mod key_items;
mod load;
mod measure;
mod newest_buckets;
mod plan;
mod sizes;
mod store;

use std::{mem, pin::Pin, sync::Arc};

use bucket_core::server::transaction;
use futures_util::{Stream, StreamExt, stream};
use mongodb::ClientSession;

pub use self::failed::{AppendManyError, FailedItem};
use self::{buffer::LoadBuffer, in_session::LoadInSession};
use crate::{Bucket, Buckets, Result, write::engine::Engine};

impl<T: Bucket> Buckets<T> {
    /// Appends any number of items of any keys, from an iterator, in bounded memory.
    ///
    /// The items of a key (or of a time window) keep their order. They fill the open bucket, and
    /// the rest is written in whole buckets, many in one command and several commands at once.
    /// Other writers may append meanwhile. (With a time ordinal, items planned for the same bucket
    /// as a refused item may come last.)
    ///
    /// Items are buffered until they take the memory that
    /// [`buffer`](crate::action::AppendMany::buffer) allows. Writing whole buckets is what makes
    /// this fast: about one round trip per thousand buckets. With `{#}`, keys without an open
    /// bucket cost two more per hundred keys, which read their last numbers (one more per key
    /// behind a `mongos`, or after a long history).
    ///
    /// When this returns `Ok`, each item is stored exactly once; with `#[bucket(unique)]` items
    /// that were already there are left out and not counted. A dropped future leaves some items
    /// stored and others not, never a broken bucket.
    ///
    /// # Errors
    ///
    /// [`AppendManyError`](crate::AppendManyError) returns each item that was not stored, with its
    /// reason; all others are stored.
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
        AppendMany {
            engine: self.engine(),
            items: Box::pin(items),
            buffer: DEFAULT_BUFFER,
            progress: Box::new(|_| ()),
            session: None,
        }
    }
}

/// The default of [`AppendMany::buffer`], in bytes.
const DEFAULT_BUFFER: usize = 128 << 20;

/// Builder of an append of many items: await it; see
/// [`Buckets::append_many`](crate::Buckets::append_many).
///
/// The output is the number of items that it has stored: all of them, except those with an identity
/// (`#[bucket(unique)]`) that were already there.
#[must_use = "items are appended when this is awaited"]
pub struct AppendMany<'i, T> {
    engine: Engine,
    items: Pin<Box<dyn Stream<Item = T> + Send + 'i>>,
    buffer: usize,
    progress: OnProgress<'i>,
    session: Option<&'i mut ClientSession>,
}

type OnProgress<'p> = Box<dyn FnMut(u64) + Send + 'p>;

impl<'i, T: Bucket> AppendMany<'i, T> {
    /// How many bytes of memory the buffered items take at most before they are sent; the default
    /// is 128 MiB. With a larger buffer, the buckets that are written whole are fuller. The
    /// commands in flight take more: there are up to four, each with at most 8 MiB of items.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes;
        self
    }

    /// Calls this after each command, with the number of items stored so far.
    pub fn on_progress(mut self, progress: impl FnMut(u64) + Send + 'i) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Stores the items in this session, in one transaction: all of them, or none. If the session
    /// is in a transaction, they are a part of it, and stored when you commit it.
    ///
    /// This is for items that a single transaction takes: at most 8 MiB, of at most 1,000 keys (or
    /// time windows). A larger load is refused before anything is sent. [`buffer`](Self::buffer)
    /// has no effect.
    ///
    /// Round trips: for each key one to its open bucket, and up to three for each bucket that it
    /// opens; with `#[bucket(unique)]` one more for each of these. Without a transaction of yours,
    /// one more for the commit, and all of them again after a lost race.
    ///
    /// An error of any item leaves none stored: [`failed`](AppendManyError::failed) has all items,
    /// with that error. After a dropped future a task goes on, and all are stored, or none. In a
    /// transaction of yours, abort it after either, since some may have been written in it; after a
    /// lost race the error has the driver's label `TransientTransactionError`, and the transaction
    /// can run again. Transactions need a replica set or a sharded cluster.
    ///
    /// # Errors
    ///
    /// [`is_too_large`](crate::Error::is_too_large) for more than a transaction takes; others as
    /// without a session.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, mongodb::ClientSession};
    /// # async fn example<Trade: Bucket + std::fmt::Debug>(
    /// #     trades: Buckets<Trade>, fills: Vec<Trade>, mut session: ClientSession,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// session.start_transaction().await?;
    /// trades.append_many(fills).session(&mut session).await?;
    /// // … the order that these trades fill, in the same session
    /// session.commit_transaction().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(mut self, session: impl Into<&'i mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(mut self) -> Result<u64, AppendManyError<T>> {
        self.engine.server.name_call(None);
        if let Some(session) = self.session.take() {
            return self.execute_in(session).await;
        }
        let (mut items, mut progress) = (self.items, self.progress);
        let max_failed = self.buffer / mem::size_of::<FailedItem<T>>();
        let mut buffer = LoadBuffer::new(self.engine, self.buffer, max_failed);
        let (mut failed, mut index, mut is_over) = (Vec::new(), 0, false);
        while !is_over {
            let (mut buffered, mut is_full) = (Vec::new(), false);
            while !is_full && let Some(item) = items.next().await {
                is_full = buffer.add(buffered.len(), &item);
                buffered.push(item);
            }
            let buffered = Arc::new(buffered);
            let mut refused = buffer.flush(buffered.clone(), &mut progress).await;
            let Some(buffered) = Arc::into_inner(buffered) else {
                unreachable!("the tasks that shared the items have ended");
            };
            for (at, item) in buffered.into_iter().enumerate() {
                if let Some(error) = refused.remove(&at) {
                    failed.push(FailedItem { index, item, error });
                }
                index += 1;
            }
            is_over = !is_full || buffer.load.is_over();
        }
        let stored = buffer.load.lock().stored;
        match failed.is_empty() {
            true => Ok(stored),
            false => Err(AppendManyError { stored, failed }),
        }
    }

    async fn execute_in(self, session: &mut ClientSession) -> Result<u64, AppendManyError<T>> {
        let (engine, mut items, mut progress) = (self.engine, self.items, self.progress);
        let (mut load, mut taken) = (LoadInSession::new(engine.clone()), Vec::new());
        while let Some(item) = items.next().await {
            let added = load.add(&item);
            taken.push(item);
            if let Err(error) = added {
                return Err(AppendManyError::of_all(taken, &error));
            }
        }
        if taken.is_empty() {
            return Ok(0);
        }
        let stored = transaction::run_in(&engine.server, load, Some(session)).await;
        let stored = stored.map_err(|error| AppendManyError::of_all(taken, &error))?;
        progress(stored);
        Ok(stored)
    }
}
