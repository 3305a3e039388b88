//! Reads the flat collection, in the order of the buckets.

use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

use crate::schema::spec::BucketSpec;

/// A flat document.
#[derive(Deserialize)]
pub(super) struct FlatItem<E> {
    /// The values by which the documents are sorted: the key, the time, and the `_id`.
    pub(super) at: Vec<Bson>,
    /// The fields of the element: all but the key.
    pub(super) element: E,
}

/// The fields by which the flat documents are sorted, and the direction of each.
pub(super) fn order(spec: &BucketSpec, within_key: Option<Document>) -> Document {
    let mut order: Document = (spec.key.iter())
        .map(|key| (key.name.to_owned(), Bson::Int32(1)))
        .collect();
    let time = spec.time.map(|time| doc! { time: 1 }).unwrap_or_default();
    let within_key = match (within_key, spec.window_name()) {
        (None, _) => time,
        (Some(fields), None) => fields,
        // The items of a window follow each other.
        (Some(fields), Some(_)) => time.into_iter().chain(fields).collect(),
    };
    for (name, direction) in within_key {
        order.entry(name).or_insert(direction);
    }
    order.entry("_id".to_owned()).or_insert(Bson::Int32(1));
    order
}

/// The stages that return the flat documents after a position, in order.
pub(super) fn pipeline(
    spec: &BucketSpec,
    order: &Document,
    behind: Option<&[Bson]>,
) -> Vec<Document> {
    let at: Vec<_> = order
        .keys()
        .map(|name| Bson::String(format!("${name}")))
        .collect();
    let mut stages = Vec::new();
    if let Some(behind) = behind {
        stages.push(doc! { "$match": { "$expr": is_behind(order, behind) } });
    }
    let mut fields: Vec<_> = (spec.key.iter())
        .map(|key| format!("element.{}", key.name))
        .collect();
    fields.push("element._id".to_owned());
    stages.extend([
        doc! { "$sort": order },
        doc! { "$project": { "at": at, "element": "$$ROOT" } },
        doc! { "$unset": fields },
    ]);
    stages
}

/// The stages that return each key once.
pub(super) fn keys(spec: &BucketSpec) -> [Document; 2] {
    let at: Vec<_> = (spec.key.iter())
        .map(|key| format!("${}", key.name))
        .collect();
    let names: Vec<_> = (0..at.len()).map(|n| n.to_string()).collect();
    let group: Document = (names.iter().zip(at))
        .map(|(name, value)| (name.clone(), Bson::String(value)))
        .collect();
    let at: Vec<_> = names.iter().map(|name| format!("$_id.{name}")).collect();
    [
        doc! { "$group": { "_id": group } },
        doc! { "$project": { "_id": 0, "at": at } },
    ]
}

/// Whether a document comes after a position: the first field that differs decides. These are
/// expressions, which compare values of all types as a sort does; a missing field sorts like `null`.
fn is_behind(order: &Document, place: &[Bson]) -> Bson {
    let mut behind = Bson::Boolean(false);
    let fields: Vec<_> = order.iter().zip(place).collect();
    for ((name, direction), value) in fields.into_iter().rev() {
        let field = doc! { "$ifNull": [format!("${name}"), Bson::Null] };
        let value = doc! { "$literal": value.clone() };
        let descending = matches!(crate::value::element::whole(direction), Some(-1));
        let further = if descending { "$lt" } else { "$gt" };
        behind = doc! { "$or": [
            { further: [field.clone(), value.clone()] },
            { "$and": [{ "$eq": [field, value] }, behind] },
        ] }
        .into();
    }
    behind
}
