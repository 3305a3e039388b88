//! The append protocol: which command comes next, and when to stop.

mod batch;
mod capacity;
mod turns;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use mongodb::{ClientSession, bson::Bson, error::Error as DriverError};
use tokio::sync::MutexGuard;

pub(crate) use self::batch::{
    Batch, COMMAND_BYTES, Entry, Sent, Statement, Tail, comparable, next_number,
};
pub(crate) use self::capacity::Patience;
use self::turns::Turns;
use crate::{
    Appended, Error, Result,
    command::{Items, KeyScope, OPEN_INDEX, UNIQUE_INDEX},
    element::value_size,
    error::{Kind, duplicate_index, is_impossible_id, is_missing_index},
    open_index::OpenIndex,
    server::Server,
    size::Budget,
};

/// How often an append is sent at most. Each try that fails means that another writer opened a
/// bucket meanwhile, so a hundred in a row are out of reach for anything but a runaway loop.
pub(crate) const TRIES: u32 = 100;

/// The longest pause between two tries, in milliseconds.
const LONGEST_PAUSE: u64 = 64;

/// The buckets of one collection, for writing.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) server: Server,
    turns: Turns,
    open: Arc<Mutex<OpenIndex>>,
}

impl Engine {
    pub(crate) fn new(server: Server, open: OpenIndex) -> Self {
        Self {
            server,
            turns: Turns::default(),
            open: Arc::new(Mutex::new(open)),
        }
    }

    /// Sends the items, in order, until all are stored or one command is refused; the batch then
    /// holds those that are left.
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
        scope: KeyScope,
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

    /// Sends the items, in order, and tells of each by its place what became of it, until all are
    /// told of or the caller of this says `false`. If one item may be to blame for the others, each
    /// is sent by itself.
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
                let concerned = batch.take(batch.concerned);
                let alone = concerned.len() > 1 && error.is_refusal();
                for (place, entry) in concerned {
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

    /// Sends until at least one item more is stored, or found to be there already.
    ///
    /// While nothing is known of the key's buckets, and with a time ordinal, this is an upsert,
    /// which also opens a bucket. Otherwise, and once that id turned out to be taken, it is an
    /// update, and if nothing is open, the next id is read and a bucket opened with it. In a
    /// transaction it is the latter at once, since the E11000 that an upsert learns from would
    /// abort everything. What has been learned makes up the further statements of the command.
    pub(crate) async fn step(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        // A transaction would be aborted by the refusal that tells it.
        batch.doubtful |= session.is_some() && batch.scope.spec.unique.is_some();
        loop {
            batch.concerned = batch.len();
            if batch.tries == TRIES {
                return Err(self.fail(&batch.scope, Kind::Contended(TRIES)));
            }
            if let Some(error) = batch.missing.take() {
                let spec = batch.scope.spec;
                self.follow_index(spec, &mut batch.patience, error, session.is_some())
                    .await?;
            }
            self.follow(batch);
            pause(batch.tries).await;
            batch.tries += 1;
            let before = batch.len();
            self.find_present(batch, session.as_deref_mut()).await?;
            if batch.len() < before {
                return Ok(());
            }
            let found = self.find_tail(batch, session.as_deref_mut()).await;
            let _turn = match found {
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
            Some(_) => Sent::InSession,
            None => Sent::Alone,
        };
        let mut statements = batch
            .statements(sent)
            .map_err(|kind| self.fail(&batch.scope, kind))?;
        if statements.len() > 1 {
            let updates = statements.iter().map(|statement| statement.update.clone());
            let sent = self.server.update_all(updates.collect(), true).await;
            let results = sent.map_err(|error| {
                // Nothing is known about any of them.
                batch.concerned = statements.iter().map(|statement| statement.carries).sum();
                self.refused(&batch.scope, error)
            })?;
            for (statement, result) in statements.into_iter().zip(results) {
                let refused = result.is_err();
                self.learn(batch, statement, result.map(|()| true))?;
                if refused {
                    break;
                }
            }
        } else if let Some(statement) = statements.pop() {
            let result = self.server.update(statement.update.clone(), session).await;
            self.learn(batch, statement, result)?;
        }
        Ok(())
    }

    /// Draws the conclusion from the server's answer to a statement.
    pub(crate) fn learn(
        &self,
        batch: &mut Batch,
        statement: Statement,
        result: Result<bool, DriverError>,
    ) -> Result<()> {
        // An item of it may be there already, in this bucket or in another one.
        batch.doubtful |= batch.scope.spec.unique.is_some() && !matches!(result, Ok(true));
        let error = match result {
            // It would have had to make a document, and must not.
            Err(error) if is_impossible_id(&error) => {
                batch.tail = match batch.tail {
                    // What was looked up is outdated before it is used.
                    Tail::Open { .. } if batch.is_contended() => Tail::Unknown,
                    _ => Tail::Look,
                };
                return Ok(());
            }
            Ok(true) => {
                batch.stored(statement);
                return Ok(());
            }
            Ok(false) => {
                // There is no open bucket, or one with less room.
                batch.tail = match statement.carries {
                    1 if !batch.has_to_look() => Tail::Shut,
                    _ => Tail::Look,
                };
                return Ok(());
            }
            Err(error) => error,
        };
        if is_missing_index(&error) {
            batch.tail = Tail::Unknown;
            batch.missing = Some(self.refused(&batch.scope, error));
            return Ok(());
        }
        let single = batch.tail == Tail::Unknown && statement.carries == 1;
        batch.tail = match duplicate_index(&error) {
            // A full or sealed bucket has that id already.
            Some("_id_") if single => Tail::Shut,
            // Somebody opened the bucket first: it is there now. Who loses that race twice looks
            // whether it was one, or whether something is in the way.
            Some(OPEN_INDEX) if single && batch.tries != 2 && !batch.may_be_cramped() => {
                Tail::Unknown
            }
            // Where bytes count, what is open may have no room for the item, which only a look tells.
            Some(OPEN_INDEX | "_id_") if single || batch.is_bounded() || !batch.is_contended() => {
                Tail::Look
            }
            // What was looked up is outdated before it is used.
            Some(OPEN_INDEX | "_id_") => Tail::Unknown,
            Some(UNIQUE_INDEX) if batch.scope.spec.unique.is_some() => Tail::Look,
            _ => {
                batch.concerned = statement.carries;
                return Err(self.refused(&batch.scope, error));
            }
        };
        Ok(())
    }

    /// Appends one element if the key has an open bucket; tells whether it has. One round trip.
    pub(crate) async fn append_to_open(
        &self,
        scope: &KeyScope,
        element: Bson,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let budget = Budget::of(scope);
        let update = scope.append_to_open(Items {
            oversize: budget.map_or(0, |budget| budget.oversize(value_size(&element))),
            elements: vec![element],
            totals: None,
        });
        let stored = self.server.update(update, session).await;
        stored.map_err(|error| self.refused(scope, error))
    }

    /// Takes out the items that are there already, where that is in doubt. One round trip.
    async fn find_present(
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
            .map_err(|error| self.failed(&batch.scope, error))?;
        batch.found(found);
        Ok(())
    }

    /// Asks the server what has to be known for the next statement. The turn is kept until that
    /// was sent.
    async fn find_tail(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<MutexGuard<'_, ()>>> {
        if batch.tail == Tail::Unknown && batch.len() > batch.blind() {
            batch.tail = Tail::Look;
        }
        if batch.tail == Tail::Look {
            batch.tail = self
                .open_bucket(&batch.scope, session.as_deref_mut())
                .await?;
            // One item finds the bucket that is open then.
            let is_open = matches!(batch.tail, Tail::Open { .. });
            if is_open && batch.len() == 1 && !batch.is_cramped() {
                batch.tail = Tail::Unknown;
            }
        }
        // In a transaction an id that turns out to be taken would abort everything.
        if session.is_some() && batch.is_of_another_moment() {
            batch.tail = Tail::Shut;
        }
        if batch.tail != Tail::Shut {
            return Ok(None);
        }
        let turn = match session {
            None => Some(self.turns.wait(&batch.scope.prefix).await),
            Some(_) => None,
        };
        let last = self.last(batch, session).await;
        batch.tail = last.map_err(|error| self.failed(&batch.scope, error))?;
        Ok(turn)
    }

    /// The last bucket: nothing is open, or what is open has no room for the next item. Where
    /// buckets are counted the open one is the last one, so that one read tells which it is.
    async fn last(
        &self,
        batch: &Batch,
        session: Option<&mut ClientSession>,
    ) -> Result<Tail, DriverError> {
        if batch.is_bounded() && batch.scope.spec.id.ordinal.counts() {
            let last = self.server.last_bucket(&batch.scope, session).await?;
            return Ok(Tail::by_last(last));
        }
        let last = self.server.last_id(batch.siblings(), session).await?;
        Ok(Tail::Full { last })
    }

    /// The open bucket, if there is one.
    ///
    /// One whose id is none of the key's is an error: it is in the way of every other, and an item
    /// in there would be lost to readers. It may stem from another id format, or another program.
    async fn open_bucket(
        &self,
        scope: &KeyScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Tail> {
        let open = self.server.open_bucket(scope, session).await;
        let Some(open) = open.map_err(|error| self.failed(scope, error))? else {
            return Ok(Tail::Shut);
        };
        Tail::by_open(open, scope).map_err(|id| {
            let id = match id {
                Bson::String(id) => id,
                other => other.to_string(),
            };
            self.fail(scope, Kind::ForeignId(id))
        })
    }

    pub(crate) fn refused(&self, scope: &KeyScope, error: DriverError) -> Error {
        Error::write(error, self.server.name()).with_key(&scope.label())
    }

    fn failed(&self, scope: &KeyScope, error: DriverError) -> Error {
        Error::read(error, self.server.name()).with_key(&scope.label())
    }

    pub(crate) fn fail(&self, scope: &KeyScope, kind: Kind) -> Error {
        Error::new(kind, self.server.name()).with_key(&scope.label())
    }
}

/// Waits before a further try, at random, so that writers who met once do not meet again. The
/// first repetition is sent at once: the bucket that it lost the race for is there by then.
pub(crate) async fn pause(tries: u32) {
    if tries > 1 {
        let longest = LONGEST_PAUSE.min(1 << tries.min(16));
        let micros = rand::random_range(0..=longest * 1000);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}
