//! The append: how an item gets into the open bucket of its key, whoever else is writing.

use std::{
    future::IntoFuture,
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, DateTime, Document, Serializer},
    error::Error as DriverError,
};
use serde::Serialize;
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    Bucket, Error, Ordinal, Result,
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

/// An append that waits to be awaited; see [`Buckets::append`](crate::Buckets::append).
#[must_use = "an append is sent when it is awaited"]
pub struct Append<'s> {
    server: Server,
    turns: Turns,
    entry: Result<Entry>,
    session: Option<&'s mut ClientSession>,
}

/// An item in the form in which it is sent.
struct Entry {
    scope: KeyScope,
    element: Document,
    /// With a time ordinal, the id of a bucket that this item opens.
    base: Option<String>,
}

impl Append<'static> {
    pub(crate) fn new<T: Bucket>(
        server: &Server,
        turns: &Turns,
        scope: KeyScope,
        item: &T,
    ) -> Self {
        Self {
            server: server.clone(),
            turns: turns.clone(),
            entry: Entry::new(server, scope, item.time(), element(item)),
            session: None,
        }
    }
}

impl Append<'_> {
    /// Sends the append in this session.
    ///
    /// It then takes one round trip if the key has an open bucket and three if not. In a
    /// transaction, a race for the next bucket ends in an error with the driver's label
    /// `TransientTransactionError`, so that the transaction can be run again.
    pub fn session(self, session: &mut ClientSession) -> Append<'_> {
        Append {
            server: self.server,
            turns: self.turns,
            entry: self.entry,
            session: Some(session),
        }
    }
}

impl<'s> IntoFuture for Append<'s> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'s, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let entry = self.entry?;
            entry.append(&self.server, &self.turns, self.session).await
        })
    }
}

/// The element as a BSON value.
fn element<T: Bucket>(item: &T) -> Result<Bson, impl std::error::Error + Send + Sync + 'static> {
    struct Element<'a, T>(&'a T);

    impl<T: Bucket> Serialize for Element<'_, T> {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            self.0.serialize_element(serializer)
        }
    }

    Element(item).serialize(Serializer::new())
}

impl Entry {
    fn new<E: std::error::Error + Send + Sync + 'static>(
        server: &Server,
        scope: KeyScope,
        time: Option<DateTime>,
        element: Result<Bson, E>,
    ) -> Result<Self> {
        let fail = |kind| Error::new(kind, server.name()).with_key(&scope.label());
        let element = match element {
            Ok(Bson::Document(element)) => element,
            Ok(_) => return Err(fail(Kind::Serialize)),
            Err(error) => return Err(fail(Kind::Serialize).with_source(error)),
        };
        let base = match (scope.spec.id.ordinal, time) {
            (Ordinal::Number, _) | (_, None) => None,
            (ordinal, Some(time)) => match id::time(ordinal, time.timestamp_millis()) {
                Some(text) => Some(scope.id(&text)),
                None => return Err(fail(Kind::TimeOutOfRange(time.to_string()))),
            },
        };
        Ok(Self {
            scope,
            element,
            base,
        })
    }

    /// Sends the append until it is stored or refused.
    ///
    /// With a time ordinal the first try is a single upsert, which also opens a bucket. Otherwise,
    /// and once that id turned out to be taken, it is an update, and if nothing is open, the next
    /// id is read and a bucket opened with it. In a transaction it is the latter at once, since
    /// the E11000 that an upsert learns from would abort everything.
    async fn append(
        self,
        server: &Server,
        turns: &Turns,
        mut session: Option<&mut ClientSession>,
    ) -> Result<()> {
        let mut new_id = self.base.as_deref().filter(|_| session.is_none());
        for tries in 0..TRIES {
            pause(tries).await;
            let element = self.element.clone();
            let update = match new_id {
                Some(id) => self.scope.append_or_open(element, id),
                None => self.scope.append_to_open(element),
            };
            match server.update(update, session.as_deref_mut()).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => match duplicate_index(&error) {
                    // Somebody opened the bucket first: it is there now.
                    Some(OPEN_INDEX) => continue,
                    // A full or sealed bucket has that id already.
                    Some("_id_") => new_id = None,
                    _ => return Err(self.refused(server, error)),
                },
            }
            let turn = match session {
                None => Some(turns.wait(&self.scope.prefix).await),
                Some(_) => None,
            };
            let id = self.next_id(server, session.as_deref_mut()).await?;
            let update = self.scope.append_to_id(self.element.clone(), &id);
            let opened = server.update(update, session.as_deref_mut()).await;
            drop(turn);
            match opened {
                Ok(_) => return Ok(()),
                // Another process, or another handle, opened one meanwhile.
                Err(error) if matches!(duplicate_index(&error), Some(OPEN_INDEX | "_id_")) => {}
                Err(error) => return Err(self.refused(server, error)),
            }
        }
        Err(Error::new(Kind::Contended(TRIES), server.name()).with_key(&self.scope.label()))
    }

    /// The id of the next bucket: the next number, or the next suffix of the item's moment.
    async fn next_id(
        &self,
        server: &Server,
        session: Option<&mut ClientSession>,
    ) -> Result<String> {
        let fail = |kind| Error::new(kind, server.name()).with_key(&self.scope.label());
        let among = match &self.base {
            Some(base) => KeyScope::same_moment(base),
            None => self.scope.all(),
        };
        let last = (server.last_id(among, session).await)
            .map_err(|error| Error::read(error, server.name()).with_key(&self.scope.label()))?;
        let next = match &self.base {
            Some(base) => id::next_suffix(base, last.as_deref()),
            None => next_number(&self.scope, last.as_deref()),
        };
        let last = last.unwrap_or_default();
        match next {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(fail(Kind::IdsExhausted(last))),
            Err(()) => Err(fail(Kind::ForeignId(last))),
        }
    }

    fn refused(&self, server: &Server, error: DriverError) -> Error {
        Error::write(error, server.name()).with_key(&self.scope.label())
    }
}

/// The id that counts on from `last`; `Err` if that is no number, `Ok(None)` past the width.
fn next_number(scope: &KeyScope, last: Option<&str>) -> Result<Option<String>, ()> {
    let next = match last {
        None => 0,
        Some(last) => {
            let text = last.strip_prefix(&scope.prefix).ok_or(())?;
            id::parse_number(text).ok_or(())? + 1
        }
    };
    Ok(id::number(next).map(|number| scope.id(&number)))
}

/// Lets the tasks of a handle open buckets of a key one after the other.
///
/// Nothing depends on it for its correctness. But opening a bucket takes a read and a write, and
/// of all who do that at once for one key a single one succeeds; the others would try in vain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<(RandomState, [Mutex<()>; 32])>);

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
