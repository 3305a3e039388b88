//! A handle's memory of the keys that it wrote last.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::NewestBucket;
use crate::{schema::slot::IndexSlot, write::chance::happens_once_in};

/// How many keys a handle remembers at least; those that were not written for the longest time are
/// forgotten. At most twice as many are kept, and each takes some 300 bytes.
const KEYS: usize = 10_000;

/// What a handle knows of the keys that it wrote last, by the prefix of their ids. It may be out of date
/// at any time: then the server refuses the statement that was built on it.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    keys: Arc<Mutex<Generations>>,
    pace: RingPace,
}

/// When a key gets a ring, and how soon its ring turns.
///
/// Chances stand for counts, which all handles of a collection would have to share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingPace {
    /// Within which time the next bucket is opened while a key is busy.
    pub(crate) busy: Duration,
    /// How many openings in a row show that a key is busy.
    pub(crate) openings_in_a_row: u32,
    /// Every how many openings a busy key gets a ring; never if it is 0.
    pub(crate) openings_before_ring: u32,
    /// Every how many openings the ring turns.
    pub(crate) openings_per_slot: u32,
}

/// A key as a handle knows it.
#[derive(Debug, Clone)]
pub(super) struct KnownKey {
    pub(super) newest_bucket: NewestBucket,
    pub(super) slot: IndexSlot,
    /// Whether the key has a ring.
    pub(super) has_ring: bool,
    /// Whether the next opening turns the ring.
    pub(super) turns: bool,
    /// When a bucket was last opened, and how many were opened in a row.
    opened: Option<Instant>,
    in_a_row: u32,
}

/// Two generations, so that keys that are no longer written disappear, without a list of uses.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, KnownKey>,
    old: HashMap<String, KnownKey>,
}

impl RingPace {
    /// Passing the entries of a thousand buckets costs about as much as the rest of an opening.
    pub(crate) const DEFAULT: Self = Self {
        busy: Duration::from_secs(1),
        openings_in_a_row: 64,
        openings_before_ring: 1024,
        openings_per_slot: 64,
    };

    /// Keys get no rings.
    pub(crate) const NEVER: Self = Self {
        openings_before_ring: 0,
        ..Self::DEFAULT
    };
}

impl KnownKey {
    const UNKNOWN: Self = Self {
        newest_bucket: NewestBucket::Unknown,
        slot: IndexSlot::FIRST,
        has_ring: false,
        turns: false,
        opened: None,
        in_a_row: 0,
    };
}

impl Memory {
    pub(super) fn new(pace: RingPace) -> Self {
        Self {
            keys: Arc::default(),
            pace,
        }
    }

    /// What is known of the key.
    pub(super) fn recall(&self, prefix: &str) -> KnownKey {
        self.with_key(prefix, |key| key.clone())
    }

    /// Remembers the key's newest bucket and its slot.
    pub(super) fn remember(&self, prefix: &str, newest_bucket: &NewestBucket, slot: IndexSlot) {
        self.with_key(prefix, |key| {
            key.newest_bucket.clone_from(newest_bucket);
            key.turns &= key.slot == slot;
            key.slot = slot;
        });
    }

    /// Remembers whether the key has a ring.
    pub(super) fn remember_ring(&self, prefix: &str, has_ring: bool) {
        self.with_key(prefix, |key| key.has_ring = has_ring);
    }

    /// Notes that a bucket of the key was opened. Returns whether the key is to get a ring.
    pub(super) fn note_opening(&self, prefix: &str) -> bool {
        let pace = self.pace;
        self.with_key(prefix, |key| {
            let now = Instant::now();
            let last = key.opened.replace(now);
            key.in_a_row = match last {
                Some(last) if now - last < pace.busy => key.in_a_row.saturating_add(1),
                _ => 1,
            };
            if key.in_a_row < pace.openings_in_a_row {
                return false;
            }
            if !key.has_ring {
                return happens_once_in(pace.openings_before_ring);
            }
            key.turns |= happens_once_in(pace.openings_per_slot);
            false
        })
    }

    fn with_key<R>(&self, prefix: &str, act: impl FnOnce(&mut KnownKey) -> R) -> R {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.with_key(prefix, act)
    }
}

impl Generations {
    /// A key that is used becomes one of the young ones.
    fn with_key<R>(&mut self, prefix: &str, act: impl FnOnce(&mut KnownKey) -> R) -> R {
        if let Some(key) = self.young.get_mut(prefix) {
            return act(key);
        }
        let mut key = self.old.remove(prefix).unwrap_or(KnownKey::UNKNOWN);
        let result = act(&mut key);
        if self.young.len() >= KEYS {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(prefix.to_owned(), key);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(last: &str) -> NewestBucket {
        let last = Some(last.to_owned());
        NewestBucket::Closed { last }
    }

    #[test]
    fn keys_that_are_written_stay_and_others_are_forgotten() {
        let memory = Memory::new(RingPace::DEFAULT);
        for n in 0..3 * KEYS {
            memory.remember(&format!("{n}_"), &closed("1"), IndexSlot::FIRST);
            assert_eq!(memory.recall("0_").newest_bucket, closed("1"), "{n}");
        }
        assert_eq!(memory.recall("1_").newest_bucket, NewestBucket::Unknown);
        let keys = memory.keys.lock().unwrap();
        let kept = keys.young.len() + keys.old.len();
        assert!((KEYS..=2 * KEYS).contains(&kept), "{kept}");
    }

    #[test]
    fn a_busy_key_gets_a_ring_which_turns() {
        let memory = Memory::new(RingPace {
            openings_in_a_row: 2,
            openings_before_ring: 1,
            openings_per_slot: 1,
            ..RingPace::DEFAULT
        });
        assert!(!memory.note_opening("1_"));
        assert!(memory.note_opening("1_"));
        memory.remember_ring("1_", true);
        assert!(!memory.note_opening("1_"));
        assert!(memory.recall("1_").turns);
        memory.remember("1_", &closed("1"), IndexSlot::FIRST.next());
        assert!(!memory.recall("1_").turns);
    }
}
