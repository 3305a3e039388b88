//! Writing buckets together with how far that goes.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Bson};

use super::record::{Record, taken};
use crate::{
    Bucket, Error, Result,
    error::{Kind, duplicate_index},
    protocol::command::KeyScope,
    server::transaction::Attempt,
    write::{
        bulk::{NewBucket, PlannedBucket, has_twins},
        engine::{Batch, Engine},
    },
};

/// Buckets that are complete, or the last ones of their key.
pub(super) struct Ready<T> {
    /// The keys of which these are the first buckets.
    begun: Vec<KeyScope>,
    chunks: Vec<(KeyScope, PlannedBucket<T>)>,
    /// How many bytes their items take.
    pub(super) bytes: usize,
    /// What the last item is sorted by.
    at: Vec<Bson>,
}

impl<T> Default for Ready<T> {
    fn default() -> Self {
        Self {
            begun: Vec::new(),
            chunks: Vec::new(),
            bytes: 0,
            at: Vec::new(),
        }
    }
}

impl<T: Bucket> Ready<T> {
    pub(super) fn begin_key(&mut self, scope: KeyScope) {
        self.begun.push(scope);
    }

    pub(super) fn push(&mut self, scope: KeyScope, chunk: PlannedBucket<T>, at: Vec<Bson>) {
        self.chunks.push((scope, chunk));
        self.at = at;
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// What stores them; nothing if there are none.
    pub(super) fn into_store(self, engine: &Engine, record: &Record) -> Option<Store<T>> {
        (!self.chunks.is_empty()).then(|| Store {
            engine: engine.clone(),
            record: record.clone(),
            ready: self,
            one_by_one: AtomicBool::new(false),
        })
    }
}

/// A transaction that writes buckets, and with them into the record that they are written: so each
/// is written once, wherever it is broken off.
pub(super) struct Store<T> {
    engine: Engine,
    record: Record,
    ready: Ready<T>,
    /// Whether an id, or the place of the open bucket, was found to be taken.
    one_by_one: AtomicBool,
}

impl<T: Bucket> Store<T> {
    pub(super) fn items(&self) -> u64 {
        let items = self.ready.chunks.iter().map(|(_, chunk)| chunk.held.len());
        items.sum::<usize>() as u64
    }

    pub(super) fn at(&self) -> &[Bson] {
        &self.ready.at
    }

    /// What the id of the last bucket begins with.
    pub(super) fn left_in(&self) -> &str {
        let last = self.ready.chunks.last();
        last.map_or("", |(scope, _)| &scope.prefix)
    }

    async fn write(&self, session: &mut ClientSession) -> Result<()> {
        let server = &self.engine.server;
        // First of all, so that buckets which an earlier run has just committed are seen as its
        // work, and not as somebody else's.
        let advance = (self.record).advance(self.items(), self.at(), self.left_in());
        let advanced = (self.record.server()).update(advance, Some(&mut *session));
        match advanced.await {
            Ok(true) => {}
            Ok(false) => return Err(Error::new(Kind::Overtaken, server.name())),
            Err(error) => return Err(Error::read(error, self.record.server().name())),
        }
        let held_by = taken(server, &self.ready.begun, Some(&mut *session)).await;
        if let Some((scope, id)) = held_by.map_err(|error| Error::read(error, server.name()))? {
            return Err(self.engine.fail(scope, Kind::KeyTaken(id)));
        }
        let mut chunks = self.ready.chunks.iter();
        let are_whole =
            chunks.all(|(_, chunk)| chunk.totals().is_some() && !has_twins(&chunk.held));
        if self.one_by_one.load(Ordering::SeqCst) || !are_whole {
            self.append(session).await
        } else {
            self.insert(session).await
        }
    }

    async fn insert(&self, session: &mut ClientSession) -> Result<()> {
        let buckets: Vec<_> = (self.ready.chunks.iter())
            .map(|(scope, chunk)| NewBucket { scope, chunk })
            .collect();
        let inserted = self.engine.server.insert_many(&buckets, session).await;
        inserted.map_err(|error| {
            if duplicate_index(&error).is_some() {
                self.one_by_one.store(true, Ordering::SeqCst);
            }
            // In a transaction, which is not committed.
            Error::write(error, self.engine.server.name()).not_sent()
        })
    }

    /// Should somebody else append to a key meanwhile, the append protocol finds the way.
    async fn append(&self, session: &mut ClientSession) -> Result<()> {
        for (scope, chunk) in &self.ready.chunks {
            let entries = chunk
                .held
                .iter()
                .map(|held| held.entry(&self.engine, scope));
            let entries: Vec<_> = entries.collect::<Result<_>>()?;
            let mut batch = Batch::new(scope.clone(), entries);
            self.engine.append(&mut batch, Some(&mut *session)).await?;
        }
        Ok(())
    }
}

impl<T: Bucket> Attempt for Store<T> {
    type Output = ();

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<()>> {
        Box::pin(self.write(session))
    }
}
