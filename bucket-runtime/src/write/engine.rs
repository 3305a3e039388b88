//! The append protocol: sends statements until all items are stored.

mod batch;
mod memory;
mod open_locks;
mod outcome;
mod reads;
mod retry_state;

use bucket_core::{
    error::Kind,
    protocol::command::{IndexedScope, KeyScope, Update},
    schema::open_index::OpenIndex,
    server::{Server, pause::pause_after, target::Target},
};
pub(crate) use bucket_core::{protocol::newest_bucket::NewestBucket, server::pause::pause};
use mongodb::ClientSession;
use tokio::time::Instant;

pub use self::batch::{Batch, COMMAND_BYTES};
pub(crate) use self::batch::{Carried, SendMode};
use self::{memory::Memory, open_locks::OpenLocks};
pub(crate) use crate::write::item::Entry;
use crate::{
    Result,
    write::{appended::Appended, caller::Owner},
};

/// The most tries of one append. Each failed try means that another writer opened a bucket first,
/// so only a runaway loop reaches a hundred.
pub const TRIES: u32 = 100;

/// The buckets of one collection, for writing.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The collection.
    pub server: Server,
    open_locks: OpenLocks,
    memory: Memory,
    /// The open index, whose name stands for the capacity.
    pub open: OpenIndex,
}

impl Engine {
    /// The engine of a collection with this open index.
    pub fn new(server: Server, open: OpenIndex) -> Self {
        Self {
            open,
            server,
            open_locks: OpenLocks::default(),
            memory: Memory::default(),
        }
    }

    /// Sends the items in order until all are stored or a command is refused. The batch then holds
    /// the items that are left.
    pub async fn append(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        while !batch.is_empty() {
            self.step(batch, session.as_deref_mut()).await?;
        }
        Ok(())
    }

    /// Sends one item.
    pub(crate) async fn append_one(
        &self,
        scope: IndexedScope,
        entry: Entry,
        session: Option<&mut ClientSession>,
    ) -> Result<Appended> {
        let mut batch = Batch::new(scope, [entry]);
        self.append(&mut batch, session).await?;
        Ok(batch.only_result())
    }

    /// Sends the items in order, and calls `answer` with each item's owner and result, until all
    /// are done or `answer` returns `false`. If one item may have failed the others, it sends each
    /// by itself.
    pub(crate) async fn append_each(
        &self,
        batch: &mut Batch,
        mut answer: impl FnMut(Owner, Result<Appended>) -> bool,
    ) {
        let mut sent: Result<()> = Ok(());
        let mut go_on = true;
        loop {
            for (owner, appended) in batch.done.drain(..) {
                go_on &= answer(owner, Ok(appended));
            }
            if let Err(error) = sent {
                let failed = batch.take_failed();
                let is_one_at_fault = failed.len() > 1 && error.is_refusal();
                for (owner, entry) in failed {
                    let result = match is_one_at_fault {
                        true => self.append_one(batch.scope.clone(), entry, None).await,
                        false => Err(error.clone()),
                    };
                    go_on &= answer(owner, result);
                }
            }
            if !go_on || batch.is_empty() {
                return;
            }
            sent = self.step(batch, None).await;
        }
    }

    /// Sends until at least one more item is stored, or found to be stored already.
    ///
    /// With a time ordinal, and nothing known of the key's buckets, the first statement is an
    /// upsert, which also opens a bucket. Otherwise, or if that id is taken, it is an update; if no
    /// bucket is open, the engine reads the last id and opens a bucket with the next one. A
    /// transaction begins with the update, since the E11000 of an upsert would abort it.
    async fn step(&self, batch: &mut Batch, mut session: Option<&mut ClientSession>) -> Result<()> {
        self.recall(batch, session.is_some());
        // The refusal that shows a duplicate would abort a transaction.
        batch.retry_state.may_be_present |= session.is_some() && batch.scope.spec.unique.is_some();
        let before = batch.len();
        while batch.len() == before {
            batch.retry_state.failed_entries = 0..before;
            let (tries, last_trip) = (batch.retry_state.tries, batch.retry_state.last_trip);
            if tries == TRIES {
                return Err(self.target_of(&batch.scope).error(Kind::Contended(TRIES)));
            }
            pause_after(tries, last_trip).await;
            batch.retry_state.tries += 1;
            self.find_present(batch, session.as_deref_mut()).await?;
            if batch.len() < before {
                break;
            }
            let found = self.find_newest_bucket(batch, session.as_deref_mut());
            let _lock = found.await?;
            let began = Instant::now();
            let sent = self.send(batch, session.as_deref_mut()).await;
            batch.retry_state.last_trip = began.elapsed();
            sent?;
        }
        Ok(())
    }

    /// Sends the next statements, and takes out of the batch what they stored.
    async fn send(&self, batch: &mut Batch, session: Option<&mut ClientSession>) -> Result<()> {
        let mode = match session {
            Some(_) => SendMode::InSession,
            None => SendMode::Alone,
        };
        let statements = batch.statements(mode);
        let mut statements = statements.map_err(|kind| self.target_of(&batch.scope).error(kind))?;
        if statements.len() > 1 {
            return self.send_several(batch, statements).await;
        }
        let Some((update, mut carried)) = statements.pop() else {
            return Ok(());
        };
        // The batch does not change before the answer.
        let mut again = || Some(batch.statements(mode).ok()?.into_iter().next()?.0);
        let result = self.server.update(update, &mut again, session).await;
        let found = result.map(|answer| {
            carried.note_answer(&answer);
            answer.found > 0
        });
        self.note_outcome(batch, carried, found, mode)
    }

    async fn send_several(
        &self,
        batch: &mut Batch,
        statements: Vec<(Update, Carried)>,
    ) -> Result<()> {
        let (updates, carried): (Vec<_>, Vec<_>) = statements.into_iter().unzip();
        let sent = self.target_of(&batch.scope).update_all(updates, true);
        let results = sent.await.inspect_err(|_| {
            // Any of them may be stored.
            batch.retry_state.failed_entries = 0..carried.iter().map(|carried| carried.items).sum();
        })?;
        for (carried, result) in carried.into_iter().zip(results) {
            let is_last = result.is_err();
            self.note_outcome(batch, carried, result.map(|()| true), SendMode::Alone)?;
            if is_last {
                break;
            }
        }
        Ok(())
    }

    /// One key, for requests and their errors.
    pub fn target_of<'c>(&'c self, scope: &'c KeyScope) -> Target<'c> {
        self.server.target_of(scope)
    }
}
