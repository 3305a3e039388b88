//! Replaces the open index with one that has the new bound.

use std::time::Duration;

use mongodb::{
    bson::{Document, doc},
    error::Error as DriverError,
};
use tokio::time::Instant;

use crate::{
    Bucket, Result,
    error::{Code, Kind, duplicate_index, refusal},
    maintain::{
        open::mark_unsealed,
        verify::{seal, verifier},
    },
    protocol::{
        indexes::{self, open_indexes},
        validator,
    },
    schema::{
        key::Key,
        names::{OPEN_INDEX, SEALED},
        open_index::OpenIndex,
        spec::{BucketSpec, Ordinal},
    },
    server::Server,
};

/// How long to retry while unguarded writers open further buckets.
const LONGEST_INDEX_CHANGE: Duration = Duration::from_secs(60);

/// How many indexes of other capacities one call drops at most. Two calls with different capacities
/// would otherwise never end.
const MOST_DROPPED: u32 = 10;

/// Gives the collection an index with the struct's capacity. An index cannot be changed: until the new
/// one exists, the server refuses all appends, and handles wait for it.
///
/// If numbered buckets are to be rewritten, the index gets the name of a changed capacity in any case: then writers do
/// not insert full buckets (`write/engine/batch/new_buckets.rs`), which the index would not refuse.
pub(super) async fn change<T: Bucket>(server: &Server, repack: bool) -> Result<OpenIndex> {
    let (spec, target) = (const { &T::SPEC }, server.target());
    let needs_mark = repack && spec.id.ordinal == Ordinal::Number;
    let is_ours = |index: &OpenIndex| {
        index.capacity == spec.capacity && (index.mark().is_some() || !needs_mark)
    };
    let end = Instant::now() + LONGEST_INDEX_CHANGE;
    let (mut is_built, mut dropped) = (false, 0);
    let mut is_marked = false;
    loop {
        let stored = open_indexes(&target.indexes().await?, spec);
        let stored = stored.map_err(|kind| target.error(kind))?;
        let (ours, others): (Vec<_>, Vec<_>) = stored.into_iter().partition(is_ours);
        let wanted = ours.first().copied();
        let wanted = wanted.unwrap_or(OpenIndex::changed_to(spec.capacity));
        // While there was no index, a program that does not know the struct's capacity yet may have
        // opened the collection and created the old one again.
        if is_built && !ours.is_empty() && others.is_empty() {
            change_validator::<T>(server).await?;
            return Ok(wanted);
        }
        for old in others {
            dropped += 1;
            if dropped > MOST_DROPPED {
                let (stored, derived) = (old.capacity.into(), spec.capacity);
                return Err(target.error(Kind::CapacityMismatch { stored, derived }));
            }
            drop_old::<T>(server, old).await?;
            is_marked = true;
        }
        if ours.is_empty() && !is_marked {
            // An earlier call was interrupted after it had dropped the index.
            mark_unsealed(server, spec, wanted, None).await?;
            is_marked = true;
        }
        // Whether or not it was found: the server may still be building it for an interrupted call.
        let created = server.create_indexes(vec![indexes::open(spec, wanted)]);
        match created.await {
            Ok(()) => is_built = true,
            Err(error) => prepare_retry::<T>(server, error, Instant::now() > end).await?,
        }
    }
}

/// Drops an open index of another capacity.
async fn drop_old<T: Bucket>(server: &Server, old: OpenIndex) -> Result<()> {
    if old.capacity < T::SPEC.capacity {
        change_validator::<T>(server).await?;
    }
    // Most of this runs while writers go on; the second pass seals the buckets that were filled since.
    seal_full(server, &T::SPEC, old).await?;
    let new = OpenIndex::changed_to(T::SPEC.capacity);
    mark_unsealed(server, &T::SPEC, new, Some(old)).await?;
    server.target().drop_index(old.name).await?;
    mark_unsealed(server, &T::SPEC, new, Some(old)).await?;
    seal_full(server, &T::SPEC, old).await
}

/// Removes the reason why the server refused the new index, if the next try may succeed; otherwise returns the
/// error.
async fn prepare_retry<T: Bucket>(
    server: &Server,
    error: DriverError,
    is_over: bool,
) -> Result<()> {
    let is_conflict = matches!(
        refusal(&error),
        Some((Code::IndexOptionsConflict | Code::IndexKeySpecsConflict, _))
    );
    let is_several = duplicate_index(&error) == Some(OPEN_INDEX);
    if is_over || !(is_several || is_conflict) {
        let kind = if is_several {
            Kind::SeveralOpen
        } else {
            Kind::Driver
        };
        return Err(server.target().write_error(error).known_as(kind));
    }
    if is_several {
        // An earlier call was interrupted here, or some writer is not guarded by the index.
        let verifier = verifier::<T>(server.collection().clone());
        verifier.seal_all_but_newest().await?;
    }
    Ok(())
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
    let sealed = server.target().update_many(full, seal(), None).await;
    sealed.map(drop)
}

/// Replaces the validator if it is the struct's at another capacity.
async fn change_validator<T: Bucket>(server: &Server) -> Result<()> {
    let Some(found) = server.target().validator().await? else {
        return Ok(());
    };
    let Some(capacity) = capacity_of(&found, &T::SPEC) else {
        return Ok(());
    };
    let mut old = T::SPEC;
    old.capacity = capacity;
    let is_ours = found == validator::of_bucket(&old, T::Key::BSON_TYPES);
    if is_ours && capacity != T::SPEC.capacity {
        server.target().set_validator(T::validator()).await?;
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
