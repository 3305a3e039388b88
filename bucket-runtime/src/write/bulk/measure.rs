//! Whole buckets as documents, and whether they stay within their size limit.

use bucket_core::{protocol::budget::Budget, schema::spec::MAX_BYTES, value::raw_field::RawFields};
use mongodb::bson::RawDocumentBuf;

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
                None if self.cut(n).is_some() => {}
                None => break,
            }
        }
        documents
    }

    /// Splits the nth bucket into several sealed ones that stay within their size limit, each named
    /// after its own first item. If such an id is taken, the insert finds out and changes it.
    ///
    /// `None` where ids count up, since the buckets after it would need other ids. A bucket that is
    /// to take more items is left to the append protocol, and so is one with an item that never
    /// fits, since the others may fit without it.
    fn cut(&mut self, n: usize) -> Option<()> {
        let (at, whole) = self.buckets.get(n)?;
        let (at, key_items) = (*at, &self.keys[*at]);
        let budget = Budget::of(&key_items.scope)?;
        let is_closed = whole.sealed || whole.indexes.len() == key_items.capacity();
        if !is_closed || key_items.scope.spec.id.ordinal.counts() {
            return None;
        }
        let mut parts: Vec<PlannedBucket> = Vec::new();
        let mut bytes = 0;
        for &index in &whole.indexes {
            let cost = budget.cost(key_items.size(index)?);
            if !budget.holds(cost) {
                return None;
            }
            bytes += cost;
            match parts.last_mut() {
                Some(part) if budget.holds(bytes) => part.indexes.push(index),
                last => {
                    let id = match last {
                        None => whole.id.clone(),
                        Some(_) => key_items.opening_id(index)?,
                    };
                    bytes = cost;
                    parts.push(PlannedBucket {
                        id,
                        indexes: vec![index],
                        sealed: true,
                        oversize: 0,
                    });
                }
            }
        }
        if parts.len() == 1 {
            return None;
        }
        let later = self.buckets.split_off(n).into_iter().skip(1);
        (self.buckets).extend(parts.into_iter().map(|part| (at, part)).chain(later));
        Some(())
    }
}

/// A bucket as a document; `None` if it cannot be written or would exceed its bytes.
fn document(key_items: &KeyItems, bucket: &mut PlannedBucket) -> Option<RawDocumentBuf> {
    let (elements, items) = (key_items.elements(bucket)?, bucket.indexes.len());
    let budget = Budget::of(&key_items.scope);
    let takes_more = !bucket.sealed && items < key_items.capacity();
    if let Some(budget) = budget.filter(|_| takes_more) {
        let sizes = RawFields::of(elements.field().ok()?.value).ok()?;
        let oversize = sizes.map(|element| Some(budget.oversize(element.ok()?.value.len())));
        bucket.oversize = oversize.sum::<Option<_>>()?;
        if items > 1 && !budget.takes(bucket.oversize, 0) {
            return None;
        }
    }
    let document = key_items.document(bucket, &elements)?;
    let size = document.as_bytes().len();
    let fits = match budget {
        None => size <= MAX_BYTES as usize,
        Some(budget) => budget.is_document(size, bucket.sealed),
    };
    fits.then_some(document)
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
}
