//! Whole buckets as documents, and whether they stay within their size limit.

use bucket_core::{protocol::budget::Budget, schema::spec::MAX_BYTES};
use mongodb::bson::{RawBsonRef, RawDocumentBuf};

use super::{
    key_items::KeyItems,
    plan::{PlannedBucket, PlannedBuckets},
    store::DOCUMENTS_PER_COMMAND,
};
use crate::write::engine::{COMMAND_BYTES, NewestBucket};

impl PlannedBuckets<'_> {
    /// The first buckets as documents, as many as fit into one command; none if the first one
    /// cannot be stored.
    pub(super) fn next_documents(&mut self) -> Vec<RawDocumentBuf> {
        let mut documents = Vec::new();
        let mut bytes = 0;
        while documents.len() < DOCUMENTS_PER_COMMAND.min(self.buckets.len()) {
            let n = documents.len();
            let (at, bucket) = &mut self.buckets[n];
            let key_items = &mut self.keys[*at];
            match document(key_items, bucket) {
                Some(document) => {
                    let size = document.as_bytes().len();
                    bytes += size;
                    if bytes > COMMAND_BYTES && bytes != size {
                        break;
                    }
                    key_items.note_oversize(bucket);
                    documents.push(document);
                }
                None if key_items.can_cut(bucket) && self.cut(n) => {}
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
        let parts = self.keys[at].cut(whole);
        let are_several = parts.len() > 1;
        for (further, part) in parts.into_iter().enumerate() {
            self.buckets.insert(n + further, (at, part));
        }
        are_several
    }
}

/// A bucket as a document; `None` if it cannot be written or would exceed its bytes.
fn document(key_items: &KeyItems, bucket: &mut PlannedBucket) -> Option<RawDocumentBuf> {
    let elements = key_items.elements(bucket)?;
    let document = key_items.document(bucket, &elements)?;
    let (size, items) = (document.as_bytes().len(), bucket.indexes.len());
    let Some(budget) = Budget::of(&key_items.scope) else {
        return (size <= MAX_BYTES as usize).then_some(document);
    };
    let takes_more = !bucket.sealed && items < key_items.capacity();
    if !takes_more || items == 1 {
        budget.is_document(size, bucket.sealed).then_some(())?;
    }
    if !takes_more || budget.oversize(size) == 0 {
        return Some(document);
    }
    let oversize = |element| match element {
        Ok(RawBsonRef::Document(element)) => Some(budget.oversize(element.as_bytes().len())),
        _ => None,
    };
    let elements_of_bucket = elements.value().as_array()?.into_iter();
    let oversize = elements_of_bucket.map(oversize).sum::<Option<_>>()?;
    if !(budget.takes(oversize, 0) || items == 1) {
        return None;
    }
    if oversize == 0 {
        return Some(document);
    }
    bucket.oversize = oversize;
    key_items.document(bucket, &elements)
}

impl KeyItems {
    /// Records how large the last bucket's items are, for items that are added to it later.
    fn note_oversize(&mut self, bucket: &PlannedBucket) {
        if let NewestBucket::Open { id, oversize, .. } = &mut self.newest_bucket
            && *id == bucket.id
        {
            *oversize = bucket.oversize;
        }
    }

    /// Whether the bucket may be split into several sealed ones. Where ids count up, the buckets
    /// after it would need other ids. A bucket that is to take more items is left to the append
    /// protocol, and so is one with an item that never fits, since the others may fit without it.
    fn can_cut(&self, bucket: &PlannedBucket) -> bool {
        let indexes = &bucket.indexes;
        let is_closed = bucket.sealed || indexes.len() == self.capacity();
        let is_named = |index: &usize| self.opening_id(*index).is_some();
        let budget = Budget::of(&self.scope);
        let fits = |index: &usize| {
            budget.is_none_or(|budget| budget.check(self.size(*index).unwrap_or(0)).is_ok())
        };
        is_closed
            && indexes.len() > 1
            && indexes.iter().all(is_named)
            && !self.scope.spec.id.ordinal.counts()
            && indexes.iter().all(fits)
    }

    /// Splits the bucket into sealed ones that stay within their size limit, each named after its
    /// own first item. If such an id is taken, the insert finds out and changes it.
    fn cut(&self, bucket: PlannedBucket) -> Vec<PlannedBucket> {
        let budget = Budget::of(&self.scope);
        let mut parts: Vec<PlannedBucket> = Vec::new();
        let mut bytes = 0;
        for index in bucket.indexes {
            let size = self.size(index).unwrap_or(0);
            let cost = budget.map_or(size, |budget| budget.cost(size));
            bytes += cost;
            match parts.last_mut() {
                Some(part) if budget.is_none_or(|budget| budget.holds(bytes)) => {
                    part.indexes.push(index);
                }
                last => {
                    let id = match last {
                        None => Some(bucket.id.clone()),
                        Some(_) => self.opening_id(index),
                    };
                    bytes = cost;
                    parts.push(PlannedBucket {
                        id: id.unwrap_or_default(),
                        indexes: vec![index],
                        sealed: true,
                        oversize: 0,
                    });
                }
            }
        }
        parts
    }
}
