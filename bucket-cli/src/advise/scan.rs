//! Adds up the documents that were read, in bounded memory.

use std::collections::HashMap;

use bucket_runtime::bson::Document;

use super::shape::DocumentShape;
use super::shape::value::{document_size, scalar_hash};

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

    pub(super) fn add(&mut self, document: Document) {
        self.shape.add(&document);
        self.bytes += document_size(&document);
        if !self.key.is_empty() {
            self.count_key(&document);
        }
        if self.examples.len() < EXAMPLES && self.bytes <= EXAMPLE_BYTES {
            self.examples.push(document);
        }
    }

    fn count_key(&mut self, document: &Document) {
        let key = key_hash(document, &self.key);
        let is_full = self.keys.len() >= MOST_KEYS;
        match self.keys.get_mut(&key) {
            Some(n) => *n += 1,
            None if is_full => {}
            None => drop(self.keys.insert(key, 1)),
        }
    }

    /// How many of the documents that were read each key has.
    pub(super) fn items_per_key(&self, key: &[String]) -> Vec<u64> {
        match key {
            [one] if self.key.is_empty() => {
                let value = self.shape.get(one);
                value
                    .map(|value| value.repetitions().collect())
                    .unwrap_or_default()
            }
            _ => self.keys.values().copied().collect(),
        }
    }
}

/// A hash of a document's key.
pub(super) fn key_hash(document: &Document, key: &[String]) -> u64 {
    let hashes = key
        .iter()
        .map(|name| document.get(name).and_then(scalar_hash).unwrap_or(0));
    hashes.fold(0, |all: u64, hash| all.rotate_left(5) ^ hash)
}
