//! A watch of all items beside the writers, and another program that leaves empty buckets.

use std::{collections::BTreeSet, time::Duration};

use bucket_runtime::{
    WatchToken,
    bson::{Bson, Document, doc},
    mongodb::Client,
};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::{
    handle::Handle,
    judge::{buckets, items, stored},
    network::Network,
    schedule::random_pause,
    tasks::JoinSet,
    world::{Answered, World},
};

/// How long a watch waits for an event at the end: longer than the server does.
const NO_EVENT: Duration = Duration::from_secs(2);

/// A watch that began before the writers did.
pub(crate) struct Watching<H> {
    network: Network,
    handle: H,
    beginning: WatchToken,
    /// What was stored before.
    earlier: BTreeSet<i64>,
    /// Whether an item is given once: no two writers append it, and no edit looks like an append.
    is_exact: bool,
}

impl<H: Handle> Watching<H> {
    pub(crate) async fn new(network: &Network, client: &Client, is_exact: bool) -> Self {
        // A process of its own, which does not end.
        let handle = H::open(&client.database("w0"), false).await;
        let watch = handle.watch().await.expect("a watch");
        Self {
            network: network.clone(),
            handle,
            beginning: watch.token().clone(),
            earlier: all_stored(&network.world()),
            is_exact,
        }
    }

    /// Begins to leave empty buckets.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>) {
        let network = self.network.clone();
        calls.spawn(async move {
            for _ in 0..8 {
                random_pause(&network).await;
                leave_empty::<H>(&mut network.world());
            }
        });
    }

    /// The watch has given each item that is stored.
    pub(crate) async fn finish(self) {
        let watch = self.handle.watch().resume_after(&self.beginning);
        let mut watch = watch.await.expect("a watch");
        let mut given = Vec::new();
        while let Ok(Some(item)) = timeout(NO_EVENT, watch.next()).await {
            given.push(H::number(&item.expect("an item")));
        }
        let mut world = self.network.world();
        world.note(|| format!("watched: {given:?}"));
        let stored = all_stored(&world);
        let times = |n: &i64| given.iter().filter(|given| *given == n).count();
        let mut later = stored.difference(&self.earlier);
        let lost = later.find(|n| times(n) == 0);
        let twice = given.iter().find(|n| self.is_exact && times(n) > 1);
        if let Some(n) = lost.or(twice) {
            let times = times(n);
            world.fail(format!("G1: a watch gives item {n} {times} times"));
        }
    }
}

/// The numbers of all items.
fn all_stored(world: &World) -> BTreeSet<i64> {
    let mut all = stored(&world.primary.store);
    let parents = world.primary.parents.documents.iter();
    all.extend(parents.flat_map(|parent| items(parent)).map(|(n, _)| n));
    all
}

/// Another program opens a bucket without items after the last one of some key, unless one is open.
fn leave_empty<H: Handle>(world: &mut World) {
    // Two changes of the capacity may have dropped each other's open index, which only the library's writers look for.
    let is_open = |index: &Document| {
        let name = index.get_str("name").unwrap_or_default();
        name.starts_with("bucket_open")
    };
    if !world.primary.store.built_indexes().any(is_open) {
        return;
    }
    let sensor = world.below(2) as i64;
    let is_long = world.happens(2);
    let of_key = |bucket: &&Document| bucket.get_i64("sensor") == Ok(sensor);
    let of_key = buckets(&world.primary.store).filter(of_key);
    let ids = of_key.filter_map(|bucket| Some((bucket.get_str("_id").ok()?, bucket)));
    let Some((last, bucket)) = ids.max_by_key(|(id, _)| *id) else {
        return;
    };
    let Some(id) = next_id(last, H::is_in_order()) else {
        return;
    };
    let count = match is_long {
        true => Bson::Int64(0),
        false => Bson::Int32(0),
    };
    let mut empty = doc! { "_id": id, "sensor": sensor, "count": &count, "items": [] };
    empty.extend(
        bucket
            .get("window")
            .map(|window| ("window".to_owned(), window.clone())),
    );
    if bucket.contains_key("rollup") {
        empty.insert(
            "rollup",
            doc! { "changes": { "count": count, "sum": 0_i64 } },
        );
    }
    let command = doc! { "insert": "buckets", "documents": [empty] };
    if world.is_blocked("another", &command, 0) {
        return;
    }
    let before = world.primary.clone();
    if let Ok(effect) = world.primary.carry_out(&command, 0) {
        world.record("another", &command, 0, &Ok(Answered::Wrote(effect, false)));
        world.note(|| format!("another program leaves an empty bucket: {command}"));
        world.note_changes(&before);
        world.replicate();
        world.judge();
    }
}

/// The next number, or the id of the same moment with the next suffix.
fn next_id(last: &str, is_numbered: bool) -> Option<String> {
    let (begin, end) = last.rsplit_once('_')?;
    match (is_numbered, end.len()) {
        (true, _) => Some(format!("{begin}_{:010}", end.parse::<u64>().ok()? + 1)),
        (false, 6) => Some(format!("{begin}_{:06}", end.parse::<u64>().ok()? + 1)),
        (false, _) => Some(format!("{last}_000001")),
    }
}
