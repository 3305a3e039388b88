//! Stores an item whether or not one with its identity is there.

use bucket_core::{
    error::{Kind, is_repeatable, maybe_stored},
    protocol::{
        budget::Budget,
        command::{Update, identity},
        next_step::Answer,
        query::Query,
    },
    server::call::span,
};
use mongodb::{ClientSession, bson::Bson};

use super::{
    protocol::{Editor, Selection},
    step::Edit,
};
use crate::{
    Bucket, Buckets, Identified, Result,
    call::{InSession, Write},
    read::reader::Reader,
    write::{
        append_or_get::IdentifiedEntry,
        appended::Appended,
        engine::{Batch, SendMode, TRIES, pause},
    },
};

/// The outcome of an `upsert_item`, of [buckets](crate::Buckets::upsert_item) or of
/// [parents](crate::Outliers::upsert_item).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Upserted {
    /// No item of the key or the parent had this identity: the item was appended.
    Appended,
    /// The item replaced the one with this identity. If the connection broke, behind a `mongos`,
    /// that may be one that this call had appended before.
    Replaced,
}

impl<T: Bucket> Buckets<T> {
    /// Replaces the item of the key that has the same identity (`#[bucket(unique)]`) with this one,
    /// or appends it if there is none.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Upserted};
    /// # #[derive(Bucket)]
    /// # #[bucket(collection = "orders", id = "{customer_id}_{#}", capacity = 10)]
    /// # struct Order { customer_id: i64, #[bucket(unique)] number: i64, state: i32 }
    /// # async fn example(orders: bucket_runtime::Buckets<Order>) -> bucket_runtime::Result<()> {
    /// let order = Order { customer_id: 123, number: 7, state: 2 };
    /// match orders.upsert_item(&order).await? {
    ///     Upserted::Replaced => println!("it has another state now"),
    ///     Upserted::Appended => println!("it is new"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The whole item is written, and keeps its place and its bucket, as by
    /// [`update_item`](Self::update_item). Of calls at the same time one appends the item, and the
    /// others replace it, in some order: it is never stored twice.
    ///
    /// Round trips: one if the item is there or its bucket is open, otherwise as many as
    /// [`append`](Self::append) takes and two more. In a session, where buckets keep rollups or
    /// expire, and for an item that is larger than its share of `max_bytes`, two if it is there and
    /// three if not. On a standalone server, and behind a `mongos` before 8.0, each statement is a
    /// command of its own.
    ///
    /// A dropped future leaves the item stored, replaced or neither, never a broken bucket.
    ///
    /// # Errors
    ///
    /// [`is_item_moved`](crate::Error::is_item_moved) if the item with this identity lies in
    /// another time window. [`is_maybe_stored`](crate::Error::is_maybe_stored) says whether the
    /// item may have been stored anyway; the call can be repeated without a check. Others: those of
    /// [`append`](Self::append) and of [`update_item`](Self::update_item).
    pub fn upsert_item<'s>(&self, item: &T) -> Write<'s, Upserted>
    where
        T: Identified,
    {
        let item = IdentifiedEntry::new(self, item);
        Write::new(span!(upsert_item), |InSession(session)| async move {
            item?.upsert::<T>(session).await
        })
    }
}

impl IdentifiedEntry {
    async fn upsert<T: Bucket>(self, session: Option<&mut ClientSession>) -> Result<Upserted> {
        let mut is_in_doubt = false;
        if session.is_none()
            && let Some(updates) = self.plan_at_once::<T>()
        {
            match self.send(updates).await? {
                Sent::Done(done) => return Ok(done),
                Sent::Refused => {}
                Sent::InDoubt => is_in_doubt = true,
            }
        }
        let upserted = self.replace_or_append::<T>(session).await;
        // An error of a later step proves nothing of the first command.
        upserted.map_err(|error| if is_in_doubt { error.in_doubt() } else { error })
    }

    /// Replaces the item if it is there, and else appends it, in commands of their own.
    async fn replace_or_append<T: Bucket>(
        &self,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Upserted> {
        for tries in 0..TRIES {
            pause(tries).await;
            let (reader, element) = (self.reader.clone(), &self.entry.element);
            let replaced =
                replace_by_identity::<T>(reader, self.field, element, session.as_deref_mut());
            if replaced.await? {
                return Ok(Upserted::Replaced);
            }
            match self.append(session.as_deref_mut()).await? {
                Appended::Stored => return Ok(Upserted::Appended),
                // Somebody has appended it meanwhile.
                Appended::AlreadyThere => {}
            }
        }
        Err(self.reader.target().error(Kind::Contended(TRIES)))
    }

    /// The statements of which one replaces the item if it is there, and the other one appends it
    /// if it is not; `None` if a bucket's other fields depend on its items. Not for a session,
    /// where the refusal of one of them would abort a transaction.
    fn plan_at_once<T: Bucket>(&self) -> Option<Vec<Update>> {
        let Self { scope, entry, .. } = self;
        let budget = Budget::of(scope);
        let is_large = budget.is_some_and(|budget| budget.oversize(entry.size) > 0);
        if Editor::<T>::KEEPS_SUMMARY || is_large {
            return None;
        }
        let batch = Batch::new(scope.clone(), [entry.clone()]);
        let (append, _) = batch.statements(SendMode::WithOthers).ok()?.pop()?;
        let identity = identity(self.field, &entry.element)?;
        let element = entry.element.clone();
        let replace = scope.replace_by_identity_or_be_refused(self.field, identity, element);
        Some(vec![replace, append])
    }

    /// Sends both statements.
    async fn send(&self, updates: Vec<Update>) -> Result<Sent> {
        let target = self.engine.target_of(&self.scope);
        let mut results = match self.engine.server.update_all(updates, false).await {
            Ok(results) => results.into_iter().map(|result| result.map(|()| true)),
            // The driver repeats a broken `bulkWrite`, but gives up if one of its statements is
            // refused, as one of these always is. Whatever it has stored, the next steps find it.
            Err(error) if is_repeatable(&error) => return Ok(Sent::InDoubt),
            Err(error) => return Err(target.write_error(error)),
        };
        let (Some(replaced), Some(appended)) = (results.next(), results.next()) else {
            return Ok(Sent::InDoubt);
        };
        match (replaced, self.engine.answer(&appended), appended) {
            // After a lost answer the command is sent again, and then the item is there to be
            // replaced.
            (_, Answer::Stored, _) => Ok(Sent::Done(Upserted::Appended)),
            (Ok(_), _, _) => Ok(Sent::Done(Upserted::Replaced)),
            (_, Answer::Refused, Err(error)) => Err(target.write_error(error)),
            (Err(error), _, _) if maybe_stored(&error, true) => Ok(Sent::InDoubt),
            _ => Ok(Sent::Refused),
        }
    }
}

/// The outcome of the command that carries both statements.
enum Sent {
    Done(Upserted),
    /// Both were refused, and the item may be stored in another way.
    Refused,
    /// Nobody knows what was stored.
    InDoubt,
}

/// Replaces the item of a key that has the same identity as this element, if there is one.
pub(crate) async fn replace_by_identity<T: Bucket>(
    reader: Reader,
    field: &'static str,
    element: &Bson,
    session: Option<&mut ClientSession>,
) -> Result<bool> {
    let query = Query::of_identity(field, element);
    let editor = Editor::<T>::new(reader, query, Selection::First);
    let replaced = editor.change(&mut Edit::Replace(element), session).await?;
    Ok(!replaced.items.is_empty())
}
