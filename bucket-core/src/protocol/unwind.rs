//! The stages that turn buckets into flat items.

use mongodb::bson::{Bson, Document, doc};

use crate::schema::spec::{BucketSpec, KeyName};

/// The stages that turn each bucket into its items, flat and with their key fields.
///
/// If all names are known this is a `$project` that only renames: the server then moves a following
/// `$match` on key fields to the front, where an index can answer it. After a `$mergeObjects` it
/// would look at every document.
pub fn unwind(spec: &BucketSpec) -> Vec<Document> {
    let items = format!("${}", spec.items);
    let key = key_fields(spec);
    let flatten = match spec.fields {
        Some(fields) => {
            // A bucket's `_id` does not identify an item.
            let mut flat = doc! { "_id": 0 };
            flat.extend(key);
            for field in fields {
                flat.insert(*field, format!("{items}.{field}"));
            }
            doc! { "$project": flat }
        }
        // The key comes first for its position, and last to win: a flattened map may hold any
        // field.
        None => doc! { "$replaceWith": { "$mergeObjects": [key.clone(), &items, key] } },
    };
    vec![doc! { "$unwind": items }, flatten]
}

fn key_fields(spec: &BucketSpec) -> Document {
    let value = |key: &KeyName| -> Bson {
        let names = std::iter::once(&key.name).chain(key.aliases);
        let mut names = Vec::from_iter(names.map(|name| format!("${name}")));
        match names.len() {
            1 => names.remove(0).into(),
            _ => doc! { "$ifNull": names }.into(),
        }
    };
    let fields = spec.key.iter();
    fields
        .map(|key| (key.name.to_owned(), value(key)))
        .collect()
}
