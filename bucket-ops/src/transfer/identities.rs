//! Leaves items out whose identities are there already.

use std::collections::HashSet;

use bucket_core::{
    protocol::{command::KeyScope, newest_bucket::NewestBucket},
    server::Server,
    value::number::comparable,
};
use bucket_runtime::{
    __ops::{KeyItems, identity},
    Result,
};

/// Takes out the items whose identity an earlier item of the same key has: one of these, or a
/// stored one. Returns how many. One round trip for each key (or window) that has buckets.
pub(super) async fn leave_out_present(server: &Server, keys: &mut Vec<KeyItems>) -> Result<usize> {
    let (mut left_out, mut seen, mut key) = (0, HashSet::new(), None::<KeyScope>);
    for key_items in &mut *keys {
        let scope = &key_items.scope;
        let Some(field) = scope.spec.unique else {
            return Ok(0);
        };
        // The windows of a key follow each other.
        if !(key.as_ref()).is_some_and(|key| scope.prefix.starts_with(&key.prefix)) {
            key = Some(KeyScope::new(scope.spec, scope.parts.clone()));
            seen.clear();
        }
        let all = key_items.indexes.iter();
        let identities = all.map(|index| identity(key_items.item(*index), field));
        let identities = Vec::from_iter(identities);
        if key_items.newest_bucket != (NewestBucket::Closed { last: None }) {
            let known = identities.iter().flatten().cloned().collect();
            let present = server.present_identities(scope, field, known, None).await?;
            seen.extend(present.iter().map(comparable));
        }
        let mut identities = identities.into_iter();
        let before = key_items.indexes.len();
        let is_new = |_: &usize| {
            let identity = identities.next().flatten();
            identity.is_none_or(|identity| seen.insert(comparable(&identity)))
        };
        key_items.indexes.retain(is_new);
        left_out += before - key_items.indexes.len();
    }
    keys.retain(|key_items| !key_items.indexes.is_empty());
    Ok(left_out)
}
