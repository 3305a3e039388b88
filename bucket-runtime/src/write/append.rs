//! The append: puts an item into the open bucket of its key, even while other writers append.

use mongodb::ClientSession;

use crate::{
    Bucket, Buckets, Result,
    protocol::command::IndexedScope,
    write::{
        appended::Appended,
        combine::{CombinedKey, Combiner},
        engine::Engine,
        item::{self, Entry, UntypedItem},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Appends one item to the open bucket of its key (or of its time window), or opens a bucket with
    /// it.
    ///
    /// Appends that wait at the same time in this handle and its clones are combined. While a command
    /// for a key is in flight, further items of the key wait, and the next command carries all of them;
    /// items of other keys share a command, too. If nothing is in flight, an append is sent at once.
    /// Each caller gets the result of its own item, and a dropped caller does not affect the others. In
    /// a session, every append is a command of its own, and so it is in a handle that was opened with
    /// [`combine(false)`](crate::action::OpenBuckets::combine). At most 64 MB of items wait in a handle;
    /// a further append waits before it enters the queue.
    ///
    /// If the connection breaks while a command is in flight, it is sent once more, and the server
    /// carries out only what is still missing (on a replica set or a sharded cluster, as with the
    /// driver's own retryable writes). If that attempt breaks, too, or on a standalone server, the items
    /// of that command may be stored, and the others in the queue are sent as usual.
    ///
    /// Round trips: one. The first item of a further bucket takes three with `{#}` or within a time
    /// window, but two if this handle has filled the last one, and three with a time ordinal if another
    /// bucket of the key began at the same moment; each lost race for opening a bucket costs one more. A
    /// handle remembers the last buckets of ten thousand keys, in some four megabytes at most. A key that
    /// takes many items a second wants a [larger capacity](crate::guide::choosing#the-capacity).
    ///
    /// When this returns `Ok`, the item is stored exactly once, as durably as the handle's write concern
    /// says; the server's default is a majority of the replica set. With `#[bucket(unique)]` it may have
    /// been stored [before](crate::Appended::AlreadyThere), and a failed call may be repeated without a
    /// check; finding the earlier item takes one more round trip, and
    /// [`append_or_get`](Self::append_or_get) gives it.
    ///
    /// A dropped future leaves the item stored or not stored, never a broken bucket. A command that was
    /// already sent is carried out.
    ///
    /// # Errors
    ///
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been stored
    /// anyway. Others: [`is_serialize`](crate::Error::is_serialize),
    /// [`is_out_of_range`](crate::Error::is_out_of_range), [`is_too_large`](crate::Error::is_too_large),
    /// [`is_index_missing`](crate::Error::is_index_missing),
    /// [`is_duplicate`](crate::Error::is_duplicate), [`is_contended`](crate::Error::is_contended).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets};
    /// # async fn example<Trade: Bucket>(trades: Buckets<Trade>, trade: Trade) -> bucket_runtime::Result<()> {
    /// trades.append(&trade).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "upsert", alias = "insert_one", alias = "push")]
    pub fn append(&self, item: &T) -> Append<'static> {
        Append::new(&self.writer, item)
    }
}

/// Builder of an append: await it; see [`Buckets::append`](crate::Buckets::append).
#[must_use = "an append is sent when it is awaited"]
pub struct Append<'s> {
    writer: Writer,
    scope: IndexedScope,
    entry: Result<Entry>,
    session: Option<&'s mut ClientSession>,
}

/// How a handle sends its appends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) engine: Engine,
    /// `None` if each append is to be a command of its own.
    pub(crate) combiner: Option<Combiner<CombinedKey>>,
}

impl<'s> Append<'s> {
    pub(crate) fn new(writer: &Writer, item: &dyn UntypedItem) -> Self {
        let scope = item.scope().by(writer.engine.open);
        Self {
            writer: writer.clone(),
            entry: item::entry(item, &scope, &|kind| {
                writer.engine.target_of(&scope).error(kind)
            }),
            scope,
            session: None,
        }
    }

    /// Sends the append in this session, as a command of its own.
    ///
    /// It then takes one round trip if the key has an open bucket, and three if not. In a transaction, a
    /// race for the next bucket ends in an error with the driver's label `TransientTransactionError`, so
    /// the transaction can run again.
    pub fn session(mut self, session: impl Into<&'s mut ClientSession>) -> Self {
        self.session = Some(session.into());
        self
    }

    pub(crate) async fn execute(self) -> Result<Appended> {
        let Writer { engine, combiner } = self.writer;
        engine.server.called_for(Some(&self.scope));
        let (entry, session) = (self.entry?, self.session);
        match combiner {
            Some(combiner) if session.is_none() => {
                (engine.append_with_others(&combiner, self.scope.key, entry)).await
            }
            _ => engine.append_one(self.scope, entry, session).await,
        }
    }
}
