//! Reads that the next statement needs.

use mongodb::{ClientSession, bson::Bson};
use tokio::sync::MutexGuard;

use super::{Batch, Engine, NewestBucket};
use crate::{Result, error::Kind, protocol::command::IndexedScope};

impl Engine {
    /// Removes the items that are stored already, if some may be. One round trip.
    pub(super) async fn find_present(
        &self,
        batch: &mut Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let (true, Some(field)) = (batch.doubtful, batch.scope.spec.unique) else {
            return Ok(());
        };
        let identities = batch.scope.identities(field, batch.identities());
        let found = self.server.identities(identities, session);
        let found = found
            .await
            .map_err(|error| self.target_of(&batch.scope).read_error(error))?;
        batch.found(found);
        Ok(())
    }

    /// Reads the newest bucket if the next statement needs it. The caller holds the lock until it has sent
    /// that statement.
    pub(super) async fn find_newest_bucket(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<MutexGuard<'_, ()>>> {
        if batch.newest_bucket == NewestBucket::Unknown && batch.len() > batch.blind() {
            batch.newest_bucket = NewestBucket::MustRead;
        }
        if batch.newest_bucket == NewestBucket::MustRead {
            batch.newest_bucket = self
                .open_bucket(&batch.scope, session.as_deref_mut())
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
        batch.newest_bucket = self.last(batch, session).await?;
        Ok(lock)
    }

    /// Reads the last bucket, when no bucket is open or the open one has no room. With numbered buckets the
    /// open one is the last one, so one read shows whether another writer has opened it meanwhile.
    async fn last(
        &self,
        batch: &Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        if batch.scope.spec.id.ordinal.counts() {
            let last = self.server.last_bucket(&batch.scope, session).await?;
            return Ok(NewestBucket::by_last(last));
        }
        let last = self
            .server
            .last_id(&batch.scope, batch.siblings(), session)
            .await?;
        Ok(NewestBucket::Closed { last })
    }

    /// Reads the open bucket.
    ///
    /// An id that no bucket of the key can have is an error: the bucket blocks all others, and reads would
    /// not find its items. It may come from another id format, or another program.
    async fn open_bucket(
        &self,
        scope: &IndexedScope,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let Some(open) = self.server.open_bucket(scope, session).await? else {
            return Ok(NewestBucket::NoneOpen);
        };
        NewestBucket::by_open(open, scope).map_err(|id| {
            let id = match id {
                Bson::String(id) => id,
                other => other.to_string(),
            };
            self.target_of(scope).error(Kind::ForeignId(id))
        })
    }
}
