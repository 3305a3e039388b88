//! Leaves items out whose identities are there already.

use std::collections::HashSet;

use bucket_core::{
    protocol::command::{KeyScope, identity},
    server::Server,
    value::number::comparable,
};
use bucket_runtime::Result;

use super::chunk::ChunkKey;

/// Takes out the items whose identity an earlier item of the same key has: one of these, or a
/// stored one. Returns how many. One round trip for each key (or window) that has buckets.
pub(super) async fn leave_out_present(server: &Server, keys: &mut Vec<ChunkKey>) -> Result<usize> {
    let (mut left_out, mut seen, mut of) = (0, HashSet::new(), None::<KeyScope>);
    for ChunkKey {
        scope,
        entries,
        is_new,
    } in &mut *keys
    {
        let Some(field) = scope.spec.unique else {
            return Ok(0);
        };
        // The windows of a key follow each other.
        if !(of.as_ref()).is_some_and(|key| scope.prefix.starts_with(&key.prefix)) {
            of = Some(KeyScope::new(scope.spec, scope.parts.clone()));
            seen.clear();
        }
        if !*is_new {
            let known = entries.iter().map(|entry| identity(field, &entry.element));
            let known = known.flatten().cloned().collect();
            let present = server.present_identities(scope, field, known, None).await?;
            seen.extend(present.iter().map(comparable));
        }
        let before = entries.len();
        entries.retain(|entry| {
            let identity = identity(field, &entry.element);
            identity.is_none_or(|identity| seen.insert(comparable(identity)))
        });
        left_out += before - entries.len();
    }
    keys.retain(|key| !key.entries.is_empty());
    Ok(left_out)
}
