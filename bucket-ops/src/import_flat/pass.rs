//! A pass over the flat documents that are not imported yet.

use std::marker::PhantomData;

use bucket_core::{
    error::Kind,
    protocol::command::{IndexedScope, KeyScope},
    schema::key::Key,
    server::{Server, read::cursor::DocumentCursor},
    value::{bytes, shell, unreadable::OnUnreadable},
};
use bucket_runtime::{
    __ops::{Engine, Entry},
    Bucket, Error, Result,
};
use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

use super::{
    ImportProgress,
    flat::{self, FlatItem},
};
use crate::transfer::{Chunk, Record, Transfer, hash, refuse_keys};

/// How many buckets one transaction writes at most, where only the number of items limits a bucket.
const BUCKETS_PER_TRANSACTION: usize = 1000;

/// How many bytes of flat documents one transaction stores, and the bucket that exceeds them.
const BYTES_PER_TRANSACTION: usize = 4 << 20;

/// How many keys one query looks up.
const KEYS_PER_QUERY: usize = 500;

/// The progress of an import, as its record stores it: the first flat documents are stored, left
/// out, or unreadable.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ImportState {
    /// How many items are stored.
    items: u64,
    left_out: u64,
    unreadable: u64,
    /// The hash of the last of these documents.
    last: i64,
    /// The prefix of the last stored item's key.
    key: Option<String>,
}

impl ImportState {
    /// How many flat documents are done with.
    fn taken(&self) -> u64 {
        self.items + self.left_out + self.unreadable
    }

    fn leave_out(&mut self, items: usize) {
        self.items -= items as u64;
        self.left_out += items as u64;
    }
}

/// A pass over the flat documents that are not imported yet.
pub(super) struct ImportPass<T> {
    flat: Server,
    found: u64,
    /// Whether an earlier call has begun the import.
    is_begun: bool,
    transfer: Transfer<ImportState>,
    item: PhantomData<fn() -> T>,
}

/// The flat documents, in order.
struct Rows {
    cursor: DocumentCursor<'static>,
    /// The bytes of the last one.
    last: Vec<u8>,
}

impl<T: Bucket> ImportPass<T> {
    /// Finds how far an earlier call has come; if there was none, an error if the collection holds
    /// one of the keys. Writes nothing.
    pub(super) async fn find(engine: &Engine, flat: &Server, order: &Document) -> Result<Self> {
        let id = doc! { "from": flat.name(), "to": engine.server.name(), "sort": order };
        let (record, state, bucket) = Record::find::<ImportState>(&engine.server, id).await?;
        if state.is_none() && bucket.is_some() {
            refuse_all_keys::<T>(engine, flat).await?;
        }
        Ok(Self {
            found: flat.target().count_documents(doc! {}, None).await?,
            flat: flat.clone(),
            is_begun: state.is_some(),
            transfer: Transfer {
                engine: engine.clone(),
                record,
                state: state.unwrap_or_default(),
                leave_out: Some(ImportState::leave_out),
            },
            item: PhantomData,
        })
    }

    pub(super) fn progress(&self) -> ImportProgress {
        let state = &self.transfer.state;
        ImportProgress {
            found: self.found,
            stored: state.items,
            left_out: state.left_out,
            unreadable: state.unreadable,
        }
    }

    /// Stores everything that is not stored yet.
    pub(super) async fn run(
        &mut self,
        order: &Document,
        progress: &mut (dyn FnMut(ImportProgress) + Send),
        on_unreadable: &mut Option<OnUnreadable<'_>>,
    ) -> Result<()> {
        let engine = self.transfer.engine.clone();
        // Inserts of whole buckets name no index, and would not notice that it is missing.
        let tried = engine.server.try_hint(engine.open.name).await;
        tried.map_err(|error| engine.server.target().write_error(error))?;
        let mut rows = self.rows(order).await?;
        if !self.is_begun {
            self.transfer.record.begin(&self.transfer.state).await?;
        }
        progress(self.progress());
        let mut next = self.transfer.state.clone();
        let mut chunk = Chunk::default();
        let (mut buckets, mut bytes) = (0, 0);
        while let Some(item) = self.next(&mut rows).await? {
            let Some((scope, entry)) = unless_skipped(item, on_unreadable)? else {
                next.unreadable += 1;
                next.last = hash(&[&rows.last]);
                continue;
            };
            // A chunk ends between two buckets, as far as the number of items tells.
            if chunk.items_of(&scope) % scope.capacity() == 0 {
                if buckets == buckets_per_transaction() || bytes >= BYTES_PER_TRANSACTION {
                    let chunk = std::mem::take(&mut chunk);
                    self.transfer.store(chunk, next.clone()).await?;
                    next = self.transfer.state.clone();
                    progress(self.progress());
                    (buckets, bytes) = (0, 0);
                }
                buckets += 1;
            }
            let is_of = |key: &String| scope.prefix.starts_with(key);
            if !next.key.as_ref().is_some_and(is_of) {
                let key = KeyScope::new(scope.spec, scope.parts.clone());
                next.key = Some(key.prefix.clone());
                chunk.new_keys.push(key);
            }
            chunk.push(scope, entry);
            bytes += rows.last.len();
            next.items += 1;
            next.last = hash(&[&rows.last]);
        }
        self.transfer.store(chunk, next).await?;
        progress(self.progress());
        let taken = self.transfer.state.taken();
        if taken != self.found {
            return Err(self.has_changed(taken));
        }
        self.transfer.record.end().await
    }

    /// Reads everything that is not stored yet, and stores nothing.
    pub(super) async fn look(
        mut self,
        order: &Document,
        on_unreadable: &mut Option<OnUnreadable<'_>>,
    ) -> Result<ImportProgress> {
        let mut rows = self.rows(order).await?;
        while let Some(item) = self.next(&mut rows).await? {
            let is_skipped = unless_skipped(item, on_unreadable)?.is_none();
            self.transfer.state.unreadable += u64::from(is_skipped);
        }
        Ok(self.progress())
    }

    /// The flat documents behind those that are done with; an error unless the last one of these is
    /// where it was.
    async fn rows(&self, order: &Document) -> Result<Rows> {
        let taken = self.transfer.state.taken();
        let has_unique_ids = flat::has_unique_ids(&self.flat).await?;
        let skip = taken.saturating_sub(1);
        let stages = flat::pipeline(&T::SPEC, order, has_unique_ids, skip);
        let rows = (self.flat.target()).pipeline(stages);
        let mut rows = Rows {
            cursor: rows.allow_disk_use().compare_bytes().cursor(None).await?,
            last: Vec::new(),
        };
        if taken > 0 {
            bucket_core::reached!("an import goes on");
            self.next(&mut rows).await?;
            if hash(&[&rows.last]) != self.transfer.state.last {
                return Err(self.has_changed(taken));
            }
        }
        Ok(rows)
    }

    /// The next flat document as the entry of an item, or why it cannot be one.
    async fn next(&self, rows: &mut Rows) -> Result<Option<Result<(IndexedScope, Entry)>>> {
        let Some((_, row)) = rows.cursor.next_raw().await? else {
            return Ok(None);
        };
        row.as_bytes().clone_into(&mut rows.last);
        let read = match bytes::read(row.as_bytes()) {
            Ok(flat) => self.entry(flat),
            Err(error) => Err((self.flat.target().error(Kind::Driver)).with_driver(error)),
        };
        let flat = || Kind::FlatDocument(shell::id(row));
        Ok(Some(read.map_err(|error| error.known_as(flat()))))
    }

    /// The scope of the item and its entry, or an error if it cannot be stored.
    fn entry(&self, flat: FlatItem<T::Element>) -> Result<(IndexedScope, Entry)> {
        let FlatItem { key, element } = flat;
        let target = self.flat.target();
        let fail = |source: Error| target.error(Kind::Serialize).with_source(source.into());
        let key = T::Key::from_values(key).map_err(|field| {
            let field = T::SPEC.key[field].name;
            let why = format!("the key field `{field}` is missing or of another type");
            target.error(Kind::Serialize).with_source(why.into())
        })?;
        let item = T::from_parts(key, element);
        self.transfer.engine.entry(&item).map_err(fail)
    }

    fn has_changed(&self, taken: u64) -> Error {
        let found = self.found;
        (self.flat.target()).error(Kind::FlatCollectionChanged { found, taken })
    }
}

/// The item; `None` if it cannot be read, and the callback has taken the reason.
fn unless_skipped<T>(
    item: Result<T>,
    on_unreadable: &mut Option<OnUnreadable<'_>>,
) -> Result<Option<T>> {
    match (item, on_unreadable) {
        (Err(error), Some(skip)) => {
            skip(error);
            Ok(None)
        }
        (item, _) => item.map(Some),
    }
}

fn buckets_per_transaction() -> usize {
    #[cfg(feature = "__simulated")]
    if bucket_core::server::wire::simulated::simulated().is_some() {
        return 2; // A limit that a schedule reaches.
    }
    BUCKETS_PER_TRANSACTION
}

/// An error if the collection holds a bucket of any key of the flat collection.
async fn refuse_all_keys<T: Bucket>(engine: &Engine, flat: &Server) -> Result<()> {
    let keys = flat.target().pipeline([flat::keys(&T::SPEC)]);
    let keys = keys.allow_disk_use().compare_bytes();
    let mut keys = keys.cursor(None).await?;
    let mut scopes = Vec::with_capacity(KEYS_PER_QUERY);
    loop {
        let next = keys.next_decoded::<Document>().await?;
        let is_last = next.is_none();
        // An unreadable key becomes an error when its item is reached.
        let key = next.and_then(|next| {
            let values = next.get_array("_id").ok()?.clone();
            T::Key::from_values(values).ok()
        });
        scopes.extend(
            key.map(|key| KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed()))),
        );
        if is_last || scopes.len() == KEYS_PER_QUERY {
            refuse_keys(engine, &scopes, None).await?;
            scopes.clear();
        }
        if is_last {
            return Ok(());
        }
    }
}
