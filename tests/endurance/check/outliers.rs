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
    let own = |parent: &StoredParent| (parent.id, parent.items.clone());
    let mut items = BTreeMap::from_iter(parents.iter().map(own));
    for page in extras {
        let numbers = page.items.iter().map(|item| item.n);
        items.entry(page.key).or_default().extend(numbers);
    }
    let mut verdict = Verdict::of_items(history, &items);
    for parent in parents {
        let (own, example) = (parent.items.len(), || format!("{parent:?}"));
        verdict.require(own <= threshold, "O2: within the threshold", example);
        let is_right = !parent.flagged || own == threshold;
        verdict.require(is_right, "O2: full before it is flagged", example);
    }
    for page in extras {
        let is_flagged = |parent: &StoredParent| parent.id == page.key && parent.flagged;
        verdict.require(
            parents.iter().any(is_flagged),
            "O3: extras only where the flag is",
            || format!("{page:?}"),
        );
    }
    let moment = Moment::Number;
    verdict.of_buckets(extras, Format { capacity, moment });
    verdict.in_order("O5: order of acknowledgement", history, &items);
    verdict
}
