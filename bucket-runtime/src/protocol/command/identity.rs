//! What tells the items of a key apart, where the struct has a `unique` field.

use mongodb::bson::{Bson, Document, doc};

use super::{KeyScope, conditions};
use crate::schema::spec::BucketSpec;

impl KeyScope {
    /// What tells apart the items of those buckets of the key which hold items with these identities,
    /// as the unique index finds them.
    pub(crate) fn identities(&self, field: &str, identities: Vec<Bson>) -> [Document; 2] {
        let path = identity_path(self.spec, field);
        let mut filter = conditions(self.key_fields());
        filter.insert(path.as_str(), doc! { "$in": identities });
        filter.insert(self.spec.count, doc! { "$gt": 0 });
        [
            doc! { "$match": filter },
            doc! { "$project": { "_id": 0, "identities": format!("${path}") } },
        ]
    }
}

/// What tells an element from the others of its key.
pub(crate) fn identity<'e>(field: &str, element: &'e Bson) -> Option<&'e Bson> {
    element.as_document()?.get(field)
}

/// The path under which queries and the index find that.
pub(crate) fn identity_path(spec: &BucketSpec, field: &str) -> String {
    format!("{}.{field}", spec.items)
}

/// Whether two elements of a bucket have the same identity, which no index tells.
pub(crate) fn has_twins(spec: &BucketSpec, field: &str) -> Document {
    let all = format!("${}", identity_path(spec, field));
    let distinct = doc! { "$setUnion": [&all] };
    let fewer = doc! { "$lt": [{ "$size": distinct }, { "$size": &all }] };
    doc! { "$cond": [{ "$isArray": [&all] }, fewer, false] }
}
