//! Totals, of all parents.

use mongodb::bson::{Bson, Document, doc};

use super::array_length;
use crate::schema::spec::OutlierSpec;

/// Finds the parents whose total is not the number of their items, extras included.
pub(crate) fn find_wrong_totals(spec: &OutlierSpec, extras: &str, total: &str) -> Vec<Document> {
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
