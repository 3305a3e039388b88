//! The systems that the tests search.

use crate::{
    properties::ITEMS,
    server::{Item, Rules},
    system::Config,
    writer::Call,
};

/// The number of a writer's nth item.
pub(crate) fn item(writer: u8, n: u8) -> Item {
    writer * ITEMS + n
}

/// A writer that appends `calls[n]` items in its nth call.
pub(crate) fn appends(writer: u8, calls: &[u8]) -> Vec<Call> {
    let mut begin = 0;
    let call = |n: &u8| {
        let items = (begin..begin + n).map(|n| item(writer, n)).collect();
        begin += n;
        Call::Append(items)
    };
    calls.iter().map(call).collect()
}

pub(crate) fn config(name: &'static str, capacity: u8, writers: Vec<Vec<Call>>) -> Config {
    Config {
        name,
        rules: Rules {
            capacity,
            unique: true,
            remembers: true,
            doubts: true,
            opens_first: true,
            sees_open: true,
            deletes_emptied: false,
            seals_empty: true,
            fills_exactly: true,
        },
        by_time: false,
        unordered: false,
        counts_bytes: false,
        writers,
        losses: 2,
        crashes: 1,
        has_empty: false,
        has_later: false,
    }
}

/// Three writers of single items, and three that combine several.
fn three(capacity: u8) -> Vec<Config> {
    let singly = vec![appends(0, &[1, 1]), appends(1, &[1, 1]), appends(2, &[1])];
    let together = vec![appends(0, &[3]), appends(1, &[2]), appends(2, &[1])];
    vec![
        config("one item after the other", capacity, singly),
        config("items that travel together", capacity, together),
    ]
}

pub(crate) fn numbered() -> Vec<Config> {
    (1..=3).flat_map(three).collect()
}

/// By number and by time.
fn both(config: Config) -> [Config; 2] {
    [false, true].map(|by_time| Config {
        by_time,
        ..config.clone()
    })
}

/// Writers of items without a bounded size.
pub(crate) fn unbounded() -> Vec<Config> {
    let unbounded = |config| Config {
        counts_bytes: true,
        ..config
    };
    let all = (2..=3).flat_map(three).map(unbounded);
    all.flat_map(both).collect()
}

pub(crate) fn timed() -> Vec<Config> {
    let by_time = |config| Config {
        by_time: true,
        ..config
    };
    let calls = || vec![appends(0, &[5]), appends(1, &[3, 1]), appends(2, &[1])];
    let unordered = (2..=3).map(|capacity| Config {
        unordered: true,
        ..config("calls that travel together", capacity, calls())
    });
    let late = vec![appends(0, &[3, 1]), appends(1, &[1])];
    let late = Config {
        has_later: true,
        ..config("late items", 2, late)
    };
    let all = numbered().into_iter().chain(unordered).chain([late]);
    all.map(by_time).collect()
}

/// Writers who find an empty bucket that another program has left open.
pub(crate) fn emptied() -> Vec<Config> {
    let of = |capacity| {
        let writers = vec![appends(0, &[1, 2]), appends(1, &[4, 1])];
        Config {
            has_empty: true,
            ..config("an empty bucket", capacity, writers)
        }
    };
    (2..=3).map(of).flat_map(both).collect()
}

/// Two writers, and a third that removes an item, whether it is stored by then or not.
pub(crate) fn removals() -> Vec<Config> {
    let removes = || vec![Call::Remove(item(0, 0))];
    let of = |capacity| {
        let writers = vec![appends(0, &[1, 2]), appends(1, &[2]), removes()];
        // A writer that knows a bucket appends more than that and the next one take.
        let knows = |items| {
            let writers = vec![appends(0, &[1, items]), removes()];
            config("removals", capacity, writers)
        };
        let several = both(config("removals", capacity, writers));
        several.into_iter().chain([knows(4), knows(5)])
    };
    (1..=3).flat_map(of).collect()
}
