//! Changes the capacity of a collection, between handles of the old one and of the new one.
//!
//! The bound of the open index is the collection's capacity. With a hint, the server uses an index
//! even if its bound is below the one in the filter, so the bound alone would not stop a handle
//! with another capacity. The name of the index therefore changes with the capacity (`bucket_open`,
//! later `bucket_open_25`), and every command that depends on the capacity names it as its hint,
//! but those that fill a remembered bucket by its id.
//!
//! A hidden index still refuses a second open bucket, and the server refuses each command that
//! names it. So the old index is hidden first; then all buckets that a handle of either capacity
//! may take for open are sealed, and the new index is created, hidden as well. Only then the old
//! index is dropped. That ends the commands that began with it, so whatever these have opened is
//! sealed by a second pass, and the new index is shown. At each moment an index guards the
//! collection, and a hidden one says that a change has begun, which the next call finishes
//! (`tests/live/server_claims/hidden_index.rs`).

use bucket_core::{
    error::{Code, is_code},
    protocol::{
        indexes::{self, open_indexes},
        validator,
    },
    schema::{key::Key, names::SEALED, open_index::OpenIndex, spec::BucketSpec},
    server::{Server, call::span},
};
use bucket_runtime::{__ops::create_indexes, Bucket, Error, Result, action::Call};
use mongodb::bson::{Document, doc};

use crate::verify::seal;

/// How often one call begins again, since another one changes the capacity, too, or a writer that
/// the index does not guard opens further buckets.
const ROUNDS: u32 = 10;

pub(crate) fn change_capacity<T: Bucket>(server: Server) -> Call<'static, ()> {
    Call::new(span!(change_capacity), |()| async move {
        let mut refused = None;
        for _ in 0..ROUNDS {
            match round::<T>(&server).await {
                Ok(true) => return Ok(()),
                Ok(false) => refused = None,
                Err(error) if error.is_several_open() || is_conflict(&error) => {
                    refused = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        refused.map_or(Ok(()), Err)
    })
}

/// Whether another index has the name or the definition of the new one.
fn is_conflict(error: &Error) -> bool {
    let conflicts = [Code::IndexOptionsConflict, Code::IndexKeySpecsConflict];
    let is_one = |driver| conflicts.into_iter().any(|code| is_code(driver, code));
    error.driver().is_some_and(is_one)
}

/// Changes the capacity unless it is the struct's; returns whether it was.
async fn round<T: Bucket>(server: &Server) -> Result<bool> {
    let (spec, target) = (const { &T::SPEC }, server.target());
    let stored = open_indexes(&target.indexes().await?, spec);
    let stored = stored.map_err(|kind| target.error(kind))?;
    let (ours, others): (Vec<_>, Vec<_>) = stored
        .into_iter()
        .partition(|(index, _)| index.capacity == spec.capacity);
    if matches!((&ours[..], &others[..]), ([(_, false)], [])) {
        return Ok(true);
    }
    bucket_core::reached!(
        "a change of the capacity: {} own indexes, {} others",
        ours.len(),
        others.len()
    );
    let new = OpenIndex::changed_to(spec.capacity);
    let new = ours.first().map_or(new, |(index, _)| *index);
    // Of an interrupted change the former capacity may be unknown.
    let known = others
        .iter()
        .map(|(other, _)| other.bound().max(new.bound()));
    let most = known.max().unwrap_or(i32::MAX);
    if let [(old, false)] = others[..] {
        // Most of this runs while writers go on.
        seal_unsealed(server, spec, old.bound(), most).await?;
    }
    // From 8.2 on the server refuses to create an index again that is shown, as one that is hidden.
    for (index, _) in others.iter().chain(&ours) {
        target.hide_index(index.name, true).await?;
    }
    seal_unsealed(server, spec, 0, most).await?;
    // Whether or not it was found: the server may still be building it for an interrupted call.
    create_indexes(server, vec![indexes::hidden(spec, new)]).await?;
    for (old, _) in &others {
        target.drop_index(old.name).await?;
    }
    seal_unsealed(server, spec, 0, most).await?;
    change_validator::<T>(server).await?;
    target.hide_index(new.name, false).await?;
    Ok(false)
}

/// Seals the buckets with this many items at least, and fewer than so many.
async fn seal_unsealed(server: &Server, spec: &BucketSpec, least: i32, most: i32) -> Result<()> {
    let unsealed = doc! {
        spec.count: { "$gte": least, "$lt": most },
        SEALED: { "$exists": false },
    };
    let sealed = server.target().update_many(unsealed, seal()).await;
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
