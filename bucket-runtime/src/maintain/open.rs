//! Opening a collection: the index that the guarantees stand on is there, and it is the right one.

use std::marker::PhantomData;

use mongodb::{Collection, IndexModel, bson::Document};

use crate::{
    Bucket, Buckets, Error, Result,
    error::{Kind, duplicate_index, is_code, is_unknown},
    protocol::{
        command,
        indexes::{self, Needed},
    },
    schema::{names::UNIQUE_INDEX, open_index::OpenIndex, spec::BucketSpec},
    server::Server,
    write::{append::Writer, combine::Combiner, engine::Engine},
};

/// The opening of a collection, which waits to be awaited; see [`Bucket::buckets`].
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

    /// Whether appends that wait at the same time travel together; see
    /// [`Buckets::append`]. They do unless this is called with `false`.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = combine;
        self
    }
}

impl<T: Bucket> OpenBuckets<T> {
    pub(crate) async fn execute(self) -> Result<Buckets<T>> {
        let server = Server::new(self.collection);
        let index = open(&server, &T::SPEC).await?.index;
        let engine = Engine::new(server, index);
        let combiner = self.combine.then(|| Combiner::new(engine.clone()));
        Ok(Buckets::new(Writer { engine, combiner }))
    }
}

/// The user lacks a privilege.
const UNAUTHORIZED: i32 = 13;

/// CannotCreateIndex and InvalidOptions: a unique index does not fit the shard key.
const CANNOT_CREATE: [i32; 2] = [67, 72];

/// What is known of a collection's indexes.
pub(crate) struct Indexes {
    pub(crate) found: Vec<IndexModel>,
    /// The open index as it is there; `None` if it has to be made.
    stored: Option<OpenIndex>,
    /// Those that are to be made.
    missing: Vec<IndexModel>,
    pub(crate) index: OpenIndex,
}

/// Checks the indexes of the collection, makes those that are not there, and tries whether the server
/// does what the protocol needs.
pub(crate) async fn open(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |error| Error::read(error, server.name());
    server.deployment().await.map_err(fail)?;
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
        // Who may only read does not need what guards writers against each other.
        (Err(error), Some(_))
            if error
                .driver()
                .is_some_and(|error| is_code(error, UNAUTHORIZED)) => {}
        (Err(error), _) => return Err(explained(server, spec, error).await),
    }
    match server.try_hint(indexes.index.name).await {
        Err(error) if is_unknown(&error) => {
            Err(unsupported(server, "updates with a `hint`").with_driver(error))
        }
        // Whatever else is wrong, the first write will tell.
        _ => Ok(indexes),
    }
}

/// Checks the indexes of the collection.
pub(crate) async fn check_indexes(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |kind| Error::new(kind, server.name());
    let found = (server.indexes().await).map_err(|error| Error::read(error, server.name()))?;
    let stored = indexes::open_index(&found, spec).map_err(fail)?;
    if let Some(stored) = stored.filter(|stored| stored.capacity != spec.capacity) {
        return Err(fail(Kind::CapacityMismatch {
            stored: stored.capacity.into(),
            derived: spec.capacity,
        }));
    }
    let index = stored.unwrap_or(OpenIndex::first(spec.capacity));
    // A `mongos` lists the indexes of one shard, and another one may have failed to make its own.
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

/// Makes indexes. One round trip, or none if there are none.
pub(crate) async fn create(server: &Server, missing: Vec<IndexModel>) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    server.create_indexes(missing).await.map_err(|error| {
        let kind = match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => Kind::NotUnique,
            // No other but the open index refuses documents.
            Some(_) => Kind::SeveralOpen,
            None => Kind::Driver,
        };
        Error::write(error, server.name()).known_as(kind)
    })
}

fn unsupported(server: &Server, what: &'static str) -> Error {
    Error::new(Kind::Unsupported(what), server.name())
}

/// The error, which tells of the shard key if the index could not be made for that.
async fn explained(server: &Server, spec: &BucketSpec, error: Error) -> Error {
    let is_refused = |error| CANNOT_CREATE.iter().any(|code| is_code(error, *code));
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
