//! Opens a collection: makes sure that the index behind the guarantees exists and is the right one.

use std::marker::PhantomData;

use mongodb::{
    Collection, IndexModel,
    bson::{Bson, Document, RawDocumentBuf, doc},
};

use crate::{
    Bucket, Buckets, Error, Result,
    error::{Code, Kind, duplicate_index, is_code, is_unknown, refusal},
    protocol::{
        command,
        indexes::{self, Needed, required::RequiredIndex},
        range::Range,
    },
    schema::{names::UNIQUE_INDEX, open_index::OpenIndex, spec::BucketSpec},
    server::Server,
    value::{bytes, shell::shell, unreadable::Attempted},
    write::{append::Writer, combine::Combiner, engine::Engine},
};

/// Builder of an opened collection: await it; see [`Bucket::buckets`].
#[must_use = "the collection is opened when this is awaited"]
pub struct OpenBuckets<T> {
    collection: Collection<Document>,
    combine: bool,
    create: bool,
    check_items: bool,
    trace_keys: bool,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> OpenBuckets<T> {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            combine: true,
            create: true,
            check_items: false,
            trace_keys: false,
            item: PhantomData,
        }
    }

    /// Whether appends that wait at the same time share commands; see [`Buckets::append`]. The default
    /// is `true`.
    pub fn combine(mut self, combine: bool) -> Self {
        self.combine = combine;
        self
    }

    /// Whether to create the indexes that are missing. The default is `true`. With `false` somebody else
    /// creates them (see [`Bucket::indexes`]), and opening only checks; behind a `mongos`, those of one
    /// shard.
    ///
    /// # Errors
    ///
    /// [`is_index_missing`](Error::is_index_missing), with the commands that create the missing ones.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let trades = Trade::buckets(&db).create_indexes(false).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_indexes(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to read the bucket that was opened last, and to refuse the collection if the struct cannot read
    /// some item of it; on a cluster, the last one of some shard. One more round trip.
    ///
    /// The key fields and the capacity are in the collection's index, so opening notices another struct with
    /// others. One that has the same key and capacity, and other fields, is noticed only here: otherwise both
    /// store their items in the same buckets, and the reads of each fail at the items of the other. The
    /// default is `false`, since a struct whose fields have changed may append without reading older items.
    ///
    /// # Errors
    ///
    /// [`is_deserialize`](Error::is_deserialize), with the bucket's id and the reason.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let trades = Trade::buckets(&db).check_items(true).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_items(mut self, check: bool) -> Self {
        self.check_items = check;
        self
    }

    /// Whether the spans of the handle's calls name the key (the field `bucket.key`). The default is `false`,
    /// since a key may be personal data. Needs the feature `tracing`, see
    /// [`guide::tracing`](crate::guide::tracing).
    #[cfg(feature = "tracing")]
    pub fn trace_keys(mut self, trace: bool) -> Self {
        self.trace_keys = trace;
        self
    }

    pub(crate) async fn execute(self) -> Result<Buckets<T>> {
        let server = Server::new(self.collection).tracing_keys(self.trace_keys);
        server.known_deployment().await?;
        let indexes = needed(&server, &T::SPEC).await?;
        if !self.create {
            must_exist([(&server, &indexes.lacking[..])])?;
        }
        let index = open(&server, &T::SPEC, indexes, self.create).await?;
        if self.check_items {
            check_items::<T>(&server).await?;
        }
        let engine = Engine::new(server, index);
        let combiner = self.combine.then(|| Combiner::new(engine.clone()));
        Ok(Buckets::new(Writer { engine, combiner }))
    }
}

/// An error if the newest bucket holds an item that cannot be read.
async fn check_items<T: Bucket>(server: &Server) -> Result<()> {
    let newest = Range {
        sort: Some(doc! { "$natural": -1 }),
        limit: Some(1),
        ..Range::unordered()
    };
    let filled = doc! { T::SPEC.count: { "$gt": 0 } };
    let target = server.target();
    let rows = target.find(filled, newest).rows::<RawDocumentBuf>(None);
    for row in rows.await? {
        let read = bytes::read::<Attempted<T>>(row.as_bytes());
        let unreadable = read.map(|bucket| bucket.sifted().1.into_iter().next());
        if let Some(error) = unreadable.map_or_else(Some, |item| Some(item?.error)) {
            let id = row.get("_id").ok().flatten();
            let id = id.and_then(|id| Bson::try_from(id).ok());
            let kind = Kind::OtherItems(id.as_ref().map(shell).unwrap_or_default());
            return Err(target.error(kind).with_driver(error));
        }
    }
    Ok(())
}

/// A collection's indexes, as they were read.
pub(crate) struct Indexes {
    pub(crate) found: Vec<IndexModel>,
    /// The existing open index; `None` if it has to be created.
    stored: Option<OpenIndex>,
    /// The indexes that it lacks.
    pub(crate) lacking: Vec<IndexModel>,
    pub(crate) index: OpenIndex,
}

/// Creates the indexes of a collection that are missing, or that another shard may lack, unless somebody
/// else does; and tests whether the server supports what the protocol needs.
pub(crate) async fn open(
    server: &Server,
    spec: &BucketSpec,
    mut indexes: Indexes,
    create_indexes: bool,
) -> Result<OpenIndex> {
    let forbidden = match create_all(server, spec, &mut indexes, create_indexes).await {
        Ok(()) if indexes.stored.is_some() => None,
        Ok(()) => {
            let found = server.target().indexes().await?;
            (indexes::open_index(&found, spec)).map_err(|_| {
                unsupported_error(server, "unique indexes with a `partialFilterExpression`")
            })?;
            None
        }
        Err(error) if error.is_unauthorized() => {
            Some(error).filter(|_| !indexes.lacking.is_empty())
        }
        Err(error) => return Err(explain_shard_key(server, spec, error).await),
    };
    match (server.try_hint(indexes.index.name).await, forbidden) {
        (Err(error), _) if is_unknown(&error) => {
            Err(unsupported_error(server, "updates with a `hint`").with_driver(error))
        }
        // A user who may only read does not need the indexes that guard writers against each other.
        (Err(error), Some(_))
            if indexes.stored.is_some() && is_code(&error, Code::Unauthorized) =>
        {
            Ok(indexes.index)
        }
        (_, Some(error)) => Err(error),
        // The first write will report any other error.
        (_, None) => Ok(indexes.index),
    }
}

/// Creates the indexes that the collection lacks, and behind a `mongos` those that another shard may lack.
async fn create_all(
    server: &Server,
    spec: &BucketSpec,
    indexes: &mut Indexes,
    create_indexes: bool,
) -> Result<()> {
    // A `mongos` lists the indexes of one shard; creating them may have failed on another shard.
    let mut needed = indexes.lacking.clone();
    if server.is_sharded() && create_indexes {
        let guards = guards(indexes, spec).map_err(|kind| server.target().error(kind))?;
        let is_new = |guard: &IndexModel| needed.iter().all(|index| index.keys != guard.keys);
        let guards = Vec::from_iter(guards.into_iter().filter(is_new));
        needed.extend(guards);
    }
    let created = create(server, needed.clone()).await;
    let plain = OpenIndex::first(indexes.index.capacity);
    let has_other_name = |error: &Error| {
        (error.driver()).is_some_and(|error| is_code(error, Code::IndexOptionsConflict))
    };
    if indexes.stored.is_some()
        || indexes.index == plain
        || !server.is_sharded()
        || !created.as_ref().is_err_and(has_other_name)
    {
        return created;
    }
    // The listed shard has lost the index, and another one still has it under the plain name.
    server.target().drop_index(indexes.index.name).await?;
    indexes.index = plain;
    needed[0] = indexes::open(spec, plain);
    create(server, needed).await
}

/// The indexes that guard something, whether they are listed or not.
fn guards(indexes: &Indexes, spec: &BucketSpec) -> Result<Vec<IndexModel>, Kind> {
    let open = indexes::open(spec, indexes.index);
    let asked_for = indexes::asked_for(&indexes.found, spec, Needed::OnEachShard)?;
    Ok(std::iter::once(open).chain(asked_for).collect())
}

/// Checks the collection's indexes, and names the open index if it has to be created. Up to three round
/// trips.
///
/// Where there are buckets, its name says the capacity: a `change_capacity` may have been killed after it
/// dropped the last one, and a handle of another capacity may still know the plain name.
pub(crate) async fn needed(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let indexes = check_indexes(server, spec).await?;
    if indexes.stored.is_some() {
        return Ok(indexes);
    }
    let id = Range::unordered().project(doc! { "_id": 1 });
    let any = server.target().find(Document::new(), id).read_primary();
    if any.first(None).await?.is_none() {
        return Ok(indexes);
    }
    // Another program may have opened the collection meanwhile.
    let mut indexes = check_indexes(server, spec).await?;
    if indexes.stored.is_none() {
        indexes.index = OpenIndex::changed_to(spec.capacity);
        indexes.lacking[0] = indexes::open(spec, indexes.index);
    }
    Ok(indexes)
}

/// Checks the collection's indexes.
pub(crate) async fn check_indexes(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let fail = |kind| server.target().error(kind);
    let found = server.target().indexes().await?;
    let stored = indexes::open_index(&found, spec).map_err(fail)?;
    if let Some(stored) = stored.filter(|stored| stored.capacity != spec.capacity) {
        return Err(fail(Kind::CapacityMismatch {
            stored: stored.capacity.into(),
            derived: spec.capacity,
        }));
    }
    let index = stored.unwrap_or(OpenIndex::first(spec.capacity));
    let mut lacking = indexes::asked_for(&found, spec, Needed::IfMissing).map_err(fail)?;
    if stored.is_none() {
        lacking.insert(0, indexes::open(spec, index));
    }
    Ok(Indexes {
        found,
        stored,
        lacking,
        index,
    })
}

/// An error if one of these collections lacks an index.
pub(crate) fn must_exist<'i>(
    collections: impl IntoIterator<Item = (&'i Server, &'i [IndexModel])>,
) -> Result<()> {
    let collections = Vec::from_iter(collections);
    let lacks = collections.iter().find(|(_, lacking)| !lacking.is_empty());
    match lacks {
        None => Ok(()),
        Some((server, _)) => Err(server
            .target()
            .error(missing_indexes(collections.iter().copied()))),
    }
}

fn missing_indexes<'i>(
    collections: impl IntoIterator<Item = (&'i Server, &'i [IndexModel])>,
) -> Kind {
    let commands = collections.into_iter().flat_map(|(server, lacking)| {
        let of = |model: &IndexModel| RequiredIndex::new(server.collection().name(), model.clone());
        lacking.iter().map(of)
    });
    Kind::MissingIndexes(commands.map(|index| index.to_string()).collect())
}

/// Creates indexes. One round trip, or none if there is nothing to create.
pub(crate) async fn create(server: &Server, models: Vec<IndexModel>) -> Result<()> {
    if models.is_empty() {
        return Ok(());
    }
    let created = server.create_indexes(models.clone()).await;
    created.map_err(|error| {
        let kind = match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => Kind::NotUnique,
            // Apart from that one, only the open index refuses documents.
            Some(_) => Kind::SeveralOpen,
            None if is_code(&error, Code::Unauthorized) => missing_indexes([(server, &models[..])]),
            None => Kind::Driver,
        };
        server.target().write_error(error).known_as(kind)
    })
}

fn unsupported_error(server: &Server, what: &'static str) -> Error {
    server.target().error(Kind::Unsupported(what))
}

/// Replaces the error if the shard key is the reason why an index could not be created.
async fn explain_shard_key(server: &Server, spec: &BucketSpec, error: Error) -> Error {
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
