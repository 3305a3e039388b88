//! Planted faults: each is reported under its name, and without faults nothing is reported.

use std::time::Duration;

use super::*;
use crate::{
    history::{Call, Item, Operation},
    stored::{StoredBucket, StoredItem, StoredParent},
};

const SECONDS: Format = Format {
    capacity: 2,
    moment: Moment::Seconds,
};
const NUMBER: Format = Format {
    capacity: 2,
    moment: Moment::Number,
};
const MINUTE: Format = Format {
    capacity: 2,
    moment: Moment::Window(60_000),
};

/// Two writers; item 5 certainly failed, item 6 is in doubt.
fn history() -> History {
    let call = |n: i64, answer| Operation {
        client: n as usize % 2,
        key: 7,
        begin: Duration::ZERO,
        end: Duration::ZERO,
        call: Call::Add(vec![(Item { n, value: n }, answer)]),
    };
    let mut operations: Vec<_> = (0..5).map(|n| call(n, Answer::Acknowledged)).collect();
    operations.extend([call(5, Answer::Refused), call(6, Answer::InDoubt)]);
    History { operations }
}

fn bucket(id: &str, numbers: &[i64]) -> StoredBucket {
    let item = |&n: &i64| StoredItem { n, at: n * 1000 };
    StoredBucket {
        id: id.to_owned(),
        key: 7,
        window: None,
        count: numbers.len() as i64,
        sealed: false,
        items: numbers.iter().map(item).collect(),
    }
}

/// Correct buckets, whether item 6 has arrived or not.
fn timed() -> Vec<StoredBucket> {
    vec![
        bucket("7_0000000000", &[0, 1]),
        bucket("7_0000000002_000001", &[2, 3]),
        bucket("7_0000000004", &[4, 6]),
    ]
}

fn numbered() -> Vec<StoredBucket> {
    vec![
        bucket("7_0000000000", &[0, 1]),
        bucket("7_0000000001", &[2, 3]),
        bucket("7_0000000002", &[4]),
    ]
}

fn windows() -> Vec<StoredBucket> {
    let of_minute = |id, numbers: &[i64]| StoredBucket {
        window: Some(0),
        ..bucket(id, numbers)
    };
    vec![
        of_minute("7_0000000000", &[0, 1]),
        of_minute("7_0000000000_000001", &[2, 3]),
        of_minute("7_0000000000_000002", &[4]),
    ]
}

/// The guarantees that the verdict reports as broken.
fn broken(verdict: &Verdict) -> Vec<&'static str> {
    assert_eq!(verdict.is_clean(), verdict.broken.is_empty(), "{verdict}");
    verdict.broken.keys().copied().collect()
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let verdict = buckets(&history(), &timed(), SECONDS);
    assert_eq!(broken(&verdict), [""; 0], "{verdict}");
    assert_eq!(
        verdict.to_string(),
        "5 acknowledged, 1 failed, 1 ambiguous (1 stored), 0 lost, 0 doubled"
    );
    let verdict = buckets(&history(), &numbered(), NUMBER);
    assert_eq!(broken(&verdict), [""; 0], "{verdict}");
    assert_eq!(verdict.arrived, 0);
    let verdict = buckets(&history(), &windows(), MINUTE);
    assert_eq!(broken(&verdict), [""; 0], "{verdict}");
}

type Fault = fn(&mut Vec<StoredBucket>);

/// A fault that is planted in correct buckets breaks this guarantee.
fn finds(guarantee: &'static str, fault: Fault, mut stored: Vec<StoredBucket>, format: Format) {
    fault(&mut stored);
    let verdict = buckets(&history(), &stored, format);
    let is_found = broken(&verdict).contains(&guarantee);
    assert!(is_found, "{guarantee}: {verdict}");
}

#[test]
fn planted_faults_are_found() {
    let faults: [(&str, Fault); 11] = [
        ("G1: acknowledged is stored", |all| {
            all[2].items[0] = all[2].items[1];
            all[2].items.truncate(1);
            all[2].count = 1;
            all[2].id = "7_0000000006".to_owned();
        }),
        ("G1: stored once", |all| all[2].items[1].n = 1),
        ("G1: refused is not stored", |all| all[2].items[1].n = 5),
        ("G2: count is the length", |all| all[2].count = 1),
        ("G2: within capacity", |all| {
            let moved = all.pop().unwrap().items;
            all[0].items.extend(moved);
            all[0].count = 4;
        }),
        ("G3: nothing is sealed", |all| all[0].sealed = true),
        ("G3: one open bucket", |all| {
            all[0].items.pop();
            all[0].count = 1;
            all[2].items = vec![StoredItem { n: 1, at: 4000 }];
            all[2].count = 1;
        }),
        ("G3: as few as can be", |all| {
            let moved = all[2].items.pop().unwrap();
            all[2].count = 1;
            let mut further = bucket("7_0000000006", &[6]);
            further.items = vec![moved];
            all.push(further);
        }),
        ("G4: under its own key", |all| all[1].key = 8),
        ("G4: under its own key", |all| all[2].items[1].n = 99),
        ("G5: the id is that of the items", |all| {
            all[1].id = "7_0000000003".to_owned()
        }),
    ];
    for (guarantee, fault) in faults {
        finds(guarantee, fault, timed(), SECONDS);
    }
}

#[test]
fn planted_faults_in_numbers_are_found() {
    let faults: [(&str, Fault); 4] = [
        ("G5: numbers without a gap", |all| {
            all[2].id = "7_0000000003".to_owned()
        }),
        ("G5: full but the last", |all| {
            let moved = all[0].items.pop().unwrap();
            all[0].count = 1;
            all[2].items.push(moved);
            all[2].count = 2;
        }),
        ("G5: order of creation", |all| {
            let (one, other) = (all[0].items[1], all[1].items[1]);
            (all[0].items[1], all[1].items[1]) = (other, one);
        }),
        ("G5: order of creation", |all| {
            all[0].items[0].n = 2;
            all[1].items[0].n = 0;
        }),
    ];
    for (guarantee, fault) in faults {
        finds(guarantee, fault, numbered(), NUMBER);
    }
}

#[test]
fn planted_faults_in_windows_are_found() {
    let faults: [Fault; 2] = [
        |all| all[1].items[1].at = 60_000,
        |all| all[1].window = Some(60_000),
    ];
    for fault in faults {
        finds("G5: the id is that of the items", fault, windows(), MINUTE);
    }
}

#[test]
fn planted_faults_in_outliers_are_found() {
    let check = |parent: StoredParent, extras: Vec<StoredBucket>| {
        let mut extras = extras;
        for item in extras.iter_mut().flat_map(|page| &mut page.items) {
            item.at = 0;
        }
        outliers(&history(), &[parent], &extras, 2, 2)
    };
    let parent = |items: &[i64]| StoredParent {
        id: 7,
        items: items.to_vec(),
        flagged: true,
    };
    let extras = || {
        vec![
            bucket("7_0000000000", &[2, 3]),
            bucket("7_0000000001", &[4, 6]),
        ]
    };
    assert_eq!(broken(&check(parent(&[0, 1]), extras())), [""; 0]);

    let unflagged = StoredParent {
        flagged: false,
        ..parent(&[0, 1])
    };
    let faults = [
        ("O2: within the threshold", parent(&[0, 1, 6]), extras()),
        ("O2: full before it is flagged", parent(&[0]), extras()),
        ("O3: extras only where the flag is", unflagged, extras()),
        ("O5: order of acknowledgement", parent(&[2, 1]), {
            let mut extras = extras();
            extras[0].items[0].n = 0;
            extras
        }),
        ("G1: acknowledged is stored", parent(&[0, 6]), extras()),
        ("G1: refused is not stored", parent(&[0, 1]), {
            let mut extras = extras();
            extras[1].items[1].n = 5;
            extras
        }),
        ("G3: one open bucket", parent(&[0, 1]), {
            let mut extras = extras();
            for page in &mut extras {
                page.items.pop();
                page.count = 1;
            }
            extras
        }),
    ];
    for (guarantee, parent, extras) in faults {
        let verdict = check(parent, extras);
        let is_found = broken(&verdict).contains(&guarantee);
        assert!(is_found, "{guarantee}: {verdict}");
    }
}
