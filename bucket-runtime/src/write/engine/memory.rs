//! A handle's memory of the keys that it wrote last.
//!
//! The server keeps the index entries of full buckets for its snapshot history, five minutes by
//! default. A search for the open bucket passes those of the key, and so does the check that the
//! entry of a new bucket is unique. A key that opens many buckets a second would spend most of an
//! append on them.
//!
//! So a handle remembers the newest bucket of the keys that it wrote last, and fills it by its id,
//! with the hint `_id_`: that passes nothing, and only openings are left, of which a larger
//! capacity needs fewer. What is remembered may be out of date. The statement's filter decides, and
//! a refusal leads to the open index (`protocol/next_step.rs`). Such a statement does not name
//! `bucket_open`, whose name stands for the capacity; a change of the capacity seals all buckets
//! that a handle may remember as open. It remembers only what a statement of its own has shown: a
//! bucket that was read may be of another capacity. So may one that took the id of a remembered
//! bucket after that was removed: only a validator keeps a handle from before the change out of it.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Batch, Engine, NewestBucket, SendMode};

/// How many keys a handle remembers at least; those that were not written for the longest time are
/// forgotten. At most twice as many are kept, and each takes some 200 bytes.
const KEYS: usize = 10_000;

/// The newest buckets of the keys that a handle wrote last, by the prefix of their ids. An entry
/// may be out of date at any time: then the server refuses the statement that was built on it.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Generations>>);

/// Two generations, so that keys that are no longer written disappear, without a list of uses.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, NewestBucket>,
    old: HashMap<String, NewestBucket>,
}

impl Engine {
    /// Takes over what the handle remembers of the key, once for each batch. A session may not see
    /// yet what the handle has written.
    pub(crate) fn recall(&self, batch: &mut Batch, is_in_session: bool) {
        let has_recalled = mem::replace(&mut batch.retry_state.has_recalled, true);
        // The command before, which has just ended, knows better.
        if !has_recalled && !is_in_session && batch.newest_bucket == NewestBucket::Unknown {
            let remembered = (self.memory).with_key(&batch.scope.prefix, |known| known.clone());
            batch.go_on_from(remembered);
        }
    }

    /// Remembers what the batch knows of the key, unless its transaction may still be aborted.
    pub(super) fn remember(&self, batch: &Batch, mode: SendMode) {
        let newest_bucket = match &batch.newest_bucket {
            _ if mode == SendMode::InSession => NewestBucket::Unknown,
            open @ NewestBucket::Open { .. } => open.clone(),
            // Buckets may be removed before the next item comes, and numbers leave no gap.
            NewestBucket::Closed { .. } if batch.scope.spec.id.ordinal.counts() => {
                NewestBucket::NoneOpen
            }
            _ => NewestBucket::Unknown,
        };
        (self.memory).with_key(&batch.scope.prefix, |known| *known = newest_bucket);
    }
}

impl Memory {
    /// Looks at what is remembered of a key, or changes it. A key that is used becomes one of the
    /// young ones.
    fn with_key<R>(&self, prefix: &str, act: impl FnOnce(&mut NewestBucket) -> R) -> R {
        let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = keys.young.get_mut(prefix) {
            return act(known);
        }
        let mut known = keys.old.remove(prefix).unwrap_or(NewestBucket::Unknown);
        let result = act(&mut known);
        if keys.young.len() >= KEYS {
            keys.old = mem::take(&mut keys.young);
        }
        keys.young.insert(prefix.to_owned(), known);
        result
    }
}

#[test]
fn keys_that_are_written_stay_and_others_are_forgotten() {
    let open = NewestBucket::with_room("0_1", 1, 0);
    let memory = Memory::default();
    for n in 0..3 * KEYS {
        memory.with_key(&format!("{n}_"), |known| *known = open.clone());
        memory.with_key("0_", |known| assert_eq!(*known, open, "{n}"));
    }
    memory.with_key("1_", |known| assert_eq!(*known, NewestBucket::Unknown));
    let keys = memory.0.lock().unwrap();
    let kept = keys.young.len() + keys.old.len();
    assert!((KEYS..=2 * KEYS).contains(&kept), "{kept}");
}
