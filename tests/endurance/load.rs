//! State that the writers of one collection share.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::Duration,
};

use rand::Rng;
use tokio::time::{sleep, timeout};

use crate::history::{Answer, Call, Item, Log};

/// The number of keys that half of the writers write to; the other half write to one key.
pub(crate) const KEYS: i64 = 200;
pub(crate) const HOT: i64 = 0;

/// One call in this many is dropped before it completes.
const DROPPED: u32 = 50;

#[derive(Debug)]
pub(crate) struct Load {
    /// How long a writer pauses after a call, on average.
    pace: Duration,
    is_over: AtomicBool,
    calls: AtomicI64,
    pub(crate) log: Log,
}

impl Load {
    pub(crate) fn new(pace: Duration) -> Self {
        Self {
            pace,
            is_over: AtomicBool::new(false),
            calls: AtomicI64::new(0),
            log: Log::new(),
        }
    }

    /// Pauses; then returns whether to go on.
    pub(crate) async fn goes_on(&self) -> bool {
        let pause = rand::rng().random_range(Duration::ZERO..=2 * self.pace);
        sleep(pause).await;
        !self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The key and the number of a writer's next item.
    pub(crate) fn item(&self, writer: usize) -> (i64, i64) {
        // Handles alternate from writer to writer, so both halves use both handles.
        let key = match writer / 2 % 2 {
            0 => HOT,
            _ => rand::rng().random_range(HOT + 1..=KEYS),
        };
        (key, self.log.number())
    }

    pub(crate) fn did_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// How many calls were made so far.
    pub(crate) fn calls(&self) -> i64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Records what a writer was told about items that it sent in one call.
    pub(crate) fn note(
        &self,
        writer: usize,
        begin: Duration,
        items: impl IntoIterator<Item = ((i64, i64), Answer)>,
    ) {
        let mut by_key = BTreeMap::<i64, Vec<_>>::new();
        for ((key, n), answer) in items {
            let item = Item { n, value: n };
            by_key.entry(key).or_default().push((item, answer));
        }
        for (key, items) in by_key {
            self.log.record(writer, key, begin, Call::Add(items));
        }
    }
}

/// How long a client waits for an answer before it drops a call; mostly for as long as it takes.
pub(crate) fn patience(rng: &mut impl Rng) -> Option<Duration> {
    let is_dropped = rng.random_ratio(1, DROPPED);
    is_dropped.then(|| Duration::from_millis(rng.random_range(0..20)))
}

/// The answer to a call, or `None` if it took longer than the client waits.
pub(crate) async fn within<C: IntoFuture>(
    patience: Option<Duration>,
    call: C,
) -> Option<C::Output> {
    match patience {
        Some(patience) => timeout(patience, call).await.ok(),
        None => Some(call.await),
    }
}
