//! Changes of items in documents that are not our buckets: a parent, and extras of other programs.

use mongodb::bson::{Bson, Document, doc};

use super::{OwnItems, ParentScope};
use crate::{
    protocol::{
        command::{Places, equality},
        query::Query,
    },
    schema::names::SEALED,
};

/// A document that holds items of a parent, and is not one of our buckets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ItemHolder {
    Parent,
    /// The extras document with this id, which the manual's commands wrote.
    Unnumbered(Bson),
}

impl ParentScope {
    /// The matching items of a document, a row for each as [`own_items`](Self::own_items) gives them.
    pub(crate) fn matches_in(&self, holder: &ItemHolder, query: &Query) -> Vec<Document> {
        match holder {
            ItemHolder::Parent => self.own_items(query, OwnItems::All),
            ItemHolder::Unnumbered(_) => {
                query.items_of(self.extras.spec, self.document(holder), None)
            }
        }
    }

    /// The document, provided that the items are still as they were read, and that a parent has room for what
    /// they grow by.
    pub(crate) fn unchanged_in(
        &self,
        holder: &ItemHolder,
        places: &Places,
        grown: i64,
    ) -> Document {
        let mut conditions = vec![places.are_unchanged(&format!("${}", self.array(holder)))];
        if grown > 0 && self.limits_bytes(holder) {
            let room = i64::from(self.spec.max_bytes) - grown;
            conditions.push(doc! { "$lte": [{ "$bsonSize": "$$ROOT" }, room] });
        }
        let mut filter = self.document(holder);
        filter.insert("$expr", doc! { "$and": conditions });
        filter
    }

    /// Replaces the items with these elements: a pipeline.
    pub(crate) fn replace_in(
        &self,
        holder: &ItemHolder,
        places: &Places,
        elements: Vec<Bson>,
    ) -> Vec<Document> {
        let mut pipeline = vec![self.set_items(holder, places, elements)];
        if *holder == ItemHolder::Parent {
            pipeline.push(self.mark_change(None));
        }
        pipeline
    }

    /// Removes the items: a pipeline, which also corrects the count that the document keeps.
    pub(crate) fn take_out_of(&self, holder: &ItemHolder, places: &Places) -> Vec<Document> {
        let mut pipeline = vec![self.set_items(holder, places, Vec::new())];
        pipeline.push(match holder {
            ItemHolder::Parent => self.mark_change(Some((places.at.len() as i64).into())),
            ItemHolder::Unnumbered(_) => self.recount_extras(),
        });
        pipeline
    }

    fn set_items(&self, holder: &ItemHolder, places: &Places, elements: Vec<Bson>) -> Document {
        let array = self.array(holder);
        doc! { "$set": { array: places.replaced_in(&format!("${array}"), elements) } }
    }

    /// Whether the document has to stay within `max_bytes`. Other programs' extras have no limit.
    pub(crate) fn limits_bytes(&self, holder: &ItemHolder) -> bool {
        *holder == ItemHolder::Parent && !self.spec.is_bounded
    }

    /// Corrects the count of an extras document that has one, and seals a bucket that was full or is empty now, since
    /// there must be no second open bucket, and none that is empty.
    pub(super) fn recount_extras(&self) -> Document {
        let size = doc! { "$size": format!("${}", self.spec.extra_items) };
        let was_full = doc! { "$gte": ["$count", self.extras.open.bound()] };
        let has_count = doc! { "$ne": [{ "$type": "$count" }, "missing"] };
        let is_closed = doc! { "$or": [was_full, { "$eq": [&size, 0] }] };
        let as_it_is = doc! { "$ifNull": [format!("${SEALED}"), "$$REMOVE"] };
        // A document of the manual's has no count, and is never sealed.
        doc! { "$set": {
            SEALED: { "$cond": [{ "$and": [&has_count, is_closed] }, "$_id", as_it_is] },
            "count": { "$cond": [has_count, size, "$$REMOVE"] },
        } }
    }

    fn document(&self, holder: &ItemHolder) -> Document {
        match holder {
            ItemHolder::Parent => self.parent(),
            ItemHolder::Unnumbered(id) => {
                let mut document = self.all_extras();
                document.insert("_id", equality(id));
                document
            }
        }
    }

    fn array(&self, holder: &ItemHolder) -> &'static str {
        match holder {
            ItemHolder::Parent => self.spec.items,
            ItemHolder::Unnumbered(_) => self.spec.extra_items,
        }
    }
}
