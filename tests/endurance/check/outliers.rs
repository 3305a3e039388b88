//! O1 to O5.

use std::collections::BTreeMap;

use super::{Format, Moment, Verdict};
use crate::{
    history::History,
    stored::{StoredBucket, StoredParent},
};

/// Compares what callers saw with parents and extras, given in the order of their ids.
pub(crate) fn outliers(
    history: &History,
    parents: &[StoredParent],
    extras: &[StoredBucket],
    threshold: usize,
    capacity: usize,
) -> Verdict {
    let own = parents
        .iter()
        .map(|parent| (parent.id, parent.items.clone()));
    let mut items: BTreeMap<i64, Vec<i64>> = own.collect();
    for page in extras {
        let numbers = page.items.iter().map(|item| item.n);
        items.entry(page.key).or_default().extend(numbers);
    }
    let mut verdict = Verdict::of_items(history, &items);
    for parent in parents {
        verdict.require(
            parent.items.len() <= threshold,
            "O2: within the threshold",
            || format!("{parent:?}"),
        );
        let is_full = parent.items.len() == threshold;
        verdict.require(
            !parent.flagged || is_full,
            "O2: full before it is flagged",
            || format!("{parent:?}"),
        );
    }
    let flagged = |id| {
        parents
            .iter()
            .any(|parent| parent.id == id && parent.flagged)
    };
    for page in extras {
        verdict.require(
            flagged(page.key),
            "O3: extras only where the flag is",
            || format!("{page:?}"),
        );
    }
    let moment = Moment::Number;
    verdict.of_buckets(extras, Format { capacity, moment });
    verdict.in_order("O5: order of acknowledgement", history, &items);
    verdict
}
