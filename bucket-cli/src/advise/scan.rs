//! Adds up the documents that were read, in bounded memory.

use std::collections::HashMap;

use bucket_runtime::bson::{Document, RawDocument};

use super::shape::value::{ValueShape, scalar_hash};
use super::shape::{DocumentShape, fields};

/// So many documents are kept whole, to see how bucket ids are made.
const EXAMPLES: usize = 100;

/// They take at most so many bytes.
const EXAMPLE_BYTES: u64 = 16 << 20;

/// So many keys are told apart.
const MOST_KEYS: usize = 200_000;

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
}

impl Scan {
    /// A scan that counts the values of this key, if it has fields.
    pub(super) fn of(key: &[String]) -> Self {
        Self {
            key: key.to_vec(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, document: &RawDocument) {
        self.shape.add(document);
        self.bytes += document.as_bytes().len() as u64;
        if !self.key.is_empty() {
            self.count_key(document);
        }
        if self.examples.len() < EXAMPLES && self.bytes <= EXAMPLE_BYTES {
            self.examples.extend(Document::try_from(document).ok());
        }
    }

    fn count_key(&mut self, document: &RawDocument) {
        let key = key_hash(document, &self.key);
        let is_full = self.keys.len() >= MOST_KEYS;
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
            None => !self.key.is_empty() && self.keys.len() < MOST_KEYS,
        };
        let items: u64 = self.items_per_key(key).sum();
        has_all && self.is_all && items == self.shape.documents
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
    let value = |name: &String| fields(document).find(|(field, _)| field == name);
    let hashes = key
        .iter()
        .map(|name| value(name).and_then(|(_, value)| scalar_hash(value)));
    hashes.fold(0, |all: u64, hash| all.rotate_left(5) ^ hash.unwrap_or(0))
}
