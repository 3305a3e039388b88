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

/// A writer's items, `calls[n]` of them in the nth call.
fn items(writer: u8, calls: &[u8]) -> Vec<Vec<Item>> {
    let mut begin = 0;
    let call = |n: &u8| {
        let items = (begin..begin + n).map(|n| item(writer, n)).collect();
        begin += n;
        items
    };
    calls.iter().map(call).collect()
}

/// A writer that appends `calls[n]` items in its nth call.
pub(crate) fn appends(writer: u8, calls: &[u8]) -> Vec<Call> {
    items(writer, calls).into_iter().map(Call::Append).collect()
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
    let singles = config(
        "one item after the other",
        capacity,
        vec![appends(0, &[1, 1]), appends(1, &[1, 1]), appends(2, &[1])],
    );
    let together = config(
        "items that travel together",
        capacity,
        vec![appends(0, &[3]), appends(1, &[2]), appends(2, &[1])],
    );
    vec![singles, together]
}

pub(crate) fn numbered() -> Vec<Config> {
    (1..=3).flat_map(three).collect()
}

/// Writers of items without a bounded size, by number and by time.
pub(crate) fn unbounded() -> Vec<Config> {
    let both = |config: Config| {
        [false, true].map(|by_time| Config {
            by_time,
            counts_bytes: true,
            ..config.clone()
        })
    };
    (2..=3).flat_map(three).flat_map(both).collect()
}

pub(crate) fn timed() -> Vec<Config> {
    let by_time = |config| Config {
        by_time: true,
        ..config
    };
    let timed = numbered().into_iter().map(by_time);
    let unordered = (2..=3).map(|capacity| Config {
        unordered: true,
        ..by_time(config(
            "calls that travel together",
            capacity,
            vec![appends(0, &[5]), appends(1, &[3, 1]), appends(2, &[1])],
        ))
    });
    let late = Config {
        has_later: true,
        ..by_time(config(
            "late items",
            2,
            vec![appends(0, &[3, 1]), appends(1, &[1])],
        ))
    };
    timed.chain(unordered).chain([late]).collect()
}

/// Writers who find an empty bucket that another program has left open.
pub(crate) fn emptied() -> Vec<Config> {
    let both = |capacity| {
        let writers = vec![appends(0, &[1, 2]), appends(1, &[4, 1])];
        let by_number = Config {
            has_empty: true,
            ..config("an empty bucket", capacity, writers)
        };
        let by_time = Config {
            by_time: true,
            ..by_number.clone()
        };
        [by_number, by_time]
    };
    (2..=3).flat_map(both).collect()
}

/// Two writers, and a third that removes an item, whether it is stored by then or not.
pub(crate) fn removals() -> Vec<Config> {
    let both = |capacity| {
        let removes = vec![Call::Remove(item(0, 0))];
        let writers = vec![appends(0, &[1, 2]), appends(1, &[2]), removes];
        let by_number = config("removals", capacity, writers);
        let by_time = Config {
            by_time: true,
            ..by_number.clone()
        };
        // A writer that knows a bucket appends more than that and the next one take.
        let knows = |items| {
            let removes = vec![Call::Remove(item(0, 0))];
            config("removals", capacity, vec![appends(0, &[1, items]), removes])
        };
        [by_number, by_time, knows(4), knows(5)]
    };
    (1..=3).flat_map(both).collect()
}
