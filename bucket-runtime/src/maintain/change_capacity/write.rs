//! Rewrites a run of buckets, in one transaction.

use std::{
    marker::PhantomData,
    sync::atomic::{AtomicBool, Ordering},
};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, RawBson, RawDocument, RawDocumentBuf, doc},
};

use super::run::Run;
use crate::{
    Bucket, Error, Result,
    error::Kind,
    protocol::{
        newest_bucket::OpenBucket,
        pack::{Pack, packs},
        range::Range,
        whole_bucket::{Summary, WholeBucket},
    },
    schema::{key::Key, names::SEALED, spec::Ordinal},
    server::{Server, target::Target, transaction::Attempt},
    value::{bytes, element::raw, exact, stored_bucket::StoredBucket},
    write::item,
};

/// The transaction that rewrites one run.
pub(super) struct Rewrite<T> {
    server: Server,
    run: Run,
    /// Whether an attempt was made: it lost a race against writers of the key.
    is_tried: AtomicBool,
    item: PhantomData<fn() -> T>,
}

/// The result of the transaction.
pub(super) struct Rewritten {
    pub(super) replaced: u64,
    pub(super) written: u64,
    /// The last bucket that was read.
    pub(super) last: String,
    /// The first bucket of the next run, if there is more.
    pub(super) next: Option<String>,
}

/// The buckets of a run, as they were read.
struct RunContents<T> {
    ids: Vec<String>,
    /// How many items each bucket holds, and whether it is sealed.
    counts: Vec<(usize, bool)>,
    /// Each element as it is stored, and as an item.
    items: Vec<(RawBson, T)>,
    /// The bucket after the run.
    next: Option<String>,
}

impl<T: Bucket> Rewrite<T> {
    pub(super) fn new(server: &Server, run: Run) -> Self {
        Self {
            server: server.clone(),
            run,
            is_tried: AtomicBool::new(false),
            item: PhantomData,
        }
    }

    async fn rewrite(&self, session: &mut ClientSession) -> Result<Rewritten> {
        if self.is_tried.swap(true, Ordering::Relaxed) {
            self.hold_writers(session).await?;
        }
        // Found by this call's index: if another call has changed the capacity again, this one must not
        // write any more buckets.
        let open = (self.server).open_bucket(&self.run.scope, Some(&mut *session));
        let open = open.await?;
        let found = self.read(session).await?;
        let mut done = Rewritten {
            replaced: 0,
            written: 0,
            last: found.ids.last().unwrap_or(&self.run.from).clone(),
            next: found.next.clone(),
        };
        let sizes = found.items.iter().map(|(element, _)| exact::size(element));
        let packs = packs(&self.run.scope, sizes);
        if self.is_packed(&found, &packs) {
            if let (Some(pack), Some(_)) = (packs.last(), &found.next)
                && pack.len < self.capacity()
            {
                done.next = Some(done.last.clone());
            }
            return Ok(done);
        }
        done.replaced = found.ids.len() as u64;
        let ids = doc! { "_id": { "$in": &found.ids } };
        let replaced = self.run.scope.with_key(ids);
        let deleted = self.target().delete_many(replaced, Some(&mut *session));
        deleted.await.map_err(Error::not_sent)?;
        // Unless another open bucket exists besides the rewritten ones.
        let is_rewritten =
            |open: OpenBucket| found.ids.iter().any(|id| open.id.as_str() == Some(id));
        let may_be_open = found.next.is_none() && open.is_none_or(is_rewritten);
        let documents = self.documents(&found, &packs, may_be_open);
        let documents = documents.map_err(|kind| self.target().error(kind))?;
        if let (Some(pack), Some(_)) = (packs.last(), &found.next)
            && pack.len < self.capacity()
        {
            // The next run starts with what is left of this one.
            done.next = (documents.last())
                .and_then(|last| last.get_str("_id").ok())
                .map(str::to_owned);
        }
        done.written = documents.len() as u64;
        if !documents.is_empty() {
            let inserted = self.target().insert_many(&documents, session).await;
            inserted.map_err(Error::not_sent)?;
        }
        Ok(done)
    }

    /// Makes the key's writers wait for the end of this transaction, by changing its open bucket and
    /// undoing the change. Otherwise writers that write more often than a run takes would make it start
    /// again each time, whether or not they append to a bucket of the run: on server 6.0, deleting any
    /// bucket of a key conflicts with opening another one, because both touch the key's place in the
    /// unique index (`tests/live/server_claims/dropped_index.rs`).
    async fn hold_writers(&self, session: &mut ClientSession) -> Result<()> {
        // Read outside the transaction, whose snapshot starts at its first command, the change.
        let open = self.server.open_bucket(&self.run.scope, None).await?;
        let Some(Bson::String(id)) = open.map(|open| open.id) else {
            return Ok(());
        };
        let seal = self.run.scope.seal(&id);
        let sealed = self.target().modify(seal, &mut *session).await;
        if sealed.map_err(Error::not_sent)? {
            let this = self.run.scope.with_key(doc! { "_id": id });
            let unseal = vec![doc! { "$unset": SEALED }];
            let unsealed = self.target().update_many(this, unseal, Some(session));
            unsealed.await.map_err(Error::not_sent)?;
        }
        Ok(())
    }

    async fn read(&self, session: &mut ClientSession) -> Result<RunContents<T>> {
        let all = self.server.by_ids(&self.run.scope, self.run.ids());
        let all = self.target().find(all, Range::oldest_first());
        let mut rows = all.cursor::<StoredBucket<T>>(Some(session)).await?;
        let mut found = RunContents {
            ids: Vec::new(),
            counts: Vec::new(),
            items: Vec::new(),
            next: None,
        };
        let mut bytes = 0;
        loop {
            let look = |raw: &RawDocument| {
                let bytes = raw.as_bytes();
                (bytes.len(), bytes::read::<StoredBucket<T, RawBson>>(bytes))
            };
            let (stored, (size, as_stored)) = match rows.next_and(look).await {
                Ok(Some(bucket)) => bucket,
                Ok(None) => return Ok(found),
                Err(error) => return Err(self.target().row_error(error)),
            };
            let id = stored.id.clone();
            let elements = as_stored.map_err(|error| self.target().read_error(error))?;
            let elements = elements.elements;
            let is_open = !stored.sealed && elements.len() < self.capacity();
            if let Some(last) = found.ids.last()
                && (self.run).ends_between(last, &id, is_open, found.ids.len(), bytes)
            {
                found.next = Some(id);
                return Ok(found);
            }
            if T::Key::parts(stored.key.borrowed()) != self.run.scope.parts {
                return Err(self.target().error(Kind::ForeignId(id)));
            }
            bytes += size;
            found.ids.push(id);
            found.counts.push((elements.len(), stored.sealed));
            found
                .items
                .extend(elements.into_iter().zip(stored.into_items()));
            let fits = self.run.check_size(found.ids.len(), bytes);
            fits.map_err(|kind| self.target().error(kind))?;
        }
    }

    /// Whether the buckets are already as they would be written.
    fn is_packed(&self, found: &RunContents<T>, packs: &[Pack]) -> bool {
        let is_packed = |(n, (count, sealed)): (usize, &(usize, bool))| {
            let is_end = n + 1 == packs.len() && found.next.is_none();
            packs.get(n).is_some_and(|pack| pack.len == *count)
                && (*count == self.capacity() || *sealed != is_end)
        };
        packs.len() == found.counts.len() && found.counts.iter().enumerate().all(is_packed)
    }

    fn documents(
        &self,
        found: &RunContents<T>,
        packs: &[Pack],
        may_be_open: bool,
    ) -> Result<Vec<RawDocumentBuf>, Kind> {
        let scope = &self.run.scope;
        let next = found.next.as_deref();
        let mut ids: Vec<String> = Vec::new();
        let mut name_next = |opening_id: Option<&str>| -> Result<String, Kind> {
            let id = match ids.last() {
                Some(last) => self.run.next_id(last, opening_id, next)?,
                None => found.ids[0].clone(),
            };
            ids.push(id.clone());
            Ok(id)
        };
        let mut documents = Vec::new();
        let mut rest = &*found.items;
        for (n, pack) in packs.iter().enumerate() {
            let items;
            (items, rest) = rest.split_at(pack.len);
            let opening_id = item::opening_id(scope, items[0].1.time())?;
            let id = name_next(opening_id.as_deref())?;
            let is_open = n + 1 == packs.len() && may_be_open;
            let sealed = pack.len < self.capacity() && !is_open;
            documents.push(self.document(&id, items, pack.oversize, sealed)?);
        }
        // A writer that has read the greatest number and is about to take the next one must find an open
        // bucket: otherwise there would be a gap.
        let is_full = packs.last().is_none_or(|pack| pack.len == self.capacity());
        let is_numbered = scope.spec.id.ordinal == Ordinal::Number;
        if is_numbered && may_be_open && is_full && documents.len() < found.ids.len() {
            documents.push(self.document(&name_next(None)?, &[], 0, false)?);
        }
        Ok(documents)
    }

    /// A bucket. Its elements stay as they were, including fields that the struct does not know.
    fn document(
        &self,
        id: &str,
        items: &[(RawBson, T)],
        oversize: i64,
        sealed: bool,
    ) -> Result<RawDocumentBuf, Kind> {
        let elements: Vec<_> = items.iter().map(|(element, _)| element).collect();
        let items = items.iter().map(|(_, item)| item);
        let times = items.clone().map(T::time);
        let summary = Summary::of(&T::SPEC, times, items.map(T::rollup_values));
        let document = raw(&WholeBucket {
            scope: &self.run.scope,
            id,
            count: elements.len(),
            elements,
            summary: summary.ok_or(Kind::SumOverflow)?,
            oversize,
            sealed,
        });
        document.map_err(|_| Kind::Serialize)
    }

    fn capacity(&self) -> usize {
        self.run.scope.open.capacity as usize
    }

    fn target(&self) -> Target<'_> {
        self.server.target_of(&self.run.scope)
    }
}

impl<T: Bucket> Attempt for Rewrite<T> {
    type Output = Rewritten;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<Rewritten>> {
        Box::pin(self.rewrite(session))
    }
}
