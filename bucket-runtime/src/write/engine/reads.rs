//! Reads that the next statement needs.

use bucket_core::protocol::command::KeyScope;
use mongodb::{ClientSession, bson::Document};
use tokio::sync::MutexGuard;

use super::{Batch, Engine, NewestBucket};
use crate::Result;

impl Engine {
    /// Removes the items that are stored already, if some may be. One round trip.
    pub(super) async fn find_present<W>(
        &self,
        batch: &mut Batch<W>,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let (true, Some(field)) = (batch.retry_state.may_be_present, batch.scope.spec.unique)
        else {
            return Ok(());
        };
        let identities = batch.identities();
        let present = (self.server).present_identities(&batch.scope, field, identities, session);
        batch.remove_present(present.await?);
        Ok(())
    }

    /// Reads the newest bucket if the next statement needs it. The caller holds the lock until it
    /// has sent that statement.
    pub(super) async fn find_newest_bucket<W>(
        &self,
        batch: &mut Batch<W>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<MutexGuard<'_, ()>>> {
        if batch.is_unread() {
            batch.newest_bucket = NewestBucket::MustRead;
        }
        if batch.newest_bucket == NewestBucket::MustRead {
            batch.retry_state.is_own = false;
            batch.newest_bucket = self
                .read_newest_bucket(batch, session.as_deref_mut())
                .await?;
            // A statement with one item finds the open bucket by itself.
            let is_open = matches!(batch.newest_bucket, NewestBucket::Open { .. });
            if is_open && batch.len() == 1 && !batch.is_cramped() {
                batch.newest_bucket = NewestBucket::Unknown;
            }
        }
        // In a transaction, an id that is taken would abort everything.
        if session.is_some() && batch.is_of_another_moment() {
            batch.newest_bucket = NewestBucket::NoneOpen;
        }
        if batch.newest_bucket != NewestBucket::NoneOpen {
            return Ok(None);
        }
        let lock = match session {
            None => Some(self.open_locks.wait(&batch.scope.prefix).await),
            Some(_) => None,
        };
        batch.retry_state.is_own = false;
        batch.newest_bucket = self.read_last_bucket(batch, session).await?;
        Ok(lock)
    }

    /// Reads the open bucket. With a time ordinal it reads the key's last one, which nearly always
    /// is the open one if one is open, and otherwise shows the next id. If another one is open, the
    /// server refuses the next statement, which leads to a search for it; that would abort a
    /// transaction. Numbers cannot do without the search: the server would accept full buckets
    /// beside an open one with a foreign id.
    async fn read_newest_bucket<W>(
        &self,
        batch: &mut Batch<W>,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let is_numbered = batch.scope.spec.id.ordinal.counts();
        if is_numbered || batch.retry_state.has_lost || session.is_some() {
            return self.read_open_bucket(batch, session).await;
        }
        let newest_bucket = self.server.last_bucket(&batch.scope, session).await?;
        match newest_bucket {
            // It does not tell the last id of the item's moment.
            NewestBucket::Closed { last: Some(last) } if batch.is_before(&last) => {
                Ok(NewestBucket::NoneOpen)
            }
            newest_bucket => Ok(newest_bucket),
        }
    }

    /// Reads the last bucket, when no bucket is open or the open one has no room. With numbered
    /// buckets the open one is the last one, so one read shows whether another writer has opened it
    /// meanwhile.
    async fn read_last_bucket<W>(
        &self,
        batch: &mut Batch<W>,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        if batch.scope.spec.id.ordinal.counts() {
            return self.server.last_bucket(&batch.scope, session).await;
        }
        let ids = batch.ids_of_moment();
        let last = self.server.last_id(&batch.scope, ids, session).await?;
        Ok(NewestBucket::Closed { last })
    }

    /// Reads the open bucket.
    ///
    /// An id that no bucket of the key can have is an error: the bucket blocks all others, and
    /// reads would not find its items. It may come from another id format, or another program.
    async fn read_open_bucket<W>(
        &self,
        batch: &mut Batch<W>,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let open = self.server.open_bucket(&batch.scope, session).await?;
        batch.retry_state.has_lost = false;
        let Some(open) = open else {
            return Ok(NewestBucket::NoneOpen);
        };
        let newest = NewestBucket::from_open(open, &batch.scope);
        newest.map_err(|id| self.target_of(&batch.scope).error(batch.scope.foreign(&id)))
    }
}

impl<W> Batch<W> {
    /// Whether nothing is known of the newest bucket, and there are too many items for one
    /// statement that searches for it.
    fn is_unread(&self) -> bool {
        self.newest_bucket == NewestBucket::Unknown
            && !self.is_contended()
            && self.len() > self.max_in_new_bucket()
    }

    /// Whether the open bucket takes nothing, or has too few bytes left for the next item.
    fn is_cramped(&self) -> bool {
        match (&self.newest_bucket, self.front()) {
            (NewestBucket::Open { room, oversize, .. }, Some(next)) => {
                !self.has_room_for(next, *room, *oversize)
            }
            _ => false,
        }
    }

    /// Whether the next item belongs to an earlier moment than the bucket with this id.
    fn is_before(&self, last: &str) -> bool {
        let opening_id = self.front().and_then(|next| next.opening_id.as_deref());
        opening_id.is_some_and(|id| *id < *last && !last.starts_with(id))
    }

    /// Whether the next item belongs to another moment than the last known bucket.
    fn is_of_another_moment(&self) -> bool {
        let opening_id = self.front().and_then(|next| next.opening_id.as_ref());
        match (&self.newest_bucket, opening_id) {
            (NewestBucket::Closed { last: Some(last) }, Some(opening_id)) => {
                !last.starts_with(opening_id)
            }
            _ => false,
        }
    }

    /// The ids of the next item's moment, the last of which decides the next id.
    fn ids_of_moment(&self) -> Document {
        match self.front().and_then(|next| next.opening_id.as_deref()) {
            Some(opening_id) => KeyScope::ids_of_moment(opening_id),
            None => self.scope.ids(),
        }
    }
}
