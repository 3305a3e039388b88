//! Compares what a stored bucket shows with the struct that opens its collection.

use bucket_core::{error::Kind, schema::spec::BucketSpec, server::Server, value::shell::shell};
use mongodb::bson::{Bson, Document};

use crate::{
    Bucket, Result,
    maintain::verify::{FirstBucket, verifier},
};

/// An error if the bucket that the server finds first has an id that no read finds, or keeps a
/// rollup that the struct does not. One round trip.
pub(super) async fn check_stored<T: Bucket>(server: &Server) -> Result<()> {
    let verifier = verifier::<T>(server.collection().clone());
    let Some(FirstBucket { facts, rollup }) = verifier.first().await? else {
        return Ok(());
    };
    let is_own = match verifier.scope(&facts) {
        Ok(scope) => verifier.is_own_id(&scope, &facts),
        Err(_) => facts.id.as_str().is_some(),
    };
    let rollup = rollup.as_ref().and_then(Bson::as_document);
    let unknown = rollup.and_then(|rollup| unknown_part(&T::SPEC, rollup));
    let kind = match unknown {
        _ if !is_own => Kind::NotOurId(shell(&facts.id)),
        None => return Ok(()),
        Some(path) => Kind::KnowsLess {
            keeps: format!("the rollup `{path}` in each bucket"),
            add: "mark the field with `sum`, `min` or `max`",
            remove: format!("updateMany({{}}, {{ $unset: {{ {path:?}: \"\" }} }})"),
        },
    };
    Err(server.target().error(kind))
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
