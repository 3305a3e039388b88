//! A pass over the flat documents that are not imported yet.

use std::{borrow::Cow, marker::PhantomData};

use mongodb::bson::{Bson, Document, RawDocument, doc};
use serde::{Deserialize, Serialize};

use super::{
    ImportProgress,
    flat::{self, FlatItem},
};
use crate::{
    Bucket, Result,
    error::Kind,
    maintain::transfer::{Chunk, Record, Transfer, find_any, refuse_keys},
    protocol::command::KeyScope,
    schema::key::Key,
    server::{
        Server,
        cursor::{self, CursorError, DocumentCursor},
    },
    write::{bulk, engine::Engine, item::UntypedItem},
};

/// How many buckets one transaction writes at most, where only the number of items limits a bucket.
const BUCKETS_PER_TRANSACTION: usize = 1000;

/// How many bytes of items one transaction writes, and the bucket that exceeds them.
const BYTES_PER_TRANSACTION: usize = 4 << 20;

/// How many keys one query looks up.
const KEYS_PER_QUERY: usize = 500;

/// The progress of an import, as its record stores it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct ImportState {
    /// How many items are stored.
    stored: u64,
    /// The sort values of the last stored item.
    at: Option<Vec<Bson>>,
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

impl<T: Bucket> ImportPass<T> {
    /// Finds how far an earlier call has come; if there was none, an error if the collection holds one of the keys.
    /// Writes nothing.
    pub(super) async fn find(engine: &Engine, flat: &Server, order: &Document) -> Result<Self> {
        engine.server.needs_replica_set("import_flat").await?;
        engine.index.refresh(&T::SPEC).await?;
        let id = doc! { "from": flat.name(), "to": engine.server.name(), "sort": order };
        let (record, state) = Record::find(&engine.server, id).await?;
        if state.is_none() {
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
                leaves_out_present: true,
            },
            item: PhantomData,
        })
    }

    pub(super) fn progress(&self) -> ImportProgress {
        ImportProgress {
            found: self.found,
            stored: self.transfer.state.stored,
        }
    }

    /// Stores everything that is not stored yet.
    pub(super) async fn run(
        &mut self,
        order: &Document,
        progress: &mut (dyn FnMut(ImportProgress) + Send),
    ) -> Result<()> {
        if !self.is_begun {
            self.transfer.record.begin(&self.transfer.state).await?;
        }
        progress(self.progress());
        let mut next = self.transfer.state.clone();
        let stages = flat::pipeline(&T::SPEC, order, next.at.as_deref());
        let items = (self.flat.target()).pipeline(stages).allow_disk_use();
        let mut items = items.cursor(None).await?;
        let last_key = next.at.as_ref().and_then(|at| key::<T>(at).ok());
        let mut last_key = last_key.map(|key| scope_of::<T>(&key));
        let mut chunk = Chunk::default();
        let (mut buckets, mut bytes) = (0, 0);
        while let Some((at, item, size)) = self.next(&mut items).await? {
            let scope = item.scope().by(self.transfer.engine.index.get());
            // A chunk ends between two buckets, as far as the number of items tells.
            if chunk.items_of(&scope) % scope.open.capacity as usize == 0 {
                if buckets == buckets_per_transaction() || bytes >= BYTES_PER_TRANSACTION {
                    let chunk = std::mem::take(&mut chunk);
                    self.transfer.store(chunk, next.clone()).await?;
                    progress(self.progress());
                    (buckets, bytes) = (0, 0);
                }
                buckets += 1;
            }
            if !(last_key.as_ref()).is_some_and(|key| scope.prefix.starts_with(&key.prefix)) {
                let key = KeyScope::new(scope.spec, scope.parts.clone());
                chunk.begin_new_key(key.clone());
                last_key = Some(key);
            }
            chunk.push(&scope, item);
            bytes += size;
            next.stored += 1;
            next.at = Some(at);
        }
        if !chunk.is_empty() {
            self.transfer.store(chunk, next).await?;
        }
        progress(self.progress());
        self.transfer.record.end().await
    }

    /// The next item, with the sort values and the size of its flat document.
    async fn next(
        &self,
        items: &mut DocumentCursor<'_, FlatItem<T::Element>>,
    ) -> Result<Option<(Vec<Bson>, T, usize)>> {
        let target = self.flat.target();
        let size = |row: Cow<'_, RawDocument>| {
            let element = row.get_document("element");
            element.map_or(0, |element| element.as_bytes().len())
        };
        let next = items.next_and(size).await.map_err(|error| match error {
            CursorError::Driver(error) => target.read_error(error),
            CursorError::Decode(row, error) => {
                let kind = Kind::FlatDocument(cursor::id(&row));
                target.error(kind).with_driver(error)
            }
        })?;
        let Some((FlatItem { at, element }, size)) = next else {
            return Ok(None);
        };
        let key = key::<T>(&at).map_err(|field| {
            let id = at.last().map_or_else(String::new, Bson::to_string);
            let field = T::SPEC.key[field].name;
            let source = format!("the key field `{field}` is missing or of another type");
            (target.error(Kind::FlatDocument(id))).with_source(source.into())
        })?;
        let item = T::from_parts(key, element);
        bulk::check(&self.transfer.engine, &item)?;
        Ok(Some((at, item, size)))
    }
}

fn buckets_per_transaction() -> usize {
    #[cfg(feature = "__simulated")]
    return crate::server::simulated::within_reach(BUCKETS_PER_TRANSACTION);
    #[cfg(not(feature = "__simulated"))]
    BUCKETS_PER_TRANSACTION
}

/// The key in these sort values, or the index of the first field that is not one of a key.
fn key<T: Bucket>(at: &[Bson]) -> Result<T::Key, usize> {
    T::Key::from_values(at[..T::SPEC.key.len()].to_vec())
}

fn scope_of<T: Bucket>(key: &T::Key) -> KeyScope {
    KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed()))
}

/// An error if the collection holds a bucket of any key of the flat collection.
async fn refuse_all_keys<T: Bucket>(engine: &Engine, flat: &Server) -> Result<()> {
    if find_any(&engine.server, None).await?.is_none() {
        return Ok(());
    }
    let target = flat.target();
    let keys = target.pipeline(flat::keys(&T::SPEC)).allow_disk_use();
    let mut keys = keys.cursor::<Document>(None).await?;
    let mut scopes = Vec::with_capacity(KEYS_PER_QUERY);
    loop {
        let next = keys.next_row().await?;
        let is_last = next.is_none();
        // An unreadable key becomes an error when its item is reached.
        let key = next.and_then(|next| key::<T>(next.get_array("at").ok()?).ok());
        scopes.extend(key.map(|key| scope_of::<T>(&key)));
        if is_last || scopes.len() == KEYS_PER_QUERY {
            refuse_keys(engine, &scopes, None).await?;
            scopes.clear();
        }
        if is_last {
            return Ok(());
        }
    }
}
