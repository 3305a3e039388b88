//! The systems that the tests search.

use crate::{
    edit::Change,
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

/// A writer that pushes `calls[n]` items in its nth call.
pub(crate) fn pushes(writer: u8, calls: &[u8]) -> Vec<Call> {
    items(writer, calls).into_iter().map(Call::Push).collect()
}

/// A writer that inserts the parent with this many items, and then pushes.
pub(crate) fn inserts(writer: u8, items_of_parent: u8, calls: &[u8]) -> Vec<Call> {
    let calls = [&[items_of_parent], calls].concat();
    let mut items = items(writer, &calls).into_iter();
    let insert = items.next().map(Call::Insert);
    insert.into_iter().chain(items.map(Call::Push)).collect()
}

pub(crate) fn config(name: &'static str, capacity: u8, writers: Vec<Vec<Call>>) -> Config {
    Config {
        name,
        rules: Rules {
            capacity,
            threshold: 1,
            unique: true,
            remembers: true,
            flag_first: true,
            doubts: true,
            opens_first: true,
            sees_open: true,
            deletes_emptied: false,
            seals_empty: true,
            fills_exactly: true,
            has_identity: false,
            flag_excludes: true,
            looks: true,
            flag_closes: true,
            edits_compare: true,
        },
        by_time: false,
        unordered: false,
        has_parent: false,
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

/// Pushes to a parent that is inserted at the same time.
pub(crate) fn outliers() -> Vec<Config> {
    let each = |(threshold, capacity)| {
        let writers = [
            vec![inserts(0, 1, &[1, 1]), pushes(1, &[1, 1]), pushes(2, &[1])],
            vec![inserts(0, 3, &[1]), pushes(1, &[2]), pushes(2, &[1])],
        ];
        writers.map(|writers| {
            let mut config = config("pushes", capacity, writers);
            config.has_parent = true;
            config.rules.threshold = threshold;
            // A second loss makes the number of states four times larger.
            config.losses = threshold;
            config
        })
    };
    [(1, 2), (2, 1)].into_iter().flat_map(each).collect()
}

/// Pushes to a parent that is there from the beginning, and that another writer deletes, twice: the first deletion may be cut short.
pub(crate) fn deletions() -> Vec<Config> {
    let each = |capacity| {
        let deletes = vec![Call::Delete, Call::Delete];
        let writers = vec![pushes(0, &[2, 1]), pushes(1, &[1, 1]), deletes];
        let mut config = config("deletions", capacity, writers);
        config.has_parent = true;
        config
    };
    [1, 2].map(each).into()
}

/// A writer that changes the items with these identities, one after the other.
pub(crate) fn edits(changes: &[(u8, Change)]) -> Vec<Call> {
    let edit = |(identity, change): &(u8, Change)| Call::Edit(*identity, *change);
    changes.iter().map(edit).collect()
}

/// A parent whose items have an identity. The nth item of each writer is the same one.
pub(crate) fn identified(threshold: u8, capacity: u8, writers: Vec<Vec<Call>>) -> Config {
    let mut config = config("identity", capacity, writers);
    config.has_parent = true;
    config.rules.has_identity = true;
    config.rules.threshold = threshold;
    config
}

/// Pushes of the same items to a parent, while these are removed and changed.
pub(crate) fn identities() -> Vec<Config> {
    use Change::{Remove, Replace};
    let each = |(threshold, capacity)| {
        [
            vec![inserts(0, 1, &[2]), pushes(1, &[1, 1]), pushes(2, &[2])],
            vec![
                inserts(0, 1, &[1, 1]),
                pushes(1, &[1, 2]),
                edits(&[(0, Remove)]),
            ],
            vec![
                inserts(0, 2, &[1]),
                edits(&[(1, Replace)]),
                edits(&[(0, Remove), (1, Replace)]),
            ],
            vec![
                inserts(0, 2, &[2]),
                pushes(1, &[3]),
                edits(&[(1, Remove), (2, Replace)]),
            ],
        ]
        .map(|writers| identified(threshold, capacity, writers))
    };
    [(1, 2), (2, 1)].into_iter().flat_map(each).collect()
}
