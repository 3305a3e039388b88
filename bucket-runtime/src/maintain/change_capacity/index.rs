//! Replaces the open index with one that has the new bound.

use std::time::Duration;

use mongodb::bson::{Document, doc};
use tokio::time::Instant;

use crate::{
    Bucket, Result,
    error::{Code, Kind, duplicate_index, refusal},
    maintain::verify::{seal, verifier},
    protocol::{
        indexes::{self, open_indexes},
        validator,
    },
    schema::{
        key::Key,
        names::{OPEN_INDEX, SEALED},
        open_index::OpenIndex,
        spec::BucketSpec,
    },
    server::Server,
};

/// How long to retry while unguarded writers open further buckets.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many indexes of other capacities one call drops at most. Two calls with different capacities
/// would otherwise never end.
const TAKEN_AWAY: u32 = 10;

/// Gives the collection an index with the struct's capacity. An index cannot be changed: until the new
/// one exists, the server refuses all appends, and handles wait for it.
pub(super) async fn change<T: Bucket>(server: &Server) -> Result<OpenIndex> {
    let (spec, fail) = (const { &T::SPEC }, |error| {
        server.target().write_error(error)
    });
    let end = Instant::now() + PATIENCE;
    let (mut is_built, mut taken_away) = (false, 0);
    loop {
        let found = server.indexes().await.map_err(fail)?;
        let stored = open_indexes(&found, spec);
        let stored = stored.map_err(|kind| server.target().error(kind))?;
        let (ours, others): (Vec<_>, Vec<_>) =
            (stored.into_iter()).partition(|index| index.capacity == spec.capacity);
        let wanted = ours.first().copied();
        let wanted = wanted.unwrap_or(OpenIndex::changed_to(spec.capacity));
        // While there was no index, a program that does not know the struct's capacity yet may have
        // opened the collection and created the old one again.
        if is_built && !ours.is_empty() && others.is_empty() {
            change_validator::<T>(server).await?;
            return Ok(wanted);
        }
        for old in others {
            taken_away += 1;
            if taken_away > TAKEN_AWAY {
                let (stored, derived) = (old.capacity.into(), spec.capacity);
                let kind = Kind::CapacityMismatch { stored, derived };
                return Err(server.target().error(kind));
            }
            if old.capacity < spec.capacity {
                change_validator::<T>(server).await?;
            }
            // Most of this runs while writers go on; the second pass seals the buckets that were filled
            // since.
            seal_full(server, spec, old).await?;
            server.drop_index(old.name).await.map_err(fail)?;
            seal_full(server, spec, old).await?;
        }
        // Whether or not it was found: the server may still be building it for an interrupted call.
        let made = server.create_indexes(vec![indexes::open(spec, wanted)]);
        let Err(error) = made.await else {
            is_built = true;
            continue;
        };
        let is_conflict = matches!(
            refusal(&error),
            Some((Code::IndexOptionsConflict | Code::IndexKeySpecsConflict, _))
        );
        let is_several = duplicate_index(&error) == Some(OPEN_INDEX);
        if is_several && Instant::now() < end {
            // An earlier call was interrupted here, or some writer is not guarded by the index.
            verifier::<T>(server.collection().clone())
                .seal_all_but_newest()
                .await?;
        } else if !is_conflict || Instant::now() > end {
            let kind = if is_several {
                Kind::SeveralOpen
            } else {
                Kind::Driver
            };
            return Err(server.target().write_error(error).known_as(kind));
        }
    }
}

/// Seals full buckets that a greater capacity would open: their keys may have another open one.
async fn seal_full(server: &Server, spec: &BucketSpec, old: OpenIndex) -> Result<()> {
    let new = OpenIndex::changed_to(spec.capacity);
    if new.capacity < old.capacity {
        return Ok(());
    }
    let full = doc! {
        spec.count: { "$gte": old.bound(), "$lt": new.bound() },
        SEALED: { "$exists": false },
    };
    let sealed = server.update_many(full, seal(), None).await;
    sealed
        .map(drop)
        .map_err(|error| server.target().write_of_many_error(error))
}

/// Replaces the validator if it is the struct's at another capacity.
async fn change_validator<T: Bucket>(server: &Server) -> Result<()> {
    let fail = |error| server.target().write_error(error);
    let Some(found) = server.validator().await.map_err(fail)? else {
        return Ok(());
    };
    let Some(capacity) = capacity_of(&found, &T::SPEC) else {
        return Ok(());
    };
    let mut old = T::SPEC;
    old.capacity = capacity;
    let is_ours = found == validator::of_bucket(&old, T::Key::BSON_TYPES);
    if is_ours && capacity != T::SPEC.capacity {
        server.validate(T::validator()).await.map_err(fail)?;
    }
    Ok(())
}

fn capacity_of(validator: &Document, spec: &BucketSpec) -> Option<u32> {
    let schema = validator.get_document("$jsonSchema").ok()?;
    let fields = schema.get_document("properties").ok()?;
    let most = fields
        .get_document(spec.items)
        .ok()?
        .get_i32("maxItems")
        .ok()?;
    u32::try_from(most).ok()
}
