//! The transaction that stores a chunk.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use bucket_core::{
    error::{Kind, duplicate_index, is_impossible_id},
    protocol::{command::KeyScope, range::Range},
    schema::names::UNIQUE_INDEX,
    server::{
        Server,
        transaction::{Attempt, is_lost_race},
        wire::Request,
    },
};
use bucket_runtime::{
    __ops::{Batch, Engine},
    Result,
};
use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Document, doc},
    error::Error as DriverError,
};

use super::{Chunk, Record, commands::Commands};

/// A transaction that stores a chunk and advances the record, so that each item is stored once even
/// if the call is interrupted.
pub(super) struct StoreChunk {
    pub(super) engine: Engine,
    pub(super) record: Record,
    /// The state after the chunk.
    pub(super) next: Document,
    pub(super) chunk: Arc<Chunk>,
    /// The commands that store all items, if they can be planned; otherwise two of a bucket may
    /// have one identity.
    pub(super) commands: Option<Commands>,
    /// Whether the server refused the commands: somebody else writes to the collection, or the
    /// items of one moment have filled buckets before. The next attempt leaves the items to the
    /// append protocol, which copes with any stored buckets.
    pub(super) is_refused: AtomicBool,
    /// Whether the chunk is planned again without the items whose identities are there, if some
    /// are.
    pub(super) leaves_out: bool,
}

impl StoreChunk {
    async fn write(&self, session: &mut ClientSession) -> Result<()> {
        // This comes first, so that buckets which an earlier attempt or call has just committed are
        // recognised as its own.
        self.record.advance(self.next.clone(), session).await?;
        if self.chunk.is_first && !self.chunk.keys.is_empty() {
            // Since the call looked, another one may have begun, and ended.
            let server = &self.engine.server;
            if let Some(id) = find_any(server, Some(&mut *session)).await? {
                return Err(server.target().error(Kind::KeyTaken(id)));
            }
        }
        refuse_keys(&self.engine, &self.chunk.new_keys, Some(&mut *session)).await?;
        match &self.commands {
            Some(commands) if !self.is_refused.load(Relaxed) => self.send(commands, session).await,
            _ => self.append(session).await,
        }
    }

    async fn send(&self, commands: &Commands, session: &mut ClientSession) -> Result<()> {
        let server = &self.engine.server;
        let mut sent = Ok(());
        if !commands.fills.is_empty() {
            sent = server.update_all_in(&commands.fills, session).await;
        }
        if sent.is_ok() && !commands.buckets.is_empty() {
            let insert = Request::Insert(&commands.buckets, true);
            sent = server.send(insert, Some(session)).await.map(drop);
        }
        sent.map_err(|error| match duplicate_index(&error) {
            // An open bucket is not as the commands expect it, or holds the identity.
            index if index == Some(UNIQUE_INDEX) || self.leaves_out && is_impossible_id(&error) => {
                server.target().error(Kind::NotUnique).with_driver(error)
            }
            _ => {
                bucket_core::reached!(
                    "a planned chunk is refused, lost: {}",
                    self.has_lost(&error)
                );
                self.is_refused.fetch_or(self.has_lost(&error), Relaxed);
                server.target().write_error(error).not_sent()
            }
        })
    }

    /// Stores the items by the append protocol, one key after the other.
    async fn append(&self, session: &mut ClientSession) -> Result<()> {
        for key in &self.chunk.keys {
            let mut batch = Batch::new(key.scope.clone(), key.entries.iter().cloned());
            self.engine.append(&mut batch, Some(&mut *session)).await?;
            bucket_core::reached!("a chunk item by item");
            if batch.count_stored() < key.entries.len() as u64 {
                return Err(self.engine.target_of(&batch.scope).error(Kind::NotUnique));
            }
        }
        Ok(())
    }
}

impl Attempt for StoreChunk {
    type Output = ();

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<()>> {
        Box::pin(self.write(session))
    }

    fn has_lost(&self, error: &DriverError) -> bool {
        // Of an impossible id, since an open bucket is not as the commands expect it.
        is_lost_race(error) || !self.leaves_out && is_impossible_id(error)
    }
}

/// The `_id` of some bucket, if there is any.
pub(super) async fn find_any(
    server: &Server,
    session: Option<&mut ClientSession>,
) -> Result<Option<String>> {
    let id = Range::unordered().project(doc! { "_id": 1 });
    let found = server.target().find(Document::new(), id).read_primary();
    let found = found.first(session).await?;
    Ok(found.and_then(|found| Some(found.get("_id")?.to_string())))
}

/// An error if there is a bucket of any of these keys.
pub(crate) async fn refuse_keys(
    engine: &Engine,
    keys: &[KeyScope],
    session: Option<&mut ClientSession>,
) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let ranges: Vec<_> = keys.iter().map(KeyScope::all).collect();
    let range = Range {
        limit: Some(1),
        ..Range::unordered().project(doc! { "_id": 1 })
    };
    let found = (engine.server.target()).find(doc! { "$or": ranges }, range);
    let found = found.rows::<Document>(session).await?;
    let id = found.first().and_then(|found| found.get_str("_id").ok());
    let Some(id) = id else { return Ok(()) };
    let is_of = |key: &&KeyScope| id.starts_with(&key.prefix);
    match keys.iter().find(is_of) {
        Some(key) => Err(engine.target_of(key).error(Kind::KeyTaken(id.to_owned()))),
        None => Ok(()),
    }
}
