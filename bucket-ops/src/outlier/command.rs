//! The commands on parents that operations alone send.

use bucket_core::{
    protocol::command::{Update, identity, identity_path},
    schema::spec::OutlierSpec,
};
use bucket_runtime::__ops::{ParentScope, array_length};
use mongodb::bson::{Bson, Document, doc};

/// Cuts the parent's array to this length, and flags the parent.
pub(super) fn cut(scope: &ParentScope, length: usize) -> Update {
    let length = i32::try_from(length).unwrap_or(i32::MAX);
    let keep = doc! { "$each": [], "$slice": length };
    Update::new(
        scope.parent(),
        doc! { "$push": { scope.spec.items: keep }, "$set": { scope.spec.flag: true } },
    )
}

/// Takes the flag away, so that a cut in the same transaction sets it again. A change stream would
/// take an update of the array that leaves the flag alone for a push.
pub(super) fn unset_flag(scope: &ParentScope) -> Update {
    Update::new(scope.parent(), doc! { "$unset": { scope.spec.flag: "" } })
}

/// Flags the parent, full or not.
pub(super) fn set_flag(scope: &ParentScope) -> Update {
    Update::new(scope.parent(), doc! { "$set": { scope.spec.flag: true } })
}

/// Writes the total.
pub(super) fn set_total(scope: &ParentScope, total: &str, items: u64) -> Update {
    let items = i64::try_from(items).unwrap_or(i64::MAX);
    Update::new(scope.parent(), doc! { "$set": { total: items } })
}

/// Reads the parent's total, and counts the items of its own array.
pub(super) fn count_own_items(scope: &ParentScope, total: &str) -> [Document; 2] {
    let total = format!("${total}");
    [
        doc! { "$match": scope.parent() },
        doc! { "$project": { "total": total, "items": array_length(scope.spec.items) } },
    ]
}

/// Finds the parents whose total is not the number of their items, extras included.
pub(super) fn find_wrong_totals(spec: &OutlierSpec, extras: &str, total: &str) -> Vec<Document> {
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

/// The extras documents that hold items with the identities of some of these, each with those
/// identities.
pub(super) fn held_by_extras(scope: &ParentScope, field: &str, elements: &[Bson]) -> [Document; 2] {
    let items = scope.spec.extra_items;
    let identities = elements.iter().filter_map(|item| identity(field, item));
    let identities = Vec::from_iter(identities.cloned());
    let mut filter = scope.extras.all();
    filter.insert(identity_path(items, field), doc! { "$in": identities });
    [
        doc! { "$match": filter },
        doc! { "$project": { "held": scope.held_identities(items, elements) } },
    ]
}
