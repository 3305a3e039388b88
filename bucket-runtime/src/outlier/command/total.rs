//! Totals: of one parent, and of all.

use bucket_core::{protocol::command::Update, schema::spec::OutlierSpec};
use mongodb::bson::{Bson, Document, doc};

use super::{ParentScope, array_length};

impl ParentScope {
    /// Adds a number of extras to the total of a flagged parent, unless it lacks one; a negative
    /// number subtracts, unless the total would be negative.
    pub(crate) fn add_to_total(&self, total: &str, items: i64) -> Update {
        let mut filter = self.flagged();
        filter.insert(total, doc! { "$gte": (-items).max(0) });
        Update::new(filter, doc! { "$inc": { total: items } })
    }

    /// Writes the total.
    pub fn set_total(&self, total: &str, items: u64) -> Update {
        let items = i64::try_from(items).unwrap_or(i64::MAX);
        Update::new(self.parent(), doc! { "$set": { total: items } })
    }

    /// Reads the parent's total, and counts the items of its own array.
    pub fn count_own_items(&self, total: &str) -> [Document; 2] {
        let total = format!("${total}");
        [
            doc! { "$match": self.parent() },
            doc! { "$project": { "total": total, "items": array_length(self.spec.items) } },
        ]
    }
}

/// Finds the parents whose total is not the number of their items, extras included.
pub fn find_wrong_totals(spec: &OutlierSpec, extras: &str, total: &str) -> Vec<Document> {
    let in_extras = doc! { "$sum": array_length(spec.extra_items) };
    let items = doc! { "$add": [array_length(spec.items), { "$sum": "$extras.items" }] };
    vec![
        doc! { "$lookup": {
            "from": extras,
            "localField": "_id",
            "foreignField": spec.reference,
            "pipeline": [{ "$group": { "_id": null, "items": in_extras } }],
            "as": "extras",
        } },
        doc! { "$match": { "$expr": { "$ne": [format!("${total}"), items] } } },
        doc! { "$project": { "_id": 1 } },
    ]
}

/// Subtracts removed items from the total, in the update that removes them from a parent's array.
pub(super) fn subtract(total: &str, removed: Bson) -> Document {
    let stored = format!("${total}");
    let count = doc! { "$max": [0_i64, { "$subtract": [&stored, removed] }] };
    // A parent of another program's may have none.
    let none = doc! { "$ifNull": [&stored, "$$REMOVE"] };
    doc! { total: { "$cond": [{ "$isNumber": &stored }, count, none] } }
}
