//! Checks and creates the indexes behind the guarantees.

use bucket_core::{
    error::{Code, Kind, duplicate_index, is_code, is_unknown, refusal},
    protocol::{
        command,
        indexes::{self, Needed, required::RequiredIndex},
    },
    schema::{names::UNIQUE_INDEX, open_index::OpenIndex, spec::BucketSpec},
    server::Server,
};
use mongodb::IndexModel;

use crate::{Error, Result};

/// A collection's indexes, as they were read.
pub struct Indexes {
    pub found: Vec<IndexModel>,
    /// The existing open index; `None` if it has to be created.
    stored: Option<OpenIndex>,
    /// The indexes that it lacks.
    pub lacking: Vec<IndexModel>,
    pub index: OpenIndex,
}

/// Creates the indexes of a collection that are missing, or that another shard may lack, unless
/// somebody else does; and tests whether the server supports what the protocol needs.
pub(crate) async fn open(
    server: &Server,
    spec: &BucketSpec,
    mut indexes: Indexes,
    create_indexes: bool,
) -> Result<OpenIndex> {
    let unsupported = |what| server.target().error(Kind::Unsupported(what));
    let forbidden = match create_all(server, spec, &mut indexes, create_indexes).await {
        Ok(()) if indexes.stored.is_some() => None,
        Ok(()) => {
            let found = server.target().indexes().await?;
            (indexes::open_index(&found, spec))
                .map_err(|_| unsupported("unique indexes with a `partialFilterExpression`"))?;
            None
        }
        Err(error) if error.is_unauthorized() => {
            Some(error).filter(|_| !indexes.lacking.is_empty())
        }
        Err(error) => return Err(explain_shard_key(server, spec, error).await),
    };
    match (server.try_hint(indexes.index.name).await, forbidden) {
        (Err(error), _) if is_unknown(&error) => {
            Err(unsupported("updates with a `hint`").with_driver(error))
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

/// Creates the indexes that the collection lacks, and behind a `mongos` those that another shard
/// may lack.
async fn create_all(
    server: &Server,
    spec: &BucketSpec,
    indexes: &mut Indexes,
    create_indexes: bool,
) -> Result<()> {
    // A `mongos` lists the indexes of one shard; creating them may have failed on another shard.
    let mut needed = indexes.lacking.clone();
    if server.is_sharded() && create_indexes {
        let guards = indexes::asked_for(&indexes.found, spec, Needed::OnEachShard);
        let mut guards = guards.map_err(|kind| server.target().error(kind))?;
        guards.insert(0, indexes::open(spec, indexes.index));
        guards.retain(|guard| needed.iter().all(|index| index.keys != guard.keys));
        needed.extend(guards);
    }
    let created = create(server, needed.clone()).await;
    let has_other_name = |error: &Error| {
        (error.driver()).is_some_and(|error| is_code(error, Code::IndexOptionsConflict))
    };
    if indexes.stored.is_some()
        || !server.is_sharded()
        || !created.as_ref().is_err_and(has_other_name)
    {
        return created;
    }
    // The listed shard has lost the index, and another one still has it, with the name of a changed
    // capacity.
    server.target().drop_index(indexes.index.name).await?;
    indexes.index = OpenIndex::changed_to(indexes.index.capacity);
    needed[0] = indexes::open(spec, indexes.index);
    create(server, needed).await
}

/// Checks the collection's indexes. One round trip.
pub async fn check_indexes(server: &Server, spec: &BucketSpec) -> Result<Indexes> {
    let indexes = check_indexes_of_any_capacity(server, spec).await?;
    let (stored, derived) = (indexes.index.capacity, spec.capacity);
    if stored == derived {
        return Ok(indexes);
    }
    let stored = stored.into();
    Err((server.target()).error(Kind::CapacityMismatch { stored, derived }))
}

/// [`check_indexes`], for a handle that takes the collection's capacity.
pub(crate) async fn check_indexes_of_any_capacity(
    server: &Server,
    spec: &BucketSpec,
) -> Result<Indexes> {
    let fail = |kind| server.target().error(kind);
    let found = server.target().indexes().await?;
    let stored = indexes::open_index(&found, spec).map_err(fail)?;
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
pub(crate) fn must_exist(collections: &[(&Server, &[IndexModel])]) -> Result<()> {
    match (collections.iter()).find(|(_, lacking)| !lacking.is_empty()) {
        None => Ok(()),
        Some((server, _)) => Err(server.target().error(missing_indexes(collections))),
    }
}

fn missing_indexes(collections: &[(&Server, &[IndexModel])]) -> Kind {
    let commands = collections.iter().flat_map(|(server, lacking)| {
        let of = |model: &IndexModel| RequiredIndex::new(server.collection().name(), model.clone());
        lacking.iter().map(of)
    });
    Kind::MissingIndexes(commands.map(|index| index.to_string()).collect())
}

/// Creates indexes. One round trip, or none if there is nothing to create.
pub async fn create(server: &Server, models: Vec<IndexModel>) -> Result<()> {
    if models.is_empty() {
        return Ok(());
    }
    let created = server.create_indexes(models.clone()).await;
    created.map_err(|error| {
        let kind = match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => Kind::NotUnique,
            // Apart from that one, only the open index refuses documents.
            Some(_) => Kind::SeveralOpen,
            None if is_code(&error, Code::Unauthorized) => missing_indexes(&[(server, &models)]),
            None => Kind::Driver,
        };
        server.target().write_error(error).known_as(kind)
    })
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
