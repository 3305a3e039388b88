//! Which items of a line its stored bucket lacks, and where they belong: pure decisions.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::{Bson, doc};

use crate::{
    protocol::command::identity,
    value::{bytes, element::comparable},
};

/// Which of a line's items are in the stored bucket with the line's id.
#[derive(Debug, PartialEq)]
pub(super) enum Merge {
    /// The bucket has all of the line's items, or other buckets of the key have the rest.
    Complete,
    /// Some of the line's items are missing, but may have been changed since.
    Changed { missing: usize },
    /// Some of the line's items are missing, and can be put back.
    Missing {
        missing: usize,
        /// The line's items, in their order.
        front: Vec<Bson>,
        /// The stored items that the line does not have.
        behind: Vec<Bson>,
    },
}

/// Facts of a stored bucket besides its items.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MergeEvidence {
    /// The bucket was empty after the line was written.
    pub(super) was_emptied: bool,
    /// The stored name of the items' time, if they have one.
    pub(super) time: Option<&'static str>,
}

/// Compares items by the field that identifies them. `elsewhere` are the identities in the key's other
/// buckets. A stored item stays as it is, so a changed one is not changed back.
pub(super) fn merge_by_identity(
    archived: &[Bson],
    stored: &[Bson],
    field: &str,
    elsewhere: &BTreeSet<String>,
) -> Merge {
    let name = |element: &Bson| identity(field, element).map(comparable);
    let known: BTreeMap<_, _> = stored
        .iter()
        .filter_map(|element| Some((name(element)?, element)))
        .collect();
    let (mut front, mut missing, mut of_line) = (Vec::new(), 0, BTreeSet::new());
    for element in archived {
        let Some(name) = name(element) else { continue };
        match known.get(&name) {
            Some(element) => front.push((*element).clone()),
            None if elsewhere.contains(&name) => continue,
            None => {
                missing += 1;
                front.push(element.clone());
            }
        }
        of_line.insert(name);
    }
    let is_other = |element: &&Bson| name(element).is_none_or(|name| !of_line.contains(&name));
    match missing {
        0 => Merge::Complete,
        _ => Merge::Missing {
            missing,
            front,
            behind: stored.iter().filter(is_other).cloned().collect(),
        },
    }
}

/// Compares items by their bytes.
///
/// Removals leave a part of the items, in order, and appends add others behind. Whatever has become of the
/// bucket in this way can be undone. An edit looks like a removal and an append only where the last items of
/// the line are missing and others are there.
pub(super) fn merge_by_content(
    archived: &[Bson],
    stored: &[Bson],
    evidence: MergeEvidence,
) -> Merge {
    let archived_bytes = Vec::from_iter(archived.iter().map(written));
    let stored_bytes = Vec::from_iter(stored.iter().map(written));
    let mut left: Vec<usize> = Vec::new();
    let (mut at, mut found) = (0, 0);
    for element in &stored_bytes {
        let next = archived_bytes[at..].iter().position(|it| it == element);
        let Some(next) = next else { break };
        left.extend(at..at + next);
        at += next + 1;
        found += 1;
    }
    let is_last_there = at == archived.len();
    left.extend(at..archived.len());
    let missing = left.len();
    if missing == 0 {
        return Merge::Complete;
    }
    let behind = &stored[found..];
    let is_lost = |element: &Vec<u8>| left.iter().any(|at| archived_bytes[*at] == *element);
    let was_emptied = found == 0 && evidence.was_emptied;
    let may_be_changed = match evidence.time {
        _ if behind.is_empty() => false,
        _ if stored_bytes[found..].iter().any(is_lost) => true,
        _ if is_last_there || was_emptied => false,
        Some(time) => {
            let lost = left.iter().filter_map(|at| moment(&archived[*at], time));
            let lost: BTreeSet<_> = lost.collect();
            let mut times = behind.iter().filter_map(|element| moment(element, time));
            times.any(|time| lost.contains(&time))
        }
        None => true,
    };
    if may_be_changed {
        return Merge::Changed { missing };
    }
    Merge::Missing {
        missing,
        front: archived.to_vec(),
        behind: behind.to_vec(),
    }
}

/// The value as bytes, by which two elements are the same or not.
fn written(element: &Bson) -> Vec<u8> {
    bytes::write(&doc! { "": element }).unwrap_or_default()
}

/// The time of an element, in the form in which it is stored.
fn moment(element: &Bson, field: &str) -> Option<Vec<u8>> {
    element.as_document()?.get(field).map(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(numbers: &[i32]) -> Vec<Bson> {
        let item = |n: &i32| doc! { "n": n, "at": n % 100 }.into();
        numbers.iter().map(item).collect()
    }

    fn missing(missing: usize, front: &[i32], behind: &[i32]) -> Merge {
        Merge::Missing {
            missing,
            front: items(front),
            behind: items(behind),
        }
    }

    fn content(stored: &[i32], evidence: MergeEvidence) -> Merge {
        merge_by_content(&items(&[1, 2, 3]), &items(stored), evidence)
    }

    #[test]
    fn removals_and_appends_are_undone() {
        for evidence in [
            MergeEvidence::default(),
            MergeEvidence {
                time: Some("at"),
                ..MergeEvidence::default()
            },
        ] {
            assert_eq!(content(&[1, 2, 3], evidence), Merge::Complete);
            assert_eq!(content(&[1, 2, 3, 4], evidence), Merge::Complete);
            assert_eq!(content(&[], evidence), missing(3, &[1, 2, 3], &[]));
            assert_eq!(content(&[2], evidence), missing(2, &[1, 2, 3], &[]));
            assert_eq!(content(&[3, 4], evidence), missing(2, &[1, 2, 3], &[4]));
        }
    }

    #[test]
    fn changed_items_are_not_doubled() {
        let timed = MergeEvidence {
            time: Some("at"),
            ..MergeEvidence::default()
        };
        let emptied = MergeEvidence {
            was_emptied: true,
            ..MergeEvidence::default()
        };
        // An item of the line stands behind another one.
        let between = Merge::Changed { missing: 2 };
        assert_eq!(content(&[1, 9, 3], timed), between);
        assert_eq!(content(&[1, 9, 3], emptied), between);
        // The last ones may be changed.
        let last = Merge::Changed { missing: 1 };
        let all = Merge::Changed { missing: 3 };
        assert_eq!(content(&[1, 2, 9], MergeEvidence::default()), last);
        assert_eq!(content(&[9], MergeEvidence::default()), all);
        assert_eq!(content(&[9], emptied), missing(3, &[1, 2, 3], &[9]));
        assert_eq!(content(&[1, 2, 9], emptied), last);
        // The time shows which.
        assert_eq!(content(&[1, 2, 103], timed), last);
        assert_eq!(content(&[101, 102, 103], timed), all);
        assert_eq!(content(&[1, 2, 9], timed), missing(1, &[1, 2, 3], &[9]));
        assert_eq!(content(&[8, 9], timed), missing(3, &[1, 2, 3], &[8, 9]));
    }

    #[test]
    fn an_identity_tells_items_apart() {
        let none = BTreeSet::new();
        let by = |stored: &[i32], elsewhere: &BTreeSet<String>| {
            merge_by_identity(&items(&[1, 2, 3]), &items(stored), "n", elsewhere)
        };
        assert_eq!(by(&[1, 2, 3, 4], &none), Merge::Complete);
        assert_eq!(by(&[9, 2], &none), missing(2, &[1, 2, 3], &[9]));
        let elsewhere = BTreeSet::from(["1".to_owned()]);
        assert_eq!(by(&[9, 2], &elsewhere), missing(1, &[2, 3], &[9]));
        assert_eq!(by(&[2, 3], &elsewhere), Merge::Complete);
        // The stored one stays.
        let changed: Bson = doc! { "n": 2, "at": 7 }.into();
        let merged = merge_by_identity(&items(&[1, 2]), std::slice::from_ref(&changed), "n", &none);
        let front = vec![items(&[1])[0].clone(), changed];
        assert_eq!(
            merged,
            Merge::Missing {
                missing: 1,
                front,
                behind: Vec::new()
            }
        );
    }
}
