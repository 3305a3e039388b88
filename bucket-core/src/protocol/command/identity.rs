//! The identities of a key's items, where the struct has a `unique` field.
//!
//! With a `unique` field, the index `bucket_unique`, `{ key…, "items.field": 1 }`, lets the server
//! refuse an item that another bucket of the key holds. It compares nothing within one document, so
//! the filter of each append excludes buckets that hold the value (`$nin`), and no statement and no
//! whole bucket carries two equal values. After any refusal some items may be there already
//! (`RetryState::may_be_present`): one read by that index finds them, and the engine sends the
//! others again. In a transaction this read comes first.

use std::collections::HashSet;

use mongodb::bson::{Bson, Document, doc};

use super::{IndexedScope, KeyScope, Update, conditions};
use crate::{
    schema::{
        names::{OVERSIZE, UNIQUE_INDEX, WHOLE_ITEM},
        spec::BucketSpec,
    },
    value::number::comparable,
};

impl KeyScope {
    /// The identities of all items in those of the key's buckets that hold an item with one of
    /// these identities, by the unique index.
    pub(crate) fn identities(&self, field: &str, identities: Vec<Bson>) -> [Document; 2] {
        let path = identity_path(self.spec.items, field);
        let mut filter = conditions(self.key_fields());
        filter.insert(path.as_str(), doc! { "$in": identities });
        filter.insert(self.spec.count, doc! { "$gt": 0 });
        [
            doc! { "$match": filter },
            doc! { "$project": { "_id": 0, "identities": format!("${path}") } },
        ]
    }
}

impl IndexedScope {
    /// Replaces the element that has the same identity, in a bucket whose other fields do not
    /// depend on it: one that keeps no totals and no large items. If there is none, the server
    /// refuses the update.
    pub fn replace_by_identity_or_be_refused(
        &self,
        field: &str,
        identity: &Bson,
        element: Bson,
    ) -> Update {
        let mut filter = conditions(self.key_fields());
        filter.insert(identity_path(self.spec.items, field), identity.clone());
        filter.insert(self.spec.count, doc! { "$gt": 0 });
        filter.insert(OVERSIZE, doc! { "$not": { "$gt": 0 } });
        if let Some((name, start)) = self.spec.window_name().zip(self.window) {
            filter.insert(name, start);
        }
        let update = doc! { "$set": { format!("{}.$", self.spec.items): element } };
        let update = Update {
            hint: Some(UNIQUE_INDEX),
            ..Update::new(filter, update)
        };
        update.or_be_refused()
    }
}

/// The identity of an element within its key.
pub fn identity<'e>(field: &str, element: &'e Bson) -> Option<&'e Bson> {
    match field {
        WHOLE_ITEM => Some(element),
        field => element.as_document()?.get(field),
    }
}

/// The identities that an earlier one of these elements has as well.
pub fn twins<'e>(
    field: &str,
    elements: impl IntoIterator<Item = &'e Bson>,
) -> impl Iterator<Item = &'e Bson> {
    let mut seen = HashSet::new();
    let identities = elements
        .into_iter()
        .filter_map(move |element| identity(field, element));
    identities.filter(move |identity| !seen.insert(comparable(identity)))
}

/// The path of the identities of the items in this array, for queries and the index.
pub fn identity_path(items: &str, field: &str) -> String {
    match field {
        WHOLE_ITEM => items.to_owned(),
        field => format!("{items}.{field}"),
    }
}

/// Whether two elements of one bucket have the same identity, which no index can refuse.
pub fn has_twins(spec: &BucketSpec, field: &str) -> Document {
    let all = format!("${}", identity_path(spec.items, field));
    let distinct = doc! { "$setUnion": [&all] };
    let fewer = doc! { "$lt": [{ "$size": distinct }, { "$size": &all }] };
    doc! { "$cond": [{ "$isArray": [&all] }, fewer, false] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server takes numbers of any type for equal.
    #[test]
    fn twins_are_told_by_their_identities() {
        let elements = [
            doc! { "n": 7, "text": "a" }.into(),
            doc! { "n": 8, "text": "a" }.into(),
            doc! { "n": 7.0, "text": "b" }.into(),
            doc! { "text": "c" }.into(),
            doc! { "text": "c" }.into(),
        ];
        assert!(twins("n", &elements).eq([&Bson::from(7.0)]));
        assert!(twins(WHOLE_ITEM, &elements).eq([&elements[4]]));
    }
}
