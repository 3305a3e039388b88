//! Whole buckets as documents, and whether they stay within their size limit.

use mongodb::bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    Held,
    key_items::KeyItems,
    plan::PlannedBucket,
    store::{PlannedBuckets, STATEMENTS},
};
use crate::{
    Bucket,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeyScope},
    },
    schema::spec::MAX_BYTES,
    value::element::raw,
    write::engine::{COMMAND_BYTES, NewestBucket},
};

/// The first buckets as documents, as many as fit into one command; none if the first one cannot be
/// stored.
pub(super) fn documents<T: Bucket>(
    keys: &mut [KeyItems<T>],
    chunks: &mut PlannedBuckets<T>,
) -> Vec<RawDocumentBuf> {
    let mut documents = Vec::new();
    let mut bytes = 0;
    while documents.len() < STATEMENTS.min(chunks.len()) {
        let n = documents.len();
        let (at, chunk) = &mut chunks[n];
        let key_items = &mut keys[*at];
        match document(&key_items.scope, chunk) {
            Some(document) => {
                let size = document.as_bytes().len();
                bytes += size;
                if bytes > COMMAND_BYTES && bytes != size {
                    break;
                }
                key_items.note_oversize(chunk);
                documents.push(document);
            }
            None if chunk.can_be_cut(&key_items.scope) => {
                let (at, whole) = (*at, chunks.remove(n));
                let parts = whole.map(|(_, whole)| whole.cut(&keys[at].scope));
                let parts = parts.unwrap_or_default();
                let are_smaller = parts.len() > 1;
                for (further, part) in parts.into_iter().enumerate() {
                    chunks.insert(n + further, (at, part));
                }
                if !are_smaller {
                    break;
                }
            }
            None => break,
        }
    }
    documents
}

/// A bucket as a document; `None` if it cannot be written or would exceed its bytes.
fn document<T: Bucket>(
    scope: &IndexedScope,
    chunk: &mut PlannedBucket<T>,
) -> Option<RawDocumentBuf> {
    let document = raw(&chunk.document(scope)?).ok()?;
    let size = document.as_bytes().len();
    let Some(budget) = Budget::of(scope) else {
        return (size <= MAX_BYTES as usize).then_some(document);
    };
    let takes_more = !chunk.sealed && chunk.held.len() < scope.open.capacity as usize;
    if !takes_more || chunk.held.len() == 1 {
        budget.is_document(size, chunk.sealed).then_some(())?;
    }
    if !takes_more || budget.oversize(size) == 0 {
        return Some(document);
    }
    let oversize = oversizes(&document, scope, &budget)?.into_iter().sum();
    if !(budget.takes(oversize, 0) || chunk.held.len() == 1) {
        return None;
    }
    if oversize == 0 {
        return Some(document);
    }
    chunk.oversize = oversize;
    raw(&chunk.document(scope)?).ok()
}

/// How many bytes each element takes beyond its share.
fn oversizes(document: &RawDocument, scope: &KeyScope, budget: &Budget) -> Option<Vec<i64>> {
    let RawBsonRef::Array(items) = document.get(scope.spec.items).ok()?? else {
        return None;
    };
    let oversize =
        |element: RawBsonRef<'_>| Some(budget.oversize(element.as_document()?.as_bytes().len()));
    let elements = items.into_iter();
    elements.map(|element| oversize(element.ok()?)).collect()
}

impl<T: Bucket> KeyItems<T> {
    /// Records how large the last bucket's items are, for items that are added to it later.
    fn note_oversize(&mut self, chunk: &PlannedBucket<T>) {
        if let NewestBucket::Open { id, oversize, .. } = &mut self.newest_bucket
            && *id == chunk.id
        {
            *oversize = chunk.oversize;
        }
    }
}

impl<T: Bucket> PlannedBucket<T> {
    /// Whether the bucket may be split into several sealed ones. Where ids count up, the buckets after
    /// it would need other ids. A bucket that is to take more items is left to the append protocol, and
    /// so is one with an item that never fits, since the others may fit without it.
    fn can_be_cut(&self, scope: &IndexedScope) -> bool {
        let is_shut = self.sealed || self.held.len() == scope.open.capacity as usize;
        let is_named = self
            .held
            .iter()
            .all(|held| held.opening_id(scope).is_some());
        let all_fit = || {
            let budget = Budget::of(scope);
            let fits =
                |held: &Held<T>| budget.is_none_or(|b| b.check(held.size().unwrap_or(0)).is_ok());
            self.held.iter().all(fits)
        };
        is_shut && self.held.len() > 1 && is_named && !scope.spec.id.ordinal.counts() && all_fit()
    }

    /// Splits the bucket into sealed ones that stay within their size limit, each named after its own
    /// first item. If such an id is taken, the insert finds out and changes it.
    fn cut(self, scope: &IndexedScope) -> Vec<Self> {
        let budget = Budget::of(scope);
        let mut parts: Vec<Self> = Vec::new();
        let mut bytes = 0;
        for held in self.held {
            let size = held.size().unwrap_or(0);
            bytes += budget.map_or(size, |budget| budget.cost(size));
            match parts.last_mut() {
                Some(part) if budget.is_none_or(|budget| budget.holds(bytes)) => {
                    part.held.push(held);
                }
                last => {
                    let id = match last {
                        None => Some(self.id.clone()),
                        Some(_) => held.opening_id(scope),
                    };
                    bytes = budget.map_or(size, |budget| budget.cost(size));
                    parts.push(Self {
                        id: id.unwrap_or_default(),
                        held: vec![held],
                        sealed: true,
                        oversize: 0,
                    });
                }
            }
        }
        parts
    }
}

impl<T: Bucket> Held<T> {
    /// The size of the item in bytes; `None` if it cannot be written, which is refused when it is sent.
    pub(super) fn size(&self) -> Option<usize> {
        let element = crate::write::item::element(&self.item).ok()?;
        Some(element.value_size())
    }
}
