//! Whole buckets as documents, and whether they stay within their size limit.

use bucket_core::{
    protocol::{
        budget::Budget,
        whole_bucket::{Summary, WholeBucket},
    },
    schema::spec::MAX_BYTES,
    value::{element::raw, raw_field::RawFields},
};
use mongodb::bson::RawDocumentBuf;

use super::{
    key_items::KeyItems,
    plan::{PlannedBucket, PlannedBuckets},
    store::DOCUMENTS_PER_COMMAND,
};
use crate::write::engine::COMMAND_BYTES;

impl PlannedBuckets<'_> {
    /// The first buckets as documents, as many as fit into one command; none if the first one
    /// cannot be stored.
    pub(super) fn next_documents(&mut self) -> Vec<RawDocumentBuf> {
        let mut documents = Vec::new();
        let mut bytes = 0;
        while documents.len() < DOCUMENTS_PER_COMMAND.min(self.buckets.len()) {
            let n = documents.len();
            let (at, bucket) = &mut self.buckets[n];
            match self.keys[*at].document(bucket) {
                Some(document) => {
                    let size = document.as_bytes().len();
                    bytes += size;
                    if bytes > COMMAND_BYTES && bytes != size {
                        break;
                    }
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
        let is_closed = whole.sealed || whole.indexes.len() == key_items.scope.capacity();
        if !is_closed || key_items.scope.spec.id.ordinal.counts() {
            return None;
        }
        let mut parts: Vec<PlannedBucket> = Vec::new();
        let mut bytes = 0;
        for &index in &whole.indexes {
            let cost = budget.cost(key_items.item(index).element().ok()?.value_size());
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

impl KeyItems {
    /// A bucket as a document; `None` if an item may not be stored, which is refused when it is
    /// sent, if the bucket would exceed its bytes, or if only the server can compute its rollup.
    fn document(&self, bucket: &mut PlannedBucket) -> Option<RawDocumentBuf> {
        let items = bucket.indexes.iter().map(|index| self.item(*index));
        let all = self.all.elements(&bucket.indexes).ok()?;
        let elements = RawFields::of(all.field().ok()?.value).ok()?;
        let budget = Budget::of(&self.scope);
        let mut oversize = 0;
        for (item, element) in items.clone().zip(elements) {
            let element = element.ok()?;
            item.check_read_back(element).ok()?;
            oversize += budget.map_or(0, |budget| budget.oversize(element.value.len()));
        }
        let takes_more = !bucket.sealed && items.len() < self.scope.capacity();
        if takes_more {
            let takes_these = budget.is_none_or(|budget| budget.takes(oversize, 0));
            if !takes_these && items.len() > 1 {
                return None;
            }
            bucket.oversize = oversize;
        }
        let times = items.clone().map(|item| item.time());
        let rolled = items.clone().map(|item| item.rollup_values());
        let document = raw(&WholeBucket {
            scope: &self.scope,
            id: &bucket.id,
            count: items.len(),
            elements: all.value(),
            summary: Summary::of(self.scope.spec, times, rolled)?,
            oversize: bucket.oversize,
            sealed: bucket.sealed,
        });
        let document = document.ok()?;
        let size = document.as_bytes().len();
        let fits = match budget {
            None => size <= MAX_BYTES as usize,
            Some(budget) => budget.is_document(size, bucket.sealed),
        };
        fits.then_some(document)
    }
}
