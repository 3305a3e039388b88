//! Single items that the client takes out of whole buckets.
//!
//! A page or a few items stand in one or two buckets. To find these costs the server little more
//! than half of a pipeline that unwinds them, as long as they are not much larger than what is
//! asked for. Where they turn out to hold too few items, since buckets were sealed early or lost
//! some, the pipeline answers.

use mongodb::bson::{Document, RawDocument, RawDocumentBuf};

use super::{Query, QueryStart, names_of_key};
use crate::{
    protocol::{command::KeyScope, range::Range},
    schema::spec::BucketSpec,
    value::unwound::RowFields,
};

/// The largest array that is sent as a whole, in times the number of items that are asked for.
const MAX_WHOLE: u64 = 100;

/// The maximum number of buckets that are held at once.
const MAX_BUCKETS: u64 = 20;

/// The number of times that a bucket's capacity has to exceed the items asked for, so that the
/// newest bucket alone, which may be nearly empty, is expected to hold them.
const SURE: u64 = 10;

/// A find of whole documents, whose items are rows.
pub struct WholeRead {
    pub filter: Document,
    pub range: Range,
    pub fields: RowFields,
    pub newest_first: bool,
    /// The number of items that are asked for.
    pub most: usize,
    /// Where the read starts: the id of the bucket, and the number of elements before the position.
    pub cut: Option<(Option<String>, usize)>,
    /// Whether a row without an item follows if there are not as many, as behind a parent's own.
    pub has_last_row: bool,
}

impl Query {
    /// The number of items that are asked for, if arrays of up to this length are sent as a whole
    /// for them.
    pub fn whole_items(&self, length: u32) -> Option<u64> {
        let asked = self
            .limit
            .filter(|_| self.filter.is_everything() && self.skip == 0);
        asked.filter(|asked| u64::from(length) <= asked.saturating_mul(MAX_WHOLE))
    }

    /// A read of the buckets that should hold all requested items; `None` if the server had better
    /// unwind.
    ///
    /// Most windows are not full, so the number of buckets would be a guess.
    pub fn whole_buckets(
        &self,
        spec: &BucketSpec,
        scope: Option<&KeyScope>,
        start: Option<&QueryStart>,
    ) -> Option<WholeRead> {
        let asked = self
            .whole_items(spec.capacity)
            .filter(|_| spec.window_name().is_none())?;
        let capacity = u64::from(spec.capacity);
        let at = start.and_then(|start| start.at);
        let in_first = match (self.newest_first, at) {
            (true, Some(at)) => at,
            (true, None) if capacity < asked.saturating_mul(SURE) => 1,
            (false, Some(at)) => capacity.saturating_sub(at),
            (_, None) => capacity,
        };
        let buckets = 1 + asked.saturating_sub(in_first).div_ceil(capacity);
        let all = Self {
            limit: None,
            ..self.clone()
        };
        (buckets <= MAX_BUCKETS).then(|| WholeRead {
            filter: all.buckets(spec, scope, start),
            range: Range {
                limit: Some(buckets as i64),
                ..self.bucket_range(spec)
            },
            fields: RowFields {
                kept: std::iter::once("_id").chain(names_of_key(spec)).collect(),
                items: spec.items,
                count: spec.count,
            },
            newest_first: self.newest_first,
            most: asked as usize,
            cut: start.and_then(|start| Some((Some(start.id.clone()), start.at? as usize))),
            has_last_row: false,
        })
    }
}

impl WholeRead {
    /// The rows of the documents that were found; `None` if other documents may hold some of them.
    pub(crate) fn rows(&self, documents: Vec<RawDocumentBuf>) -> Option<Vec<RawDocumentBuf>> {
        let found = documents.len() as i64;
        let is_all = self.range.limit.is_none_or(|limit| found < limit);
        let mut rows = Vec::new();
        for document in documents {
            let asked = self.asked_of(&document);
            let left = self.most - rows.len();
            let items = (self.fields).rows(document.as_bytes(), &asked, self.newest_first, left);
            match items {
                Ok(items) => rows.extend(items),
                Err(_) if self.has_last_row => {}
                // Whoever reads the row says what is wrong with the bucket, which ends the read.
                Err(_) => {
                    rows.push(document);
                    return Some(rows);
                }
            }
            if rows.len() >= self.most {
                return Some(rows);
            }
            if self.has_last_row {
                rows.extend(self.fields.row_without_item(document.as_bytes()));
            }
        }
        is_all.then_some(rows)
    }

    /// The numbers of a document's elements that are asked for.
    fn asked_of(&self, document: &RawDocument) -> std::ops::Range<usize> {
        match &self.cut {
            Some((Some(id), _)) if document.get_str("_id").ok() != Some(id) => 0..usize::MAX,
            Some((_, at)) if self.newest_first => 0..*at,
            Some((_, at)) => *at..usize::MAX,
            None => 0..usize::MAX,
        }
    }
}
