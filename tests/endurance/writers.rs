//! Writers: each makes one call after another until the load ends, and records the answers. One that repeats sends its
//! items again until all are acknowledged.

use std::{iter, sync::Arc};

use bucket_runtime::Buckets;

use crate::{
    histories::list::List,
    history::{
        Answer::{self, Acknowledged},
        Call, Item,
    },
    items::Mark,
    load::{Load, patience, within},
    told::told_of_appended,
};

/// The number of items of a bulk call.
pub(crate) const BULK: usize = 12;

/// Adds so many items at a time to one key or parent.
pub(crate) async fn add<L: List>(
    list: L,
    writer: usize,
    load: Arc<Load>,
    count: usize,
    repeats: bool,
) {
    while load.goes_on().await {
        let (key, first) = load.item(writer);
        let others = (1..count).map(|_| load.log.number());
        let numbers = iter::once(first).chain(others);
        let items = Vec::from_iter(numbers.map(|n| Item { n, value: n }));
        let begin = load.log.now();
        let told = loop {
            let patience = patience(&mut rand::rng());
            let told = list.add(key, &items, patience).await;
            if !repeats || are_stored(&told) {
                break told;
            }
        };
        let added = iter::zip(items, told).collect();
        load.log.record(writer, key, begin, Call::Add(added));
    }
}

/// Appends many items of several keys at once.
pub(crate) async fn append_many<T: Mark>(
    buckets: Buckets<T>,
    writer: usize,
    load: Arc<Load>,
    repeats: bool,
) {
    while load.goes_on().await {
        let items: Vec<_> = (0..BULK).map(|_| load.item(writer)).collect();
        let begin = load.log.now();
        let told = loop {
            let patience = patience(&mut rand::rng());
            let mut marks = items.iter().map(|(k, n)| T::new(*k, *n));
            let outcome = within(patience, buckets.append_many(marks.by_ref())).await;
            let taken = items.len() - marks.len();
            let told = told_of_appended(outcome, items.len(), taken);
            if !repeats || are_stored(&told) {
                break told;
            }
        };
        load.note(writer, begin, iter::zip(items, told));
    }
}

fn are_stored(told: &[Answer]) -> bool {
    told.iter().all(|told| *told == Acknowledged)
}
