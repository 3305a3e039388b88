//! Copies the old buckets, and then what the change stream shows.

use std::{
    collections::{BTreeSet, HashMap},
    pin::pin,
};

use bucket_core::{
    error::Kind,
    protocol::range::Range,
    server::{
        Server,
        watch::{Event, Events},
    },
};
use bucket_runtime::{
    __ops::{Engine, bucket as appended_to, next_bucket},
    Bucket, Error, Result, WatchToken,
};
use futures_util::future::{BoxFuture, Either, select};
use mongodb::bson::{Document, doc};

use super::{
    Convert, MigrateProgress, ReportMigration,
    event::{AppendedElements, Change},
    state::{self, MigrationState},
    verify::{count, ended, entry_fingerprint, verify},
};
use crate::transfer::{Chunk, Transfer};

/// How many old buckets one transaction copies at most.
const BUCKETS_PER_TRANSACTION: usize = 500;

/// How many bytes of old buckets one transaction copies, and the bucket that exceeds them.
const BYTES_PER_TRANSACTION: usize = 4 << 20;

/// How many events one transaction stores at most.
const EVENTS_PER_TRANSACTION: usize = 1000;

/// A migration that runs.
///
/// The buckets are copied in chunks, in the order of their ids, and each chunk is stored in one
/// transaction with the record. A later append to one of its buckets is an event of the change
/// stream. The record's own event shows which events came before the chunk was stored: of these,
/// only items that the chunk does not hold are stored, and of later events all items.
pub(super) struct Migration<'f, O, T> {
    old: Server,
    events: Events,
    transfer: Transfer<MigrationState>,
    found: u64,
    convert: Convert<'f, O, T>,
    progress: ReportMigration<'f>,
}

impl<'f, O: Bucket, T: Bucket> Migration<'f, O, T> {
    /// Continues a migration, or begins one. `Err` with the number of items if an earlier call has
    /// ended.
    pub(super) async fn begin(
        engine: &Engine,
        old: Server,
        mut convert: Convert<'f, O, T>,
        mut progress: ReportMigration<'f>,
    ) -> Result<Result<Self, u64>> {
        let begun = state::begin(engine, &old).await;
        if begun.as_ref().is_err_and(Error::is_key_taken)
            && let Some(items) = ended(engine, &old, &mut convert).await?
        {
            bucket_core::reached!("a migration that another one has ended");
            progress(MigrateProgress {
                found: items,
                stored: items,
                is_following: true,
            });
            return Ok(Err(items));
        }
        let (transfer, events) = begun?;
        Ok(Ok(Self {
            found: count::<O>(&old).await?,
            old,
            events,
            transfer,
            convert,
            progress,
        }))
    }

    /// Continues from the record, which another call has advanced.
    pub(super) async fn begin_again(&mut self) -> Result<()> {
        let begun = state::begin(&self.transfer.engine, &self.old);
        (self.transfer, self.events) = begun.await?;
        Ok(())
    }

    /// Copies all buckets that are not copied yet, and what was appended to them meanwhile.
    pub(super) async fn copy_all(&mut self) -> Result<()> {
        self.report();
        self.drain().await?;
        // Earlier changes of buckets that are not copied yet need no replay: the copy will include
        // them.
        self.store(self.transfer.state.next_chunk(), Vec::new())
            .await?;
        self.drain().await?;
        while !self.transfer.state.is_copied {
            let (next, items) = read_chunk(&self.old, &self.transfer.state).await?;
            self.store(next, items).await?;
            self.drain().await?;
        }
        Ok(())
    }

    /// Stores what the change stream shows up to the moment when the last chunk was stored.
    async fn drain(&mut self) -> Result<()> {
        let mut waiting = Vec::new();
        while !self.transfer.state.is_drained {
            let event = self.events.next_event().await;
            self.note_event(event, &mut waiting)?;
            if waiting.len() >= EVENTS_PER_TRANSACTION {
                self.store_waiting(&mut waiting).await?;
            }
        }
        self.store_waiting(&mut waiting).await
    }

    /// Stores what the change stream shows, until the future is done.
    pub(super) async fn follow(&mut self, mut until: BoxFuture<'_, ()>) -> Result<()> {
        let mut waiting = Vec::new();
        let mut is_over = false;
        while !is_over {
            let event = {
                let next = pin!(self.events.next_event());
                match select(until.as_mut(), next).await {
                    Either::Left(((), next)) => {
                        is_over = true;
                        next.await
                    }
                    Either::Right((event, _)) => event,
                }
            };
            let is_quiet = matches!(event, Ok(None));
            self.note_event(event, &mut waiting)?;
            if is_quiet || is_over || waiting.len() >= EVENTS_PER_TRANSACTION {
                self.store_waiting(&mut waiting).await?;
            }
        }
        Ok(())
    }

    /// Stores what was appended before this moment, verifies everything, and forgets the migration.
    pub(super) async fn end(mut self) -> Result<u64> {
        let last = self.transfer.state.next_chunk();
        self.store(last, Vec::new()).await?;
        self.drain().await?;
        let state = &self.transfer.state;
        verify::<O, T>(&self.old, &self.transfer.engine.server, state).await?;
        self.transfer.record.end().await?;
        Ok(self.transfer.state.items)
    }

    /// Adds the elements that an event of the change stream shows to those that wait to be stored.
    fn note_event(
        &mut self,
        event: Result<Option<Event>>,
        waiting: &mut Vec<AppendedElements>,
    ) -> Result<()> {
        let target = self.old.target();
        let Some(event) = event? else {
            return match self.events.is_alive() {
                true => Ok(()),
                false => Err(target.error(Kind::Dropped)),
            };
        };
        let token = WatchToken::after(&event.token);
        let token = token.ok_or_else(|| target.error(Kind::Driver))?;
        let state = &mut self.transfer.state;
        match Change::read(&O::SPEC, self.old.collection().name(), &event) {
            Change::ChunkStored(chunk) if chunk == state.chunk => state.is_drained = true,
            Change::Appended(mut appended) if state.has_copied(&appended.bucket) => {
                state.leave_out_stored(&mut appended);
                if !appended.elements.is_empty() {
                    waiting.push(appended);
                }
            }
            Change::Edited(bucket) if state.has_copied(&bucket) => {
                return Err(target.error(Kind::OldBucketChanged(bucket)));
            }
            Change::Gone => return Err(target.error(Kind::Dropped)),
            _ => {}
        }
        self.transfer.state.token = token;
        Ok(())
    }

    async fn store_waiting(&mut self, waiting: &mut Vec<AppendedElements>) -> Result<()> {
        if waiting.is_empty() {
            return Ok(());
        }
        bucket_core::reached!("a migration stores what events show");
        let next = self.transfer.state.clone();
        let items = read_items(&self.old, std::mem::take(waiting)).await?;
        self.store(next, items).await
    }

    /// Stores these items together with the migration's next state.
    async fn store(&mut self, mut next: MigrationState, items: Vec<O>) -> Result<()> {
        let engine = &self.transfer.engine;
        let mut chunk = Chunk::default();
        chunk.is_first = next.items == 0;
        for item in items.into_iter().map(&mut self.convert) {
            next.items += 1;
            let entry = engine.entry(&item)?;
            next.sum = next.sum.wrapping_add(entry_fingerprint(engine, &entry)?);
            chunk.push(entry.0, entry.1);
        }
        self.transfer.store(chunk, next).await?;
        self.report();
        Ok(())
    }

    fn report(&mut self) {
        let state = &self.transfer.state;
        (self.progress)(MigrateProgress {
            found: self.found,
            stored: state.items,
            is_following: state.is_copied,
        });
    }
}

/// Reads the next chunk of buckets: the migration's state after it, and its items.
///
/// All buckets are read as they were at one moment. Otherwise one that was opened after another one
/// was read would bring items that are newer than some which the chunk lacks.
async fn read_chunk<O: Bucket>(
    old: &Server,
    state: &MigrationState,
) -> Result<(MigrationState, Vec<O>)> {
    let mut next = state.next_chunk();
    next.copied.clear();
    // The last bucket of the chunk before comes again: its further items are older than those of
    // the next buckets.
    let limit = BUCKETS_PER_TRANSACTION + usize::from(!state.copied.is_empty());
    let range = Range {
        limit: Some(limit as i64),
        ..Range::oldest_first()
    };
    let further = doc! { "_id": { "$gte": state.upto() } };
    let buckets = old.target().find(further, range).read_snapshot();
    let mut rows = buckets.cursor(None).await?;
    let (mut items, mut bytes) = (Vec::new(), 0);
    while bytes < BYTES_PER_TRANSACTION {
        let found = next_bucket::<O, O::Element>(&mut rows, None);
        let Some((mut bucket, row)) = found.await? else {
            break;
        };
        next.copied.push((bucket.id.clone(), bucket.elements.len()));
        match state.copied.last() {
            Some((last, stored)) if *last == bucket.id => {
                let stored = *stored.min(&bucket.elements.len());
                bucket.elements.drain(..stored);
            }
            // However large the last bucket is, the chunk goes on behind it.
            _ => bytes += row.as_bytes().len(),
        }
        items.extend(bucket.into_items());
    }
    // Buckets that are inserted behind them from now on are events.
    next.is_copied = bytes < BYTES_PER_TRANSACTION && next.copied.len() < limit;
    Ok((next, items))
}

/// Reads the items that were appended to some buckets.
async fn read_items<O: Bucket>(old: &Server, waiting: Vec<AppendedElements>) -> Result<Vec<O>> {
    let target = old.target();
    // An event does not repeat the key of its bucket.
    let unknown = waiting
        .iter()
        .filter(|appended| appended.inserted.is_none());
    let ids: BTreeSet<_> = unknown.map(|appended| &appended.bucket).collect();
    let ids = doc! { "_id": { "$in": Vec::from_iter(ids) } };
    let without_items = Range::unordered().project(doc! { O::SPEC.items: 0 });
    let found = target.find(ids, without_items).rows(None).await?;
    let with_id = |bucket: Document| Some((bucket.get_str("_id").ok()?.to_owned(), bucket));
    let found: HashMap<_, _> = found.into_iter().filter_map(with_id).collect();
    let mut items = Vec::new();
    for appended in waiting {
        let AppendedElements {
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
