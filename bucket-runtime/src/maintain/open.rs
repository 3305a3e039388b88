//! Opens a collection: makes sure that the index behind the guarantees exists and is the right one.

use std::marker::PhantomData;

use mongodb::{Collection, IndexModel, bson::Document};

use crate::{
    Bucket, Buckets, Error, Result,
    error::{Code, Kind, duplicate_index, is_code, is_unknown, refusal},
    protocol::{
        command,
        indexes::{self, Needed},
    },
    schema::{names::UNIQUE_INDEX, open_index::OpenIndex, spec::BucketSpec},
    server::Server,
    write::{append::Writer, combine::Combiner, engine::Engine},
};

/// Builder of an opened collection: await it; see [`Bucket::buckets`].
#[must_use = "the collection is opened when this is awaited"]
pub struct OpenBuckets<T> {
    collection: Collection<Document>,
    combine: bool,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> OpenBuckets<T> {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            combine: true,
            item: PhantomData,
        }
    }

    /// Whether appends that wait at the same time share commands; see [`Buckets::append`]. The default
    /// is `true`.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = combine;
        self
    }

    pub(crate) async fn execute(self) -> Result<Buckets<T>> {
        let server = Server::new(self.collection);
        let index = open(&server, &T::SPEC).await?.index;
        let engine = Engine::new(server, index);
        let combiner = self.combine.then(|| Combiner::new(engine.clone()));
        Ok(Buckets::new(Writer { engine, combiner }))
    }
}

/// A collection's indexes, as they were read.
pub(crate) struct Indexes {
    pub(crate) found: Vec<IndexModel>,
    /// The existing open index; `None` if it has to be created.
    stored: Option<OpenIndex>,
    /// The indexes to create.
    missing: Vec<IndexModel>,
    pub(crate) index: OpenIndex,
}

/// Checks the collection's indexes, creates the missing ones, and tests whether the server supports what
/// the protocol needs.
pub(crate) async fn open(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |error| server.context().read(error);
    server.known_deployment().await?;
    let mut indexes = check_indexes(server, spec).await?;
    let made = create(server, std::mem::take(&mut indexes.missing)).await;
    match (made, indexes.stored) {
        (Ok(()), Some(_)) => {}
        (Ok(()), None) => {
            let found = server.indexes().await.map_err(fail)?;
            (indexes::open_index(&found, spec)).map_err(|_| {
                unsupported(server, "unique indexes with a `partialFilterExpression`")
            })?;
        }
        // A user who may only read does not need the indexes that guard writers against each other.
        (Err(error), Some(_))
            if error
                .driver()
                .is_some_and(|error| is_code(error, Code::Unauthorized)) => {}
        (Err(error), _) => return Err(explained(server, spec, error).await),
    }
    match server.try_hint(indexes.index.name).await {
        Err(error) if is_unknown(&error) => {
            Err(unsupported(server, "updates with a `hint`").with_driver(error))
        }
        // The first write will report any other error.
        _ => Ok(indexes),
    }
}

/// Checks the collection's indexes.
pub(crate) async fn check_indexes(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |kind| server.context().kind(kind);
    let found = (server.indexes().await).map_err(|error| server.context().read(error))?;
    let stored = indexes::open_index(&found, spec).map_err(fail)?;
    if let Some(stored) = stored.filter(|stored| stored.capacity != spec.capacity) {
        return Err(fail(Kind::CapacityMismatch {
            stored: stored.capacity.into(),
            derived: spec.capacity,
        }));
    }
    let index = stored.unwrap_or(OpenIndex::first(spec.capacity));
    // A `mongos` lists the indexes of one shard; creating them may have failed on another shard.
    let needed = match server.is_sharded() {
        true => Needed::OnEachShard,
        false => Needed::IfMissing,
    };
    let mut missing = indexes::asked_for(&found, spec, needed).map_err(fail)?;
    if stored.is_none() || needed == Needed::OnEachShard {
        missing.insert(0, indexes::open(spec, index));
    }
    Ok(Indexes {
        found,
        stored,
        missing,
        index,
    })
}

/// Creates indexes. One round trip, or none if there is nothing to create.
pub(crate) async fn create(server: &Server, missing: Vec<IndexModel>) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    server.create_indexes(missing).await.map_err(|error| {
        let kind = match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => Kind::NotUnique,
            // Apart from that one, only the open index refuses documents.
            Some(_) => Kind::SeveralOpen,
            None => Kind::Driver,
        };
        server.context().write(error).known_as(kind)
    })
}

fn unsupported(server: &Server, what: &'static str) -> Error {
    server.context().kind(Kind::Unsupported(what))
}

/// Replaces the error if the shard key is the reason why an index could not be created.
async fn explained(server: &Server, spec: &BucketSpec, error: Error) -> Error {
    // The codes for a unique index that the shard key does not allow.
    let is_refused = |error| {
        matches!(
            refusal(error),
            Some((Code::CannotCreateIndex | Code::InvalidOptions, _))
        )
    };
    if !server.is_sharded() || !error.driver().is_some_and(is_refused) {
        return error;
    }
    match server.shard_key().await {
        Some(key) if command::allows(&key, &command::open_index_keys(spec)) => error,
        found => error.known_as(Kind::ShardKey {
            found: found.map(|key| key.to_string()),
            wanted: command::shard_key(spec).to_string(),
        }),
    }
}
