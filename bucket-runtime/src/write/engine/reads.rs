//! Reads that the next statement needs.

use bucket_core::protocol::command::KeyScope;
use mongodb::ClientSession;
use tokio::sync::MutexGuard;

use super::{Batch, Engine, NewestBucket};
use crate::Result;

impl Engine {
    /// Removes the items that are stored already, if some may be. One round trip.
    pub(super) async fn find_present(
        &self,
        batch: &mut Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let (true, Some(field)) = (batch.retry_state.may_be_present, batch.scope.spec.unique)
        else {
            return Ok(());
        };
        let identities = batch.identities();
        let present = (self.server).present_identities(&batch.scope, field, identities, session);
        batch.remove_present(&present.await?);
        Ok(())
    }

    /// Reads the newest bucket if the next statement needs it. The caller holds the lock until it
    /// has sent that statement.
    pub(super) async fn find_newest_bucket(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<MutexGuard<'_, ()>>> {
        // Nothing is known, and there are too many items for one statement that searches.
        if batch.newest_bucket == NewestBucket::Unknown
            && !batch.is_contended()
            && batch.len() > batch.max_in_new_bucket()
        {
            batch.newest_bucket = NewestBucket::MustRead;
        }
        if batch.newest_bucket == NewestBucket::MustRead {
            batch.retry_state.is_own = false;
            batch.newest_bucket = self
                .read_newest_bucket(batch, session.as_deref_mut())
                .await?;
            // A statement with one item finds the open bucket by itself, if that has room for it.
            if let NewestBucket::Open { room, oversize, .. } = batch.newest_bucket
                && let (Some(next), 1) = (batch.front(), batch.len())
                && batch.has_room_for(next, room, oversize)
            {
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
    ///
    /// An id that no bucket of the key can have is an error: the bucket blocks all others, and
    /// reads would not find its items. It may come from another id format, or another program.
    async fn read_newest_bucket(
        &self,
        batch: &mut Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let (server, scope) = (&self.server, &batch.scope);
        let is_numbered = scope.spec.id.ordinal.counts();
        if !is_numbered && !batch.retry_state.has_lost && session.is_none() {
            return Ok(match server.last_bucket(scope, None).await? {
                // That bucket does not tell the last id of the item's moment.
                NewestBucket::Closed { last: Some(last) } if batch.is_before(&last) => {
                    NewestBucket::NoneOpen
                }
                newest_bucket => newest_bucket,
            });
        }
        let open = server.open_bucket(scope, session).await?;
        batch.retry_state.has_lost = false;
        let Some(open) = open else {
            return Ok(NewestBucket::NoneOpen);
        };
        let newest = NewestBucket::from_open(open, scope);
        newest.map_err(|id| self.target_of(scope).error(scope.foreign(&id)))
    }

    /// Reads the last bucket, when no bucket is open or the open one has no room. With numbered
    /// buckets the open one is the last one, so one read shows whether another writer has opened it
    /// meanwhile. With a time, the last id of the next item's moment decides the next id.
    async fn read_last_bucket(
        &self,
        batch: &Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let (server, scope) = (&self.server, &batch.scope);
        let opening_id = batch.next_opening_id();
        match opening_id.filter(|_| !scope.spec.id.ordinal.counts()) {
            Some(opening_id) => {
                let ids = KeyScope::ids_of_moment(opening_id);
                let last = server.last_id(scope, ids, session).await?;
                Ok(NewestBucket::Closed { last })
            }
            None => server.last_bucket(scope, session).await,
        }
    }
}

impl Batch {
    /// With a time ordinal, the id of a bucket that the next item opens.
    fn next_opening_id(&self) -> Option<&str> {
        self.front()?.opening_id.as_deref()
    }

    /// Whether the next item belongs to an earlier moment than the bucket with this id.
    fn is_before(&self, last: &str) -> bool {
        let opening_id = self.next_opening_id();
        opening_id.is_some_and(|id| *id < *last && !last.starts_with(id))
    }

    /// Whether the next item belongs to another moment than the last known bucket.
    fn is_of_another_moment(&self) -> bool {
        match (&self.newest_bucket, self.next_opening_id()) {
            (NewestBucket::Closed { last: Some(last) }, Some(id)) => !last.starts_with(id),
            _ => false,
        }
    }
}
