//! Gathers the items of each key into buckets.

use mongodb::bson::{Bson, Document};

use super::{
    ImportProgress,
    place::Place,
    read::{self, Row},
    store::Ready,
};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeyScope},
        pack::Packer,
    },
    schema::{id, key::Key},
    server::{
        Server, call,
        cursor::{self, CursorError, DocumentCursor},
        transaction,
    },
    write::{
        bulk::{self, BufferedItem, NextIds, PlannedBucket},
        engine::Engine,
        item,
    },
};

/// How many buckets one transaction writes at most.
const BUCKETS: usize = 1000;

/// How many bytes of items one transaction writes at most, unless a single bucket has more.
const BYTES: usize = 4 << 20;

/// One pass over the flat collection.
pub(super) struct Gather<T> {
    engine: Engine,
    flat: Server,
    place: Place,
    found: u64,
    /// The key or window whose flat documents are being read, once there is one.
    current: Option<Current<T>>,
    ready: Ready<T>,
}

/// The key or window whose flat documents are being read, and its items that are not in a bucket yet.
struct Current<T> {
    scope: IndexedScope,
    held: Vec<BufferedItem<T>>,
    /// The room that is left in the next bucket, by count and by bytes.
    packer: Packer,
    bytes: usize,
    ids: NextIds,
    /// The sort values of the last flat document that was read.
    at: Vec<Bson>,
}

impl<T: Bucket> Gather<T> {
    pub(super) async fn new(engine: &Engine, flat: &Server, place: Place) -> Result<Self> {
        let found = flat.count_documents(Document::new(), None).await;
        Ok(Self {
            engine: engine.clone(),
            found: found.map_err(|error| flat.target().read_error(error))?,
            flat: flat.clone(),
            place,
            current: None,
            ready: Ready::default(),
        })
    }

    /// Stores everything that is not stored yet.
    pub(super) async fn run(
        &mut self,
        order: &Document,
        progress: &mut (dyn FnMut(ImportProgress) + Send),
    ) -> Result<ImportProgress> {
        progress(self.progress());
        let stages = read::pipeline(&T::SPEC, order, self.place.at.as_deref());
        let rows = self.flat.scan::<Row<T::Element>>(stages).await;
        let mut rows = rows.map_err(|error| self.flat.target().read_error(error))?;
        while let Some(row) = self.next(&mut rows).await? {
            self.take(row).await?;
            if self.ready.len() >= BUCKETS || self.ready.bytes >= BYTES {
                self.store().await?;
                progress(self.progress());
            }
        }
        self.end_bucket(false);
        self.store().await?;
        progress(self.progress());
        self.place.end().await?;
        Ok(self.progress())
    }

    async fn next(
        &self,
        rows: &mut DocumentCursor<'_, Row<T::Element>>,
    ) -> Result<Option<Row<T::Element>>> {
        rows.next().await.map_err(|error| match error {
            CursorError::Driver(error) => self.flat.target().read_error(error),
            CursorError::Decode(row, error) => {
                let kind = Kind::FlatDocument(cursor::id(&row));
                self.flat.target().error(kind).with_driver(error)
            }
        })
    }

    fn progress(&self) -> ImportProgress {
        ImportProgress {
            found: self.found,
            stored: self.place.stored,
        }
    }

    /// Adds an item to the others of its key, which follow each other.
    async fn take(&mut self, Row { at, element }: Row<T::Element>) -> Result<()> {
        let key = T::Key::from_values(at[..T::SPEC.key.len()].to_vec()).map_err(|field| {
            let id = at.last().map_or_else(String::new, Bson::to_string);
            let field = T::SPEC.key[field].name;
            let source = format!("the key field `{field}` is missing or of another type");
            self.flat
                .target()
                .error(Kind::FlatDocument(id))
                .with_source(source.into())
        })?;
        let item = T::from_parts(key, element);
        bulk::check(&self.engine, &item)?;
        let element = item::element(&item).map_err(|refusal| {
            let failed = (self.engine)
                .target_of(&item::scope(&item))
                .error(Kind::Serialize);
            failed.with_source(refusal)
        })?;
        let scope = item::scope(&item).by(self.engine.index.get());
        if let Some(budget) = Budget::of(&scope) {
            let fits = budget.check(element.value_size());
            fits.map_err(|kind| self.engine.target_of(&scope).error(kind))?;
        }
        let held = BufferedItem { index: 0, item };
        let current = self.current.as_ref();
        if current.is_none_or(|current| current.scope.prefix != scope.prefix) {
            self.end_bucket(false);
            self.current = Some(self.begin_key(scope, &held).await?);
        }
        let is_cramped = |current: &Current<T>| !current.packer.takes(element.value_size());
        if self.current.as_ref().is_some_and(is_cramped) {
            self.end_bucket(true);
        }
        if let Some(current) = &mut self.current {
            current.held.push(held);
            current.bytes += element.size();
            current.packer.add(element.value_size());
            current.at = at;
            if current.packer.is_full() {
                self.end_bucket(false);
            }
        }
        Ok(())
    }

    /// The key or window of a first item. Nothing of that key is stored yet, or this is a further window
    /// of it. If the import continues an earlier one, it may be the key where that one stopped, after a
    /// full bucket.
    async fn begin_key(
        &mut self,
        scope: IndexedScope,
        first: &BufferedItem<T>,
    ) -> Result<Current<T>> {
        let current = self.current.as_ref().map(|current| &current.scope.prefix);
        let before = current.or(self.place.left_in.as_ref());
        let key = id::prefix(&T::SPEC.id, &scope.parts);
        let ids = match before {
            Some(before) if *before == scope.prefix => {
                let opening_id = first.opening_id(&scope);
                let siblings = opening_id
                    .as_deref()
                    .map_or_else(|| scope.ids(), KeyScope::ids_of_moment);
                let last = self.engine.server.last_id(&scope, siblings, None).await?;
                NextIds::new(opening_id, last)
            }
            Some(before) if before.starts_with(&key) => NextIds::new(None, None),
            _ => {
                self.ready.begin_key(scope.key.clone());
                NextIds::new(None, None)
            }
        };
        Ok(Current {
            packer: Packer::of(&scope),
            scope,
            held: Vec::new(),
            bytes: 0,
            ids,
            at: Vec::new(),
        })
    }

    /// Makes a bucket of the gathered items; one that takes no further items is sealed.
    fn end_bucket(&mut self, sealed: bool) {
        let Some(current) = &mut self.current else {
            return;
        };
        let Some(first) = current.held.first() else {
            return;
        };
        let opening_id = first.opening_id(&current.scope);
        // Without an id it is handled like a bucket whose id is taken.
        let id = current
            .ids
            .advance(opening_id, &current.scope)
            .unwrap_or_default();
        let held = std::mem::take(&mut current.held);
        let packer = std::mem::replace(&mut current.packer, Packer::of(&current.scope));
        let chunk = PlannedBucket {
            id,
            items: held,
            sealed,
            oversize: packer.pack().oversize,
        };
        self.ready.bytes += std::mem::take(&mut current.bytes);
        (self.ready).push(current.scope.clone(), chunk, current.at.clone());
    }

    /// Writes the buckets that are ready.
    async fn store(&mut self) -> Result<()> {
        let ready = std::mem::take(&mut self.ready);
        let Some(store) = ready.into_store(&self.engine, &self.place) else {
            return Ok(());
        };
        let (items, at) = (store.items(), store.at().to_vec());
        let left_in = store.left_in().to_owned();
        transaction::run(&self.engine.server, store).await?;
        self.place.has_advanced(items, at, left_in);
        call::items(items as usize);
        Ok(())
    }
}
