//! Whole buckets as documents, and whether they stay within their size limit.

use mongodb::bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    key_items::{BufferedItem, KeyItems},
    plan::{PlannedBucket, PlannedBuckets},
    store::DOCUMENTS_PER_COMMAND,
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

impl<T: Bucket> PlannedBuckets<'_, T> {
    /// The first buckets as documents, as many as fit into one command; none if the first one cannot be
    /// stored.
    pub(super) fn next_documents(&mut self) -> Vec<RawDocumentBuf> {
        let mut documents = Vec::new();
        let mut bytes = 0;
        while documents.len() < DOCUMENTS_PER_COMMAND.min(self.buckets.len()) {
            let n = documents.len();
            let (at, bucket) = &mut self.buckets[n];
            let key_items = &mut self.keys[*at];
            match document(&key_items.scope, bucket) {
                Some(document) => {
                    let size = document.as_bytes().len();
                    bytes += size;
                    if bytes > COMMAND_BYTES && bytes != size {
                        break;
                    }
                    key_items.note_oversize(bucket);
                    documents.push(document);
                }
                None if bucket.can_be_cut(&key_items.scope) && self.cut(n) => {}
                None => break,
            }
        }
        documents
    }

    /// Splits the nth bucket into smaller ones; returns whether it is now several.
    fn cut(&mut self, n: usize) -> bool {
        let Some((at, whole)) = self.buckets.remove(n) else {
            return false;
        };
        let parts = whole.cut(&self.keys[at].scope);
        let are_several = parts.len() > 1;
        for (further, part) in parts.into_iter().enumerate() {
            self.buckets.insert(n + further, (at, part));
        }
        are_several
    }
}

/// A bucket as a document; `None` if it cannot be written or would exceed its bytes.
fn document<T: Bucket>(
    scope: &IndexedScope,
    bucket: &mut PlannedBucket<T>,
) -> Option<RawDocumentBuf> {
    let document = raw(&bucket.document(scope)?).ok()?;
    let size = document.as_bytes().len();
    let Some(budget) = Budget::of(scope) else {
        return (size <= MAX_BYTES as usize).then_some(document);
    };
    let takes_more = !bucket.sealed && bucket.items.len() < scope.open.capacity as usize;
    if !takes_more || bucket.items.len() == 1 {
        budget.is_document(size, bucket.sealed).then_some(())?;
    }
    if !takes_more || budget.oversize(size) == 0 {
        return Some(document);
    }
    let oversize = oversizes(&document, scope, &budget)?.into_iter().sum();
    if !(budget.takes(oversize, 0) || bucket.items.len() == 1) {
        return None;
    }
    if oversize == 0 {
        return Some(document);
    }
    bucket.oversize = oversize;
    raw(&bucket.document(scope)?).ok()
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
    fn note_oversize(&mut self, bucket: &PlannedBucket<T>) {
        if let NewestBucket::Open { id, oversize, .. } = &mut self.newest_bucket
            && *id == bucket.id
        {
            *oversize = bucket.oversize;
        }
    }
}

impl<T: Bucket> PlannedBucket<T> {
    /// Whether the bucket may be split into several sealed ones. Where ids count up, the buckets after
    /// it would need other ids. A bucket that is to take more items is left to the append protocol, and
    /// so is one with an item that never fits, since the others may fit without it.
    fn can_be_cut(&self, scope: &IndexedScope) -> bool {
        let is_closed = self.sealed || self.items.len() == scope.open.capacity as usize;
        let is_named = self
            .items
            .iter()
            .all(|item| item.opening_id(scope).is_some());
        let all_fit = || {
            let budget = Budget::of(scope);
            let fits = |item: &BufferedItem<T>| {
                budget.is_none_or(|budget| budget.check(item.size().unwrap_or(0)).is_ok())
            };
            self.items.iter().all(fits)
        };
        is_closed
            && self.items.len() > 1
            && is_named
            && !scope.spec.id.ordinal.counts()
            && all_fit()
    }

    /// Splits the bucket into sealed ones that stay within their size limit, each named after its own
    /// first item. If such an id is taken, the insert finds out and changes it.
    fn cut(self, scope: &IndexedScope) -> Vec<Self> {
        let budget = Budget::of(scope);
        let mut parts: Vec<Self> = Vec::new();
        let mut bytes = 0;
        for item in self.items {
            let size = item.size().unwrap_or(0);
            bytes += budget.map_or(size, |budget| budget.cost(size));
            match parts.last_mut() {
                Some(part) if budget.is_none_or(|budget| budget.holds(bytes)) => {
                    part.items.push(item);
                }
                last => {
                    let id = match last {
                        None => Some(self.id.clone()),
                        Some(_) => item.opening_id(scope),
                    };
                    bytes = budget.map_or(size, |budget| budget.cost(size));
                    parts.push(Self {
                        id: id.unwrap_or_default(),
                        items: vec![item],
                        sealed: true,
                        oversize: 0,
                    });
                }
            }
        }
        parts
    }
}

impl<T: Bucket> BufferedItem<T> {
    /// The size of the item in bytes; `None` if it cannot be written, which is refused when it is sent.
    pub(super) fn size(&self) -> Option<usize> {
        let element = crate::write::item::element(&self.item).ok()?;
        Some(element.value_size())
    }
}
