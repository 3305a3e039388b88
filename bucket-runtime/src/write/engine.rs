//! The append protocol: sends statements until all items are stored.

mod batch;
mod open_locks;
mod outcome;
mod reads;

use std::time::Duration;

use mongodb::{ClientSession, bson::Bson};

pub(crate) use self::batch::{Batch, COMMAND_BYTES, Carried, SendMode, next_number};
use self::open_locks::OpenLocks;
use crate::{
    Result,
    error::Kind,
    protocol::{
        budget::Budget,
        command::{AppendedItems, IndexedScope, KeyScope},
    },
    schema::open_index::OpenIndex,
    server::{Server, current_index::CurrentIndex, target::Target},
    value::element::value_size,
    write::appended::Appended,
};
pub(crate) use crate::{protocol::newest_bucket::NewestBucket, write::item::Entry};

/// The most tries of one append. Each failed try means that another writer opened a bucket first, so only a
/// runaway loop reaches a hundred.
pub(crate) const TRIES: u32 = 100;

/// The longest pause between two tries, in milliseconds.
const LONGEST_PAUSE: u64 = 64;

/// The buckets of one collection, for writing.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) server: Server,
    open_locks: OpenLocks,
    pub(crate) index: CurrentIndex,
}

impl Engine {
    pub(crate) fn new(server: Server, open: OpenIndex) -> Self {
        Self {
            index: CurrentIndex::new(server.clone(), open),
            server,
            open_locks: OpenLocks::default(),
        }
    }

    /// Sends the items in order until all are stored or a command is refused. The batch then holds the
    /// items that are left.
    pub(crate) async fn append(
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
        Ok(batch
            .done
            .pop()
            .map_or(Appended::Stored, |(_, appended)| appended))
    }

    /// Sends the items in order, and calls `tell` with each item's place and result, until all are done or
    /// `tell` returns `false`. If one item may have failed the others, it sends each by itself.
    pub(crate) async fn append_each(
        &self,
        batch: &mut Batch,
        mut tell: impl FnMut(usize, Result<Appended>) -> bool,
    ) {
        loop {
            let result = match batch.is_empty() {
                true => Ok(()),
                false => self.step(batch, None).await,
            };
            let mut go_on = true;
            for (place, appended) in batch.done.drain(..) {
                go_on &= tell(place, Ok(appended));
            }
            if let Err(error) = result {
                let in_doubt = batch.take_doubted();
                let alone = in_doubt.len() > 1 && error.is_refusal();
                for (place, entry) in in_doubt {
                    let result = match alone {
                        true => self.append_one(batch.scope.clone(), entry, None).await,
                        false => Err(error.clone()),
                    };
                    go_on &= tell(place, result);
                }
            }
            if !go_on || batch.is_empty() {
                return;
            }
        }
    }

    /// Sends until at least one more item is stored, or found to be stored already.
    ///
    /// With a time ordinal, and nothing known of the key's buckets, the first statement is an upsert,
    /// which also opens a bucket. Otherwise, or if that id is taken, it is an update; if no bucket is open,
    /// the engine reads the last id and opens a bucket with the next one. A transaction begins with the
    /// update, since the E11000 of an upsert would abort it.
    pub(crate) async fn step(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        // The refusal that shows a duplicate would abort a transaction.
        batch.doubtful |= session.is_some() && batch.scope.spec.unique.is_some();
        loop {
            batch.in_doubt = 0..batch.len();
            if batch.tries == TRIES {
                return Err(self.target_of(&batch.scope).error(Kind::Contended(TRIES)));
            }
            if let Some(error) = batch.missing.take() {
                let spec = batch.scope.spec;
                let deadline = &mut batch.index_deadline;
                (self.index)
                    .wait_unless_in_session(spec, deadline, error, session.is_some())
                    .await?;
            }
            batch.go_by(self.index.get());
            pause(batch.tries).await;
            batch.tries += 1;
            let before = batch.len();
            self.find_present(batch, session.as_deref_mut()).await?;
            if batch.len() < before {
                return Ok(());
            }
            let found = self.find_newest_bucket(batch, session.as_deref_mut()).await;
            let _lock = match found {
                Err(error) if error.is(&Kind::MissingIndex) => {
                    batch.missing = Some(error);
                    continue;
                }
                found => found?,
            };
            self.send(batch, session.as_deref_mut()).await?;
            if batch.len() < before {
                return Ok(());
            }
        }
    }

    /// Sends the next statements, and takes out of the batch what they stored.
    async fn send(&self, batch: &mut Batch, session: Option<&mut ClientSession>) -> Result<()> {
        let sent = match session {
            Some(_) => SendMode::InSession,
            None => SendMode::Alone,
        };
        let mut statements = batch
            .statements(sent)
            .map_err(|kind| self.target_of(&batch.scope).error(kind))?;
        if statements.len() > 1 {
            let (updates, carried): (Vec<_>, Vec<_>) = statements.into_iter().unzip();
            let results = self
                .server
                .update_all(updates, true)
                .await
                .map_err(|error| {
                    // Any of them may be stored.
                    batch.in_doubt = 0..carried.iter().map(|carried| carried.items).sum();
                    self.target_of(&batch.scope).write_error(error)
                })?;
            for (carried, result) in carried.into_iter().zip(results) {
                let refused = result.is_err();
                self.note_outcome(batch, carried, result.map(|()| true))?;
                if refused {
                    break;
                }
            }
        } else if let Some((update, carried)) = statements.pop() {
            // The batch does not change before the answer.
            let same = || Some(batch.statements(sent).ok()?.pop()?.0);
            let result = self.server.update(update, same, session).await;
            self.note_outcome(batch, carried, result)?;
        }
        Ok(())
    }

    /// Appends one element if the key has an open bucket; returns whether it has. One round trip.
    pub(crate) async fn append_to_open(
        &self,
        scope: &IndexedScope,
        element: Bson,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let budget = Budget::of(scope);
        let update = || {
            scope.append_to_open(AppendedItems {
                oversize: budget.map_or(0, |budget| budget.oversize(value_size(&element))),
                elements: vec![element.clone()],
                totals: None,
            })
        };
        let stored = (self.server)
            .update(update(), || Some(update()), session)
            .await;
        stored.map_err(|error| self.target_of(scope).write_error(error))
    }

    /// The context of errors that concern one key.
    pub(crate) fn target_of<'c>(&'c self, scope: &'c KeyScope) -> Target<'c> {
        self.server.target_of(scope)
    }
}

/// Waits for a random time before a further try, so that writers that collided once do not collide again.
/// The second try does not wait: the bucket that won the race is there by then.
pub(crate) async fn pause(tries: u32) {
    if tries > 1 {
        let longest = LONGEST_PAUSE.min(1 << tries.min(16));
        let micros = rand::random_range(0..=longest * 1000);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}
