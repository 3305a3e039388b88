//! What a handle remembers of its keys, and the rings of the busy ones, as a writer meets them.

use mongodb::ClientSession;

use super::{Batch, Engine, NewestBucket, batch::Opening, retry_state::RingDoubt};
use crate::{
    Result, protocol::command::IndexedScope, schema::slot::IndexSlot,
    server::deployment::Deployment, write::chance::happens_once_in,
};

impl Engine {
    /// Takes over what the handle remembers of the key, once for each batch. A session may not see yet
    /// what the handle has written.
    pub(crate) fn recall<W>(&self, batch: &mut Batch<W>, is_in_session: bool) {
        batch.retry_state.is_in_session = is_in_session;
        if std::mem::replace(&mut batch.retry_state.has_recalled, true) {
            return;
        }
        let known = self.memory.recall(&batch.scope.prefix);
        (batch.scope.slot, batch.turns) = (known.slot, known.turns && !is_in_session);
        // The command before, which has just ended, knows better.
        if is_in_session || batch.newest_bucket != NewestBucket::Unknown {
            return;
        }
        batch.newest_bucket = match known.newest_bucket {
            open @ NewestBucket::Open { .. } => open,
            // It opens a bucket by itself, since the ring turns only while none is open.
            closed @ NewestBucket::Closed { .. } if batch.turns => closed,
            // Buckets may have been removed since then, and numbers leave no gap.
            NewestBucket::Closed { .. } if batch.scope.spec.id.ordinal.counts() => {
                NewestBucket::NoneOpen
            }
            // The answer to a search behind the ring's statement would not tell what it has opened.
            closed @ NewestBucket::Closed { .. } if known.slot != IndexSlot::FIRST => closed,
            _ => NewestBucket::Unknown,
        };
    }

    /// Remembers what the batch knows of the key; nothing in a session, whose transaction may be aborted: the number
    /// after a bucket that was never stored would leave a gap.
    pub(super) fn remember<W>(&self, batch: &Batch<W>) {
        let newest_bucket = match &batch.newest_bucket {
            _ if batch.retry_state.is_in_session => &NewestBucket::Unknown,
            known @ (NewestBucket::Open { .. } | NewestBucket::Closed { .. }) => known,
            _ => &NewestBucket::Unknown,
        };
        (self.memory).remember(&batch.scope.prefix, newest_bucket, batch.scope.slot);
    }

    /// Notes what was read of the key's ring.
    pub(super) fn note_ring<W>(&self, batch: &mut Batch<W>, free: Option<IndexSlot>) {
        batch.scope.slot = free.unwrap_or_default();
        batch.turns = false;
        batch.retry_state.ring_doubt = RingDoubt::None;
        (self.memory).remember_ring(&batch.scope.prefix, free.is_some());
    }

    /// Notes that a statement may have opened a bucket. A busy key gets a ring, if the deployment takes
    /// the statements that ask it and open a bucket in one command.
    pub(super) fn note_opening(&self, scope: &IndexedScope, opening: &Opening) {
        let opened = match opening {
            Opening::Yes => true,
            // The answer to a command of many keys does not tell.
            Opening::IfNoneOpen(_) => happens_once_in(scope.open.capacity),
            Opening::No | Opening::Asks => false,
        };
        if opened && self.memory.note_opening(&scope.prefix) {
            let (engine, scope) = (self.clone(), scope.clone());
            tokio::spawn(async move { engine.create_ring(scope).await });
        }
    }

    /// Gives the key a ring. Without it the key only stays slower, so an error has no consequences: a
    /// validator may refuse such a document.
    async fn create_ring(&self, scope: IndexedScope) {
        let deployment = self.server.known_deployment().await;
        if !deployment.is_ok_and(Deployment::takes_several_updates) {
            return;
        }
        let create = || scope.create_ring();
        let created = self.target_of(&scope).update(create, None).await;
        self.memory.remember_ring(&scope.prefix, created.is_ok());
    }

    /// Whether the next statement in a session may open a bucket: the ring is asked before, in a command
    /// of its own, since a refusal would abort a transaction.
    pub(super) async fn may_open_in_session<W>(
        &self,
        batch: &mut Batch<W>,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let (Some(session), scope) = (session, &batch.scope) else {
            return Ok(true);
        };
        if scope.slot == IndexSlot::FIRST
            || !matches!(batch.newest_bucket, NewestBucket::Closed { .. })
        {
            return Ok(true);
        }
        let expect = || scope.expect_slot();
        let is_free = self.target_of(scope).update(expect, Some(session)).await?;
        if !is_free {
            batch.retry_state.ring_doubt = RingDoubt::OtherSlot;
            batch.newest_bucket = NewestBucket::MustRead;
        }
        Ok(is_free)
    }
}
