//! Compares what a stored bucket shows with the struct that opens its collection.

use bucket_core::{
    error::Kind,
    protocol::command::{StoredKey, stored_key},
    schema::{
        key::{Key, KeyPart},
        spec::BucketSpec,
    },
    server::Server,
    value::shell::shell,
};
use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

use crate::{Bucket, Result};

/// The bucket that the server finds first, as far as opening looks at it.
#[derive(Deserialize)]
struct FirstBucket {
    key: StoredKey,
    rollup: Option<Bson>,
}

/// An error if the bucket that the server finds first has an id that no read finds, or keeps a
/// rollup that the struct does not. One round trip.
pub(super) async fn check_stored<T: Bucket>(server: &Server) -> Result<()> {
    let spec = const { &T::SPEC };
    let row = doc! { "key": stored_key(spec), "rollup": format!("${}", spec.rollup) };
    let first = [doc! { "$limit": 1 }, doc! { "$replaceWith": row }];
    let found = server.target().pipeline(first).read_primary();
    let Some(FirstBucket { key, rollup }) = found.rows(None).await?.pop() else {
        return Ok(());
    };
    let is_own = match key.scope(spec, parts::<T>) {
        Ok(scope) => key.has_id_of(&scope),
        Err(_) => key.id.as_str().is_some(),
    };
    let rollup = rollup.as_ref().and_then(Bson::as_document);
    let unknown = rollup.and_then(|rollup| unknown_part(spec, rollup));
    let kind = match unknown {
        _ if !is_own => Kind::NotOurId(shell(&key.id)),
        None => return Ok(()),
        Some(path) => Kind::KnowsLess {
            keeps: format!("the rollup `{path}` in each bucket"),
            add: "mark the field with `sum`, `min` or `max`",
            remove: format!("updateMany({{}}, {{ $unset: {{ {path:?}: \"\" }} }})"),
        },
    };
    Err(server.target().error(kind))
}

/// The key with these stored values, or the index of the first unreadable field.
pub fn parts<T: Bucket>(values: Vec<Bson>) -> Result<Vec<KeyPart>, usize> {
    T::Key::from_values(values).map(|key| T::Key::parts(key.borrowed()))
}

/// The path of a part of this rollup that the struct does not keep.
fn unknown_part(spec: &BucketSpec, rollup: &Document) -> Option<String> {
    rollup.iter().find_map(|(name, stored)| {
        let path = format!("{}.{name}", spec.rollup);
        let Some(field) = spec.rollups.iter().find(|field| field.name == *name) else {
            return Some(path);
        };
        let parts = [(field.sum, "sum"), (field.min, "min"), (field.max, "max")];
        let stored = stored.as_document()?;
        let mut parts = parts.into_iter();
        let unknown = parts.find(|(keeps, part)| !keeps && stored.contains_key(part));
        unknown.map(|(_, part)| format!("{path}.{part}"))
    })
}
