//! Judges a history call by call, key by key, by the rules for histories of lists that grow at their end.
//!
//! The reads in it are majority reads that are not older than their beginning (`histories/session.rs`), so
//! whatever ended before a read began shows in it. A call in doubt may take effect at any time after it
//! began, also after its end, once at most. The functions are pure: tests plant an anomaly of each kind.

mod answers;
mod facts;
#[cfg(test)]
mod model;
mod order;
mod presence;
#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
mod values;

use self::facts::KeyFacts;
use crate::history::{History, Way};

/// The order in which the items of a key are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOrder {
    /// As they were stored: with `{#}`, and of a parent.
    AsStored,
    /// Buckets by their time: a new item may come before others.
    ByTime,
}

/// What can be wrong with a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    /// An acknowledged item is missing in a read that began later.
    Lost,
    /// An item that was seen is missing later, though nobody removed it.
    Unseen,
    /// An item is seen that nobody had sent to this key.
    NeverSent,
    /// An item is seen of which its caller was told that it is not stored.
    RefusedButStored,
    /// One read gives an item twice.
    Doubled,
    /// An item is seen after its removal was acknowledged.
    RemovedButSeen,
    /// An item is seen, then missing, then seen again.
    CameBack,
    /// No order of the items fits all reads.
    OrdersDiffer,
    /// Where nothing is removed, one read is not the beginning of a longer one.
    NotABeginning,
    /// An item was acknowledged before another one was sent, and is read after it.
    OutOfOrder,
    /// An item has a value that nobody gave it, or of which its caller was told that it is not stored.
    UnknownValue,
    /// An acknowledged edit does not show in a read that began later.
    EditLost,
    /// A value is seen, then another one, then the first one again.
    ValueCameBack,
    /// An edit or a removal did not find an item that was there.
    NotFound,
    /// Two removals took the same item.
    RemovedTwice,
}

/// A broken rule, and an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Anomaly {
    pub(crate) rule: Rule,
    /// The way of the read that shows it; `None` if an answer does.
    pub(crate) way: Option<Way>,
    pub(crate) key: i64,
    pub(crate) example: String,
}

/// All that is wrong with a history of lists that are read in this order.
pub(crate) fn history(history: &History, order: ReadOrder) -> Vec<Anomaly> {
    let mut anomalies = Vec::new();
    for (key, operations) in history.by_key() {
        let facts = KeyFacts::of(key, &operations, order);
        anomalies.extend(presence::check(&facts));
        anomalies.extend(order::check(&facts));
        anomalies.extend(values::check(&facts));
        anomalies.extend(answers::check(&facts, &operations));
    }
    anomalies
}
