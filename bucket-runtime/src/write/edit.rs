//! Edits and removals of single items; `many` has those of several.
//!
//! No update can find the first element that matches a condition: `$[]` filters know no order,
//! `$pull` takes all. So an edit first reads the element and its place, by the pipeline of a
//! filtered read. One update then replaces or removes it, on the condition that it still stands
//! there as it was read. If not, the edit starts again, up to a limit and with random pauses. Where
//! a bucket keeps rollups or the time of its newest item, the edit reads all items, computes the
//! new values, and requires that the whole array is unchanged.
//!
//! The update that takes an item out of a full bucket also seals it: otherwise the key could have
//! two open buckets. If no item would be left, one command deletes the bucket instead, on the same
//! condition: a change stream could not tell the next append to an empty bucket from a removal
//! (`read/watch/event.rs`). With `{#}` a full or sealed bucket stays, since a number that is given
//! twice would break G5; after an open one there is no other yet.

mod found;
pub(crate) mod many;
mod protocol;
mod step;
mod sweep;
pub(crate) mod upsert;

use bucket_core::{
    protocol::{filter::Filter, query::Query},
    server::call::{Span, span},
};
use mongodb::bson::Bson;

pub(crate) use self::{
    found::FoundItems,
    protocol::{Editor, Selection},
    step::{Change, Edit, Edited, NewElements},
    sweep::Sweep,
};
use crate::{
    Bucket, Buckets, KeyRef,
    call::{InSession, Write},
};

impl<T: Bucket> Buckets<T> {
    /// Removes the first item of a key that matches, in the order of [`items`](Self::items), and
    /// returns it; `None` if none matches.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, trade_id: i64, quantity: i32 }
    /// # async fn example(trades: bucket_runtime::Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let gone = trades.remove_item(&123, Trade::FIELDS.trade_id.eq(7)).await?;
    /// assert!(gone.is_none_or(|trade| trade.trade_id == 7));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The update that removes the item also corrects `count` and the bucket's other fields. It
    /// seals a bucket that was full: later items come after it and never fill the gap, so pages
    /// keep their places and may be shorter than the capacity. A bucket that was open stays open.
    ///
    /// A bucket whose last item is removed is deleted, except that with `{#}` a full or sealed one
    /// stays, as a page without items: otherwise a new bucket could get its number, and later items
    /// would be read before earlier ones.
    ///
    /// Round trips: two. If another writer changes the item in between (or the bucket, where
    /// buckets keep rollups or expire, or the item is its only one), both are repeated.
    ///
    /// A dropped future leaves the item removed or not removed, never a broken bucket.
    ///
    /// # Errors
    ///
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the item may have been
    /// removed anyway. Others: [`is_deserialize`](crate::Error::is_deserialize) if the item cannot
    /// be read; the item then stays ([`remove_stored`](Self::remove_stored) removes it);
    /// [`is_contended`](crate::Error::is_contended). Where the sum of the other items exceeds 64
    /// bits, the bucket's rollup covers no item until it can be computed, and reads of it fail.
    pub fn remove_item<'s>(&self, key: KeyRef<'_, T>, filter: Filter<T>) -> Write<'s, Option<T>> {
        let editor = self.first_match(key, filter);
        editor.edit(span!(remove_item), Edit::Remove, |mut edited| {
            edited.items.pop()
        })
    }

    /// Removes the first item of a key that matches, as [`remove_item`](Self::remove_item) does,
    /// and returns it as it was stored, its fields other than key fields as a document. So an item
    /// that the struct cannot read is removed, too.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, trade_id: i64, quantity: i32 }
    /// # async fn example(trades: bucket_runtime::Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let trade_7 = Trade::FIELDS.trade_id.eq(7);
    /// if let Some(stored) = trades.remove_stored(&123, trade_7).await? {
    ///     println!("taken out: {stored}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove_stored<'s>(
        &self,
        key: KeyRef<'_, T>,
        filter: Filter<T>,
    ) -> Write<'s, Option<Bson>> {
        let editor = self.first_match(key, filter);
        editor.edit(span!(remove_stored), Edit::RemoveStored, |mut edited| {
            edited.stored.pop()
        })
    }

    /// Reads the first item of a key that matches, in the order of [`items`](Self::items), calls
    /// the closure to change it, and writes it back. Returns the item as it is now stored, or
    /// `None` if none matches.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, bson::DateTime};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, trade_id: i64, quantity: i32 }
    /// # async fn example(trades: bucket_runtime::Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let id = Trade::FIELDS.trade_id.eq(7);
    /// let doubled = trades.update_item(&123, id, |trade| trade.quantity *= 2).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The whole item is written back, as by the driver's `replace_one`: stored fields that the
    /// struct does not have are dropped. The item stays at its place in its bucket, and the bucket
    /// keeps its id, even if that was made from the item's time.
    ///
    /// If another writer changes the item in between (or, where buckets keep rollups or expire, the
    /// bucket), it is read and changed again, so no other change is lost; the closure is then
    /// called again. The rollups and the time of the newest item are computed from the items as
    /// they were read and the changed one.
    ///
    /// Round trips: two, and two more for each such repetition; one if the closure changes nothing,
    /// unless buckets keep rollups or expire. A dropped future leaves the item either unchanged or
    /// changed.
    ///
    /// # Errors
    ///
    /// [`is_too_large`](crate::Error::is_too_large) if the item grows and its bucket has no room
    /// for it. [`is_item_moved`](crate::Error::is_item_moved) if the closure changes the key, the
    /// `unique` field of the item, or, with time windows, the window.
    /// [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the change may have been
    /// stored anyway. Others: those of [`append`](Self::append), and
    /// [`is_deserialize`](crate::Error::is_deserialize).
    pub fn update_item<'s>(
        &self,
        key: KeyRef<'_, T>,
        filter: Filter<T>,
        change: impl FnMut(&mut T) + Send + 's,
    ) -> Write<'s, Option<T>> {
        let (editor, edit) = (
            self.first_match(key, filter),
            Edit::Update(Box::new(change)),
        );
        editor.edit(span!(update_item), edit, |mut edited| edited.items.pop())
    }

    /// An edit of the key's first item that matches.
    fn first_match(&self, key: KeyRef<'_, T>, filter: Filter<T>) -> Editor<T> {
        Editor::new(self.reader(key), Query::of(filter), Selection::First)
    }
}

impl<T: Bucket> Editor<T> {
    fn edit<'s, O: Send + 's>(
        self,
        span: fn() -> Span,
        mut edit: Edit<'s, T>,
        output: fn(Edited<T>) -> Option<O>,
    ) -> Write<'s, Option<O>> {
        Write::new(span, move |InSession(session)| async move {
            self.change(&mut edit, session).await.map(output)
        })
    }
}
