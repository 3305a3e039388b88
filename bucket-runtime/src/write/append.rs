//! The append: puts an item into the open bucket of its key, even while other writers append.

use bucket_core::server::call::span;

use crate::{
    Bucket, Buckets,
    call::{InSession, Write},
    write::{
        appended::Appended,
        combine::{CombinedKey, Combiner},
        engine::Engine,
        item::{self, UntypedItem},
    },
};

impl<T: Bucket> Buckets<T> {
    /// Appends one item to the open bucket of its key (or of its time window), or opens a bucket
    /// with it.
    ///
    /// Appends that wait at the same time in this handle and its clones are combined. While a
    /// command for a key is in flight, further items of the key wait, and the next command carries
    /// all of them; items of other keys share a command, too. If nothing is in flight, an append is
    /// sent at once. Each caller gets the result of its own item, and a dropped caller does not
    /// affect the others. In a session, every append is a command of its own, and so it is in a
    /// handle that was opened with [`combine(false)`](crate::action::OpenBuckets::combine). At most
    /// 64 MB of items wait in a handle; a further append waits before it enters the queue.
    ///
    /// If the connection breaks while a command is in flight, it is sent once more, and the server
    /// carries out only what is still missing (on a replica set or a sharded cluster, as with the
    /// driver's own retryable writes). If that attempt breaks, too, or on a standalone server, the
    /// items of that command may be stored, and the others in the queue are sent as usual.
    ///
    /// Round trips: one. The first item of a further bucket takes three with `{#}` or within a time
    /// window, but two if this handle has filled the last one, and three with a time ordinal if
    /// another bucket of the key began at the same moment; each lost race for opening a bucket
    /// costs one more. A handle remembers the last buckets of ten thousand keys, in some four
    /// megabytes at most. A key that takes many items a second wants a [larger
    /// capacity](crate::guide::choosing#the-capacity). In a session it takes one round trip if the
    /// key has an open bucket, and three if not.
    ///
    /// When this returns `Ok`, the item is stored exactly once, as durably as the handle's write
    /// concern says; the server's default is a majority of the replica set. With
    /// `#[bucket(unique)]` it may have been stored [before](crate::Appended::AlreadyThere), and a
    /// failed call may be repeated without a check; finding the earlier item takes one more round
    /// trip, and [`append_or_get`](Self::append_or_get) gives it.
    ///
    /// A dropped future leaves the item stored or not stored, never a broken bucket. A command that
    /// was already sent is carried out.
    ///
    /// # Errors
    ///
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// stored anyway. Others: [`is_serialize`](crate::Error::is_serialize),
    /// [`is_out_of_range`](crate::Error::is_out_of_range),
    /// [`is_too_large`](crate::Error::is_too_large),
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
    pub fn append<'s>(&self, item: &T) -> Write<'s, Appended> {
        append(self.writer.clone(), item)
    }
}

/// How a handle sends its appends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) engine: Engine,
    /// `None` if each append is to be a command of its own.
    pub(crate) combiner: Option<Combiner<CombinedKey>>,
}

fn append<'s>(writer: Writer, item: &dyn UntypedItem) -> Write<'s, Appended> {
    let Writer { engine, combiner } = writer;
    let scope = item.scope().by(engine.open);
    let entry = item::entry(item, &scope, &|kind| engine.target_of(&scope).error(kind));
    Write::new(span!(append), |InSession(session)| async move {
        let entry = entry?;
        match combiner {
            Some(combiner) if session.is_none() => {
                (engine.append_with_others(&combiner, scope.key, entry)).await
            }
            _ => engine.append_one(scope, entry, session).await,
        }
    })
}
