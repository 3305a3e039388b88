//! Adds up the documents that were read, in bounded memory.

pub(super) mod order;

use std::collections::HashMap;

use bucket_runtime::bson::{Document, RawDocument, RawDocumentBuf};

use self::order::{BucketOrder, BucketTimes, OrderCounts};
use super::shape::value::{ValueShape, scalar_hash};
use super::shape::{DocumentShape, fields};

/// The number of documents that are kept whole, to see how bucket ids are made.
const EXAMPLES: usize = 100;

/// The maximum size of these documents together.
const EXAMPLE_BYTES: u64 = 16 << 20;

/// So many keys are told apart.
const MAX_KEYS: usize = 200_000;

/// The documents that were read.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) shape: DocumentShape,
    pub(super) examples: Vec<Document>,
    /// The bytes that were read.
    pub(super) bytes: u64,
    /// Whether this is every document.
    pub(super) is_all: bool,
    /// About how many documents the collection holds.
    pub(super) in_collection: u64,
    /// The key that the user has named, and how often each value of it came.
    key: Vec<String>,
    keys: HashMap<u64, u64>,
    find_times: Option<FindTimes>,
    /// The order of the buckets, once the examples have shown that they are buckets.
    order: Option<BucketOrder>,
}

/// Finds the times of buckets, if these examples are buckets.
type FindTimes = fn(&[Document]) -> Option<BucketTimes>;

impl Scan {
    /// A scan that counts the values of this key, if it has fields, and follows the order of
    /// buckets.
    pub(super) fn of(key: &[String], find_times: FindTimes) -> Self {
        Self {
            key: key.to_vec(),
            find_times: Some(find_times),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, document: &RawDocument) {
        self.shape.add(document);
        self.bytes += document.as_bytes().len() as u64;
        if !self.key.is_empty() {
            self.count_key(document);
        }
        if let Some(order) = &mut self.order {
            order.add(document);
        }
        if self.examples.len() < EXAMPLES && self.bytes <= EXAMPLE_BYTES {
            self.examples.extend(Document::try_from(document).ok());
            if self.examples.len() == EXAMPLES {
                self.begin_order();
            }
        }
    }

    /// Follows the order of the buckets from the first example on, if the examples are buckets.
    fn begin_order(&mut self) {
        let times = self.find_times.and_then(|find| find(&self.examples));
        self.order = times.map(|times| {
            let mut order = BucketOrder::of(times);
            let examples = self.examples.iter().map(RawDocumentBuf::try_from);
            examples.flatten().for_each(|bucket| order.add(&bucket));
            order
        });
    }

    /// Counts what waits to be sorted, after the last document.
    pub(super) fn end(&mut self) {
        if let Some(order) = &mut self.order {
            order.end();
        }
    }

    /// Figures that depend on the order of buckets with these times, if every bucket was read, and
    /// could be counted.
    pub(super) fn order_counts(&self, times: &BucketTimes) -> Option<OrderCounts> {
        let order = self.order.as_ref().filter(|_| self.is_all)?;
        order.counts(times)
    }

    fn count_key(&mut self, document: &RawDocument) {
        let key = key_hash(document, &self.key);
        let is_full = self.keys.len() >= MAX_KEYS;
        match self.keys.get_mut(&key) {
            Some(n) => *n += 1,
            None if is_full => {}
            None => drop(self.keys.insert(key, 1)),
        }
    }

    /// How many of the documents that were read each key has.
    pub(super) fn items_per_key(&self, key: &[String]) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.counted_field(key) {
            Some(value) => Box::new(value.repetitions()),
            None => Box::new(self.keys.values().copied()),
        }
    }

    /// Whether every document was read, and the items of every key were counted.
    pub(super) fn has_all_keys(&self, key: &[String]) -> bool {
        let has_all = match self.counted_field(key) {
            Some(value) => value.distinct().is_some(),
            None => !self.key.is_empty() && self.keys.len() < MAX_KEYS,
        };
        let items: u64 = self.items_per_key(key).sum();
        // A few documents may have no key.
        has_all && self.is_all && items * 100 >= self.shape.documents * 99
    }

    /// The only field of a key that the user has not named.
    fn counted_field(&self, key: &[String]) -> Option<&ValueShape> {
        match key {
            [one] if self.key.is_empty() => self.shape.get(one),
            _ => None,
        }
    }
}

/// A hash of a document's key.
pub(super) fn key_hash(document: &RawDocument, key: &[String]) -> u64 {
    value_hashes(document, key).fold(0, |all, hash| join(all, hash.unwrap_or(0)))
}

/// A hash of a document's key; `None` unless each field of the key is there, and neither a document
/// nor an array.
fn scalar_key_hash(document: &RawDocument, key: &[String]) -> Option<u64> {
    value_hashes(document, key).try_fold(0, |all, hash| Some(join(all, hash?)))
}

/// A hash of each field of a document's key.
fn value_hashes(document: &RawDocument, key: &[String]) -> impl Iterator<Item = Option<u64>> {
    let value = |name: &String| fields(document).find(|(field, _)| field == name);
    key.iter()
        .map(move |name| value(name).and_then(|(_, value)| scalar_hash(value)))
}

fn join(all: u64, hash: u64) -> u64 {
    all.rotate_left(5) ^ hash
}
