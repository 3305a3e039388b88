//! The append protocol: which command comes next, and when to stop.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use mongodb::{ClientSession, bson::Bson, error::Error as DriverError};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    Error, Result,
    command::{KeyScope, OPEN_INDEX},
    error::{Kind, duplicate_index},
    id,
    server::Server,
};

/// How often an append is sent at most. Each try that fails means that another writer opened a
/// bucket meanwhile, so a hundred in a row are out of reach for anything but a runaway loop.
const TRIES: u32 = 100;

/// The longest pause between two tries, in milliseconds.
const LONGEST_PAUSE: u64 = 64;

/// The buckets of one collection, for writing.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    pub(crate) server: Server,
    turns: Turns,
}

/// Items of one key in the form in which they are sent.
pub(crate) struct Batch {
    pub(crate) scope: KeyScope,
    /// With a time ordinal, the id of a bucket that the first of them opens.
    pub(crate) base: Option<String>,
    /// Those that are not stored yet.
    pub(crate) elements: Vec<Bson>,
}

impl Engine {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            server,
            turns: Turns::default(),
        }
    }

    /// Sends the elements, in order, until all are stored or one command is refused; the batch then
    /// holds those that are left. Each command carries as many as the open bucket has room for.
    ///
    /// With a time ordinal the first try of a single item is an upsert, which also opens a bucket.
    /// Otherwise, and once that id turned out to be taken, it is an update, and if nothing is open,
    /// the next id is read and a bucket opened with it. In a transaction it is the latter at once,
    /// since the E11000 that an upsert learns from would abort everything.
    pub(crate) async fn append(
        &self,
        batch: &mut Batch,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let single = session.is_none() && batch.elements.len() == 1;
        let mut new_id = batch.base.clone().filter(|_| single);
        let mut room = batch.most();
        let mut tries = 0;
        while !batch.elements.is_empty() {
            if tries == TRIES {
                return Err(self.fail(&batch.scope, Kind::Contended(TRIES)));
            }
            pause(tries).await;
            tries += 1;
            let elements = batch.next(room);
            let update = match &new_id {
                Some(id) => batch.scope.append_or_open(elements, id),
                None => batch.scope.append_to_open(elements),
            };
            match self.server.update(update, session.as_deref_mut()).await {
                Ok(true) => {
                    (room, tries) = (batch.stored(room), 0);
                    continue;
                }
                Ok(false) if room > 1 => {
                    // Perhaps there is an open bucket with less room.
                    if let Some(left) = self.room(&batch.scope, session.as_deref_mut()).await? {
                        room = left.min(batch.most());
                        continue;
                    }
                }
                Ok(false) => {}
                Err(error) => match duplicate_index(&error) {
                    // Somebody opened the bucket first: it is there now.
                    Some(OPEN_INDEX) => {
                        self.look_twice(&batch.scope, tries).await?;
                        continue;
                    }
                    // A full or sealed bucket has that id already.
                    Some("_id_") => new_id = None,
                    _ => return Err(self.refused(&batch.scope, error)),
                },
            }
            let first = batch.opening();
            match self.open(batch, first, session.as_deref_mut()).await? {
                Ok(()) => {
                    let most = batch.stored(first);
                    // One more fills a page that was opened with all but one.
                    let filled = first + 1 == batch.scope.spec.capacity as usize;
                    (room, tries) = (if filled { most.min(1) } else { most }, 0);
                }
                // Another process, or another handle, opened one meanwhile.
                Err(error) if matches!(duplicate_index(&error), Some(OPEN_INDEX | "_id_")) => {
                    if session.is_none() {
                        self.look_twice(&batch.scope, tries).await?;
                    }
                }
                Err(error) => return Err(self.refused(&batch.scope, error)),
            }
        }
        Ok(())
    }

    /// Appends one element if the key has an open bucket; tells whether it has. One round trip.
    pub(crate) async fn append_to_open(
        &self,
        scope: &KeyScope,
        element: Bson,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let update = scope.append_to_open(vec![element]);
        let stored = self.server.update(update, session).await;
        stored.map_err(|error| self.refused(scope, error))
    }

    /// Opens the next bucket with the next elements. The inner error is that of the opening, which
    /// may be worth another try.
    async fn open(
        &self,
        batch: &Batch,
        room: usize,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Result<(), DriverError>> {
        let _turn = match session {
            None => Some(self.turns.wait(&batch.scope.prefix).await),
            Some(_) => None,
        };
        let id = self.next_id(batch, session.as_deref_mut()).await?;
        let update = batch.scope.append_to_id(batch.next(room), &id);
        Ok(self.server.update(update, session).await.map(drop))
    }

    /// Who loses a race twice looks whether it was one, or whether something is in the way.
    async fn look_twice(&self, scope: &KeyScope, tries: u32) -> Result<()> {
        if tries == 2 {
            self.room(scope, None).await?;
        }
        Ok(())
    }

    /// How much room the open bucket has, if there is one.
    ///
    /// One whose id is none of the key's is an error: it is in the way of every other, and an item
    /// in there would be lost to readers. It may stem from another id format, or another program.
    async fn room(
        &self,
        scope: &KeyScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<usize>> {
        let open = self.server.open_bucket(scope, session).await;
        let open =
            open.map_err(|error| Error::read(error, self.server.name()).with_key(&scope.label()))?;
        let Some((id, count)) = open else {
            return Ok(None);
        };
        if !id.as_str().is_some_and(|id| id.starts_with(&scope.prefix)) {
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            return Err(self.fail(scope, Kind::ForeignId(id)));
        }
        Ok(Some(
            (scope.spec.capacity as usize).saturating_sub(count).max(1),
        ))
    }

    /// The id of the next bucket: the next number, or the next suffix of the item's moment.
    async fn next_id(&self, batch: &Batch, session: Option<&mut ClientSession>) -> Result<String> {
        let scope = &batch.scope;
        let among = match &batch.base {
            Some(base) => KeyScope::same_moment(base),
            None => scope.all(),
        };
        let last = (self.server.last_id(among, session).await)
            .map_err(|error| Error::read(error, self.server.name()).with_key(&scope.label()))?;
        let next = match &batch.base {
            Some(base) => id::next_suffix(base, last.as_deref()),
            None => next_number(scope, last.as_deref()),
        };
        let last = last.unwrap_or_default();
        match next {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(self.fail(scope, Kind::IdsExhausted(last))),
            Err(()) => Err(self.fail(scope, Kind::ForeignId(last))),
        }
    }

    fn refused(&self, scope: &KeyScope, error: DriverError) -> Error {
        Error::write(error, self.server.name()).with_key(&scope.label())
    }

    fn fail(&self, scope: &KeyScope, kind: Kind) -> Error {
        Error::new(kind, self.server.name()).with_key(&scope.label())
    }
}

impl Batch {
    /// The next elements, at most so many.
    fn next(&self, room: usize) -> Vec<Bson> {
        self.elements[..room.min(self.elements.len())].to_vec()
    }

    /// How many elements one command can carry at most.
    fn most(&self) -> usize {
        self.elements.len().min(self.scope.spec.capacity as usize)
    }

    /// How many elements can open a bucket: one less than fill it, unless a bucket holds only one.
    ///
    /// A bucket that is full from the start is not in the open index, and the server would take it
    /// although another one is open. What the same writer appends next would go into that one, and
    /// so come before.
    fn opening(&self) -> usize {
        let capacity = self.scope.spec.capacity as usize;
        self.elements.len().min((capacity - 1).max(1))
    }

    /// Takes out those that a command carried, and tells how many the next one can carry.
    fn stored(&mut self, room: usize) -> usize {
        self.elements.drain(..room.min(self.elements.len()));
        self.most()
    }
}

/// The id that counts on from `last`; `Err` if that is no number, `Ok(None)` past the width.
fn next_number(scope: &KeyScope, last: Option<&str>) -> Result<Option<String>, ()> {
    let next = match last {
        None => 0,
        Some(last) => {
            let text = last.strip_prefix(&scope.prefix).ok_or(())?;
            // Pages that were put before the first one have numbers below zero.
            (id::parse_signed(text).ok_or(())? + 1).max(0)
        }
    };
    Ok(id::signed(next).map(|number| scope.id(&number)))
}

/// Lets the tasks of a handle open buckets of a key one after the other.
///
/// Nothing depends on it for its correctness. But opening a bucket takes a read and a write, and
/// of all who do that at once for one key a single one succeeds; the others would try in vain.
#[derive(Debug, Clone, Default)]
struct Turns(Arc<(RandomState, [Mutex<()>; 32])>);

impl Turns {
    /// Waits until it is this key's turn; keys that share a lock merely wait a little longer.
    async fn wait(&self, key: &str) -> MutexGuard<'_, ()> {
        let (hasher, locks) = &*self.0;
        locks[hasher.hash_one(key) as usize % locks.len()]
            .lock()
            .await
    }
}

/// Waits before a further try, at random, so that writers who met once do not meet again. The
/// first repetition is sent at once: the bucket that it lost the race for is there by then.
async fn pause(tries: u32) {
    if tries > 1 {
        let longest = LONGEST_PAUSE.min(1 << tries.min(16));
        let micros = rand::random_range(0..=longest * 1000);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}
