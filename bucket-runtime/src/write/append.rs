//! The append: puts an item into the open bucket of its key, even while other writers append.

use bucket_core::server::call::span;

use crate::{
    Bucket, Buckets,
    call::{InSession, Write},
    write::{appended::Appended, combine::Combiner, engine::Engine, item::UntypedItem},
};

impl<T: Bucket> Buckets<T> {
    /// Appends one item to the open bucket of its key (or of its time window), or opens a bucket
    /// with it.
    ///
    /// Appends that wait at the same time in this handle and its clones [share
    /// commands](crate::guide::how_it_works#when-it-takes-more-than-one-command), and each caller
    /// gets the result of its own item. In a session, every append is a command of its own.
    ///
    /// Round trips: one. The first item of a further bucket may take
    /// [three](crate::guide::how_it_works#when-it-takes-more-than-one-command), and each lost race
    /// for opening a bucket one more.
    ///
    /// When this returns `Ok`, the item is stored exactly once, as durably as the handle's write
    /// concern says. With `#[bucket(unique)]` it may have been stored
    /// [before](crate::Appended::AlreadyThere), which takes one more round trip to see, and a failed
    /// call may be repeated; [`append_or_get`](Self::append_or_get) gives the earlier item. A
    /// dropped future leaves the item stored or not; a command that was already sent is carried out.
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
    pub(crate) combiner: Option<Combiner>,
}

fn append<'s>(writer: Writer, item: &dyn UntypedItem) -> Write<'s, Appended> {
    let Writer { engine, combiner } = writer;
    let entry = engine.entry(item);
    Write::new(span!(append), |InSession(session)| async move {
        let (scope, entry) = entry?;
        match combiner {
            Some(combiner) if session.is_none() => {
                let target = engine.target_of(&scope);
                (combiner.send_with_others(&engine, target, &scope, entry)).await
            }
            _ => engine.append_one(scope, entry, session).await,
        }
    })
}
