//! Changes of items in a parent's own array.

use bucket_core::protocol::command::Places;
use mongodb::bson::{Bson, Document, doc};

use super::ParentScope;

impl ParentScope {
    /// The parent, provided that the items are still as they were read, and that it has room for
    /// what they grow by.
    pub(crate) fn unchanged_items(&self, places: &Places, grown: i64) -> Document {
        let are_unchanged = places.are_unchanged(&format!("${}", self.spec.items));
        self.provided(vec![are_unchanged], grown)
    }

    /// The parent, provided that these conditions hold, and that it has room for what it grows by.
    pub(super) fn provided(&self, mut conditions: Vec<Document>, grown: i64) -> Document {
        if grown > 0 && !self.spec.is_bounded {
            let room = i64::from(self.spec.max_bytes) - grown;
            conditions.push(doc! { "$lte": [{ "$bsonSize": "$$ROOT" }, room] });
        }
        let mut filter = self.parent();
        filter.insert("$expr", doc! { "$and": conditions });
        filter
    }

    /// Puts these elements in the places of the items, or removes them if there are none, and
    /// corrects the total: a pipeline.
    pub(crate) fn set_items(&self, places: &Places, elements: Vec<Bson>) -> Vec<Document> {
        let removed = elements.is_empty();
        let removed = removed.then(|| Bson::from(places.at.len() as i64));
        let items = places.replaced_in(&format!("${}", self.spec.items), elements);
        let set = doc! { "$set": { self.spec.items: items } };
        vec![set, self.mark_change(removed)]
    }
}
