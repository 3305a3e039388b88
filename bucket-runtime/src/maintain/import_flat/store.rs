//! Writes buckets together with the progress of the import.

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, RawDocumentBuf},
};

use super::place::{Place, taken};
use crate::{
    Bucket, Result,
    error::Kind,
    maintain::refused::Refused,
    protocol::command::{IndexedScope, KeyScope},
    server::transaction::Attempt,
    value::element::raw,
    write::{
        bulk::{PlannedBucket, has_twins},
        engine::{Batch, Engine},
    },
};

/// Buckets that are complete, or the last ones of their keys.
pub(super) struct Ready<T> {
    /// The keys whose first buckets are among these.
    begun: Vec<KeyScope>,
    chunks: Vec<(IndexedScope, PlannedBucket<T>)>,
    /// How many bytes their items take.
    pub(super) bytes: usize,
    /// The sort values of the last item.
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

    pub(super) fn push(&mut self, scope: IndexedScope, chunk: PlannedBucket<T>, at: Vec<Bson>) {
        self.chunks.push((scope, chunk));
        self.at = at;
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// The transaction that stores them; `None` if there are none.
    pub(super) fn into_store(self, engine: &Engine, place: &Place) -> Option<Store<T>> {
        (!self.chunks.is_empty()).then(|| Store {
            engine: engine.clone(),
            place: place.clone(),
            ready: self,
            refused: Refused::default(),
        })
    }
}

/// A transaction that writes buckets and records them: so each is written once, even if the import is
/// interrupted.
pub(super) struct Store<T> {
    engine: Engine,
    place: Place,
    ready: Ready<T>,
    refused: Refused,
}

impl<T: Bucket> Store<T> {
    pub(super) fn items(&self) -> u64 {
        let items = self.ready.chunks.iter().map(|(_, chunk)| chunk.items.len());
        items.sum::<usize>() as u64
    }

    pub(super) fn at(&self) -> &[Bson] {
        &self.ready.at
    }

    /// The prefix of the last bucket's id.
    pub(super) fn left_in(&self) -> &str {
        let last = self.ready.chunks.last();
        last.map_or("", |(scope, _)| &scope.prefix)
    }

    async fn write(&self, session: &mut ClientSession) -> Result<()> {
        let server = &self.engine.server;
        // This comes first, so that buckets which an earlier call has just committed are recognised as
        // this import's own.
        let (at, left_in) = (self.at(), self.left_in());
        let advanced = self.place.advance(self.items(), at, left_in, session);
        advanced.await?;
        let held_by = taken(server, &self.ready.begun, Some(&mut *session)).await;
        if let Some((scope, id)) = held_by.map_err(|error| server.target().read_error(error))? {
            return Err(self.engine.target_of(scope).error(Kind::KeyTaken(id)));
        }
        match self.documents() {
            Some(documents) => self.insert(&documents, session).await,
            None => self.append(session).await,
        }
    }

    /// The buckets as documents; `None` if their items have to be appended one by one.
    fn documents(&self) -> Option<Vec<RawDocumentBuf>> {
        if self.refused.is_set() {
            return None;
        }
        let document =
            |(scope, chunk): &(IndexedScope, PlannedBucket<T>)| match has_twins(&chunk.items) {
                true => None,
                false => raw(&chunk.document(scope)?).ok(),
            };
        self.ready.chunks.iter().map(document).collect()
    }

    async fn insert(&self, buckets: &[RawDocumentBuf], session: &mut ClientSession) -> Result<()> {
        let server = &self.engine.server;
        let inserted = server.insert_many(buckets, session).await;
        inserted.map_err(|error| self.refused.note(error, server))
    }

    /// If another writer appends to a key meanwhile, the append protocol handles it.
    async fn append(&self, session: &mut ClientSession) -> Result<()> {
        for (scope, chunk) in &self.ready.chunks {
            let entries = chunk
                .items
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
