//! The items of a load that wait to be sent, by key.

use std::{collections::HashMap, mem, sync::Arc};

use bucket_core::server::call;
use tokio::{sync::mpsc, task::JoinSet};

use super::{OnProgress, load::Load, sizes::Sizes};
use crate::{
    Error,
    write::{
        engine::Engine,
        item::{UntypedItem, UntypedItems},
    },
};

/// How many commands are in flight at most.
const COMMANDS_IN_FLIGHT: usize = 4;

/// A load and its items that wait to be sent. The caller holds the items, and this their indexes.
pub(super) struct LoadBuffer {
    pub(super) load: Load,
    /// The items of each key.
    keys: Vec<Vec<usize>>,
    /// The place of each key in `keys`, by the prefix of its ids.
    places: HashMap<String, usize>,
    /// About how much memory the items take, and how much they may take.
    bytes: usize,
    max_bytes: usize,
    sizes: Sizes,
    /// A buffer for the prefix that looks up the next item's key.
    prefix: String,
}

impl LoadBuffer {
    pub(super) fn new(engine: Engine, max_bytes: usize, max_failed: usize) -> Self {
        Self {
            load: Load {
                engine,
                max_failed,
                state: Arc::default(),
                reports: None,
            },
            keys: Vec::new(),
            places: HashMap::new(),
            bytes: 0,
            max_bytes,
            sizes: Sizes::default(),
            prefix: String::new(),
        }
    }

    /// Adds an item, unless it cannot be stored; returns whether to flush before the next one.
    pub(super) fn add(&mut self, index: usize, item: &dyn UntypedItem) -> bool {
        if let Err(kind) = item.check() {
            let error = self.load.engine.target_of(&item.scope()).error(kind);
            self.load.record_refused([index], &error);
            // Checking this for every item would take as long as all other work here.
            return self.load.is_over();
        }
        self.bytes += self.sizes.estimate(item);
        self.prefix.clear();
        item.write_prefix(&mut self.prefix);
        if let Some(place) = self.places.get(&self.prefix) {
            self.keys[*place].push(index);
        } else {
            // A map that has grown is half empty.
            self.bytes += 2 * mem::size_of::<(String, Vec<usize>)>() + self.prefix.len();
            self.places.insert(self.prefix.clone(), self.keys.len());
            self.keys.push(vec![index]);
        }
        self.bytes >= self.max_bytes
    }

    /// Sends everything that is buffered, and returns why items were not stored, by their indexes.
    /// The keys are divided among as many commands as may be in flight; the commands of one key
    /// follow each other.
    ///
    /// Each part is a task, so one part is written as BSON while another is in flight. The tasks
    /// end with this future.
    pub(super) async fn flush(
        &mut self,
        items: Arc<dyn UntypedItems>,
        progress: &mut OnProgress<'_>,
    ) -> HashMap<usize, Error> {
        let (report, mut reports) = mpsc::unbounded_channel();
        let mut parts = JoinSet::new();
        for keys in self.take_parts() {
            let (mut part, items) = (self.load.clone(), Arc::clone(&items));
            part.reports = Some(report.clone());
            parts.spawn(call::in_task(async move { part.store(items, keys).await }));
        }
        drop(report);
        // Until all parts have ended.
        while let Some(stored) = reports.recv().await {
            progress(stored);
        }
        parts.join_all().await;
        mem::take(&mut self.load.lock().refused)
    }

    /// Takes out the items of each key, in as many parts as commands may be in flight.
    fn take_parts(&mut self) -> Vec<Vec<Vec<usize>>> {
        self.bytes = 0;
        self.places.clear();
        let parts = COMMANDS_IN_FLIGHT.min(self.keys.len());
        let mut shared: Vec<_> = (0..parts).map(|_| Vec::new()).collect();
        for (n, indexes) in self.keys.drain(..).enumerate() {
            shared[n % parts].push(indexes);
        }
        shared
    }
}
