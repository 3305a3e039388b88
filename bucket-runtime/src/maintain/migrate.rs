//! Migration: moves the items of one struct into the buckets of another, while writers go on.

mod event;
mod place;
mod store;
mod verify;

use std::{
    collections::{BTreeSet, HashMap},
    marker::PhantomData,
    pin::pin,
};

use futures_util::future::{BoxFuture, Either, select};
use mongodb::{
    Database,
    bson::{Document, doc},
    change_stream::event::ChangeStreamEvent,
    error::Error as DriverError,
    options::{ReadConcern, ReadPreference},
};

use self::{
    event::{Appended, Happened},
    place::{Place, State},
    verify::verify,
};
use crate::{
    Bucket, Result,
    error::Kind,
    maintain::{open::OpenBuckets, record::OVERTAKEN},
    protocol::{query::Query, range::Range},
    read::{
        reader::next_bucket_and,
        watch::{WatchToken, event::bucket as appended_to},
    },
    server::{Server, call, cursor::DocumentCursor, watch::Events},
    value::stored_bucket::StoredBucket,
    write::engine::Engine,
};

/// How many buckets one transaction copies at most.
const BUCKETS: usize = 500;

/// How many bytes of buckets one transaction copies, and the bucket that exceeds them.
const BYTES: usize = 4 << 20;

/// How many events one transaction stores at most.
const NEWS: usize = 1000;

/// The progress of a [`migrate_from`](crate::Bucket::migrate_from).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrateProgress {
    /// How many items the old collection held when the call began.
    pub found: u64,
    /// How many items are in the new collection so far, including those of earlier calls.
    pub stored: u64,
    /// Whether all that was there is copied, so that the call follows the writers.
    pub is_following: bool,
}

/// Builder of a migration: await it; see [`Bucket::migrate_from`]. The output is the number of items in
/// the new collection.
#[must_use = "nothing is migrated until this is awaited"]
pub struct Migrate<'f, O, T> {
    db: Database,
    convert: Convert<'f, O, T>,
    until: Option<BoxFuture<'f, ()>>,
    progress: Progress<'f>,
}

type Convert<'f, O, T> = Box<dyn FnMut(O) -> T + Send + 'f>;
type Progress<'f> = Box<dyn FnMut(MigrateProgress) + Send + 'f>;

impl<'f, O: Bucket, T: Bucket> Migrate<'f, O, T> {
    pub(crate) fn new(db: &Database, convert: impl FnMut(O) -> T + Send + 'f) -> Self {
        Self {
            db: db.clone(),
            convert: Box::new(convert),
            until: None,
            progress: Box::new(|_| ()),
        }
    }

    /// Follows the writers of the old collection until this future is done. It is first polled when
    /// everything that was there is copied, and should be done when no program writes to the old
    /// collection any more. What they append until then is stored as it happens, so this last step takes
    /// no longer than the writers need to stop.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<OldTrade: Bucket, Trade: Bucket + From<OldTrade>>(db: Database) -> bucket_runtime::Result<()> {
    /// # async fn deploy_the_new_writers() {}
    /// Trade::migrate_from::<OldTrade>(&db, Trade::from)
    ///     .until(deploy_the_new_writers())
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn until(mut self, stopped: impl Future<Output = ()> + Send + 'f) -> Self {
        self.until = Some(Box::pin(stopped));
        self
    }

    /// Calls this at the beginning and after each transaction.
    pub fn on_progress(mut self, progress: impl FnMut(MigrateProgress) + Send + 'f) -> Self {
        self.progress = Box::new(progress);
        self
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let target = OpenBuckets::<T>::new(self.db.collection(T::SPEC.collection));
        let engine = target.execute().await?.engine();
        engine.server.called_for(None);
        engine.server.needs_replica_set("migrate_from").await?;
        let old = self.db.collection(O::SPEC.collection);
        let mut old = engine.server.with_collection(old);
        // A change stream shows only what a majority has, so the copy reads only that, too.
        old.set_read_preference(ReadPreference::Primary);
        old.set_read_concern(ReadConcern::majority());
        let (place, events) = Place::begin(&engine.server, &old).await?;
        let found = count::<O>(&old).await?;
        let mut migration = Migration {
            engine,
            old,
            events,
            place,
            found,
            convert: self.convert,
            progress: self.progress,
            item: PhantomData::<O>,
        };
        let mut overtaken = 0;
        while let Err(error) = migration.copy_all().await {
            if !error.is(&Kind::Overtaken) || overtaken == OVERTAKEN {
                return Err(error);
            }
            overtaken += 1;
            let begun = Place::begin(&migration.engine.server, &migration.old);
            (migration.place, migration.events) = begun.await?;
        }
        if let Some(until) = self.until {
            migration.follow(until).await?;
        }
        migration.end().await
    }
}

/// How many items a collection holds.
async fn count<T: Bucket>(server: &Server) -> Result<u64> {
    let pipeline = Query::everything().count(&T::SPEC, None);
    let count = server.sum(pipeline, None).await;
    count.map_err(|error| server.target().read_error(error))
}

/// A migration that runs.
///
/// The buckets are copied in chunks, in the order of their ids, and each chunk is stored in one
/// transaction with the record. A later append to one of its buckets is an event of the change stream. The
/// record's own event shows which events came before the chunk was stored: of these, only items that the
/// chunk does not hold are stored, and of later events all items.
struct Migration<'f, O, T: Bucket> {
    engine: Engine,
    old: Server,
    events: Events,
    place: Place,
    found: u64,
    convert: Convert<'f, O, T>,
    progress: Progress<'f>,
    item: PhantomData<O>,
}

impl<O: Bucket, T: Bucket> Migration<'_, O, T> {
    /// Copies all buckets that are not copied yet, and what was appended to them meanwhile.
    async fn copy_all(&mut self) -> Result<()> {
        self.report();
        self.drain().await?;
        // Earlier changes of buckets that are not copied yet need no replay: the copy will include them.
        self.store(self.place.state.next_chunk(), Vec::new())
            .await?;
        self.drain().await?;
        while !self.place.state.is_copied {
            let (next, items) = chunk(&self.old, &self.place.state).await?;
            self.store(next, items).await?;
            self.drain().await?;
        }
        Ok(())
    }

    /// Stores what the change stream shows up to the moment when the last chunk was stored.
    async fn drain(&mut self) -> Result<()> {
        let mut news = Vec::new();
        while !self.place.state.is_drained {
            let event = self.events.next().await;
            self.take(event, &mut news)?;
            if news.len() >= NEWS {
                self.store_news(&mut news).await?;
            }
        }
        self.store_news(&mut news).await
    }

    /// Stores what the change stream shows, until the future is done.
    async fn follow(&mut self, mut until: BoxFuture<'_, ()>) -> Result<()> {
        let mut news = Vec::new();
        let mut is_over = false;
        while !is_over {
            let event = {
                let next = pin!(self.events.next());
                match select(until.as_mut(), next).await {
                    Either::Left(((), next)) => {
                        is_over = true;
                        next.await
                    }
                    Either::Right((event, _)) => event,
                }
            };
            let is_quiet = matches!(event, Ok(None));
            self.take(event, &mut news)?;
            if is_quiet || is_over || news.len() >= NEWS {
                self.store_news(&mut news).await?;
            }
        }
        Ok(())
    }

    /// Stores what was appended before this moment, verifies everything, and forgets the migration.
    async fn end(mut self) -> Result<u64> {
        let last = self.place.state.next_chunk();
        self.store(last, Vec::new()).await?;
        self.drain().await?;
        let state = &self.place.state;
        verify::<O, T>(&self.old, &self.engine.server, state).await?;
        self.place.end().await?;
        Ok(self.place.state.items)
    }

    /// Adds the items that an event of the change stream brings to the news that are not stored yet.
    fn take(
        &mut self,
        event: Result<Option<ChangeStreamEvent<Document>>, DriverError>,
        news: &mut Vec<Appended>,
    ) -> Result<()> {
        let target = self.old.target();
        let Some(event) = event.map_err(|error| target.read_error(error))? else {
            return match self.events.is_alive() {
                true => Ok(()),
                false => Err(target.error(Kind::Dropped)),
            };
        };
        let token = WatchToken::after(&event.id);
        let token = token.ok_or_else(|| target.error(Kind::Driver))?;
        let state = &mut self.place.state;
        match Happened::of(&O::SPEC, self.old.collection().name(), event) {
            Happened::Chunk(chunk) if chunk == state.chunk => state.is_drained = true,
            Happened::Appended(mut appended) if state.holds(&appended.bucket) => {
                let known = state.taken_before(&appended);
                appended
                    .elements
                    .drain(..known.min(appended.elements.len()));
                if !appended.elements.is_empty() {
                    news.push(appended);
                }
            }
            Happened::Changed(bucket) if state.holds(&bucket) => {
                return Err(target.error(Kind::OldBucketChanged(bucket)));
            }
            Happened::Gone => return Err(target.error(Kind::Dropped)),
            _ => {}
        }
        self.place.state.token = token;
        Ok(())
    }

    async fn store_news(&mut self, news: &mut Vec<Appended>) -> Result<()> {
        if news.is_empty() {
            return Ok(());
        }
        let next = self.place.state.clone();
        let items = items(&self.old, std::mem::take(news)).await?;
        self.store(next, items).await
    }

    /// Stores these items together with the migration's next state.
    async fn store(&mut self, mut next: State, items: Vec<O>) -> Result<()> {
        let stored = items.len();
        let items = items.into_iter().map(&mut self.convert);
        self.place.store(&self.engine, &mut next, items).await?;
        call::items(stored);
        self.report();
        Ok(())
    }

    fn report(&mut self) {
        let state = &self.place.state;
        (self.progress)(MigrateProgress {
            found: self.found,
            stored: state.items,
            is_following: state.is_copied,
        });
    }
}

/// Reads the next chunk: the migration's state after it, and its items.
async fn chunk<O: Bucket>(old: &Server, state: &State) -> Result<(State, Vec<O>)> {
    let mut next = state.next_chunk();
    let range = Range {
        limit: Some(BUCKETS as i64),
        ..Range::oldest_first()
    };
    let further = doc! { "_id": { "$gt": &next.upto } };
    let rows = old.find(further, range, None).await;
    let mut rows: DocumentCursor<'_, StoredBucket<O>> =
        rows.map_err(|error| old.target().read_error(error))?;
    let (mut items, mut bytes) = (Vec::new(), 0);
    while bytes < BYTES {
        let target = old.target();
        let row = next_bucket_and(target, &mut rows, None, |row| row.as_bytes().len());
        let Some((bucket, size)) = row.await? else {
            break;
        };
        bytes += size;
        next.upto.clone_from(&bucket.id);
        next.taken.push((bucket.id.clone(), bucket.elements.len()));
        items.extend(bucket.into_items());
    }
    // Buckets that are inserted behind them from now on are events.
    next.is_copied = bytes < BYTES && next.taken.len() < BUCKETS;
    Ok((next, items))
}

/// The items that were appended to some buckets.
async fn items<O: Bucket>(old: &Server, news: Vec<Appended>) -> Result<Vec<O>> {
    let target = old.target();
    // An event does not repeat the key of its bucket.
    let unknown = news.iter().filter(|appended| appended.inserted.is_none());
    let ids: BTreeSet<_> = unknown.map(|appended| &appended.bucket).collect();
    let range = Range {
        projection: Some(doc! { O::SPEC.items: 0 }),
        ..Range::unordered()
    };
    let ids = doc! { "_id": { "$in": Vec::from_iter(ids) } };
    let found = old.find::<Document>(ids, range, None).await;
    let found = found
        .map_err(|error| target.read_error(error))?
        .rest()
        .await;
    let found = found.map_err(|error| target.read_error(error))?.into_iter();
    let by_id = |bucket: Document| Some((bucket.get_str("_id").ok()?.to_owned(), bucket));
    let found: HashMap<_, _> = found.filter_map(by_id).collect();
    let mut items = Vec::new();
    for appended in news {
        let Appended {
            bucket: id,
            inserted,
            elements,
            ..
        } = appended;
        let bucket = inserted.or_else(|| found.get(&id).cloned());
        let removed = || target.error(Kind::OldBucketChanged(id.clone()));
        let bucket = appended_to::<O>(target, bucket.ok_or_else(removed)?, elements)?;
        items.extend(bucket.into_items());
    }
    Ok(items)
}
