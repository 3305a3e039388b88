//! Where the first item that satisfies a condition is.

use mongodb::bson::{Bson, Document, doc};

use super::{Query, projection};
use crate::{
    protocol::command::IndexedScope,
    schema::{
        names::{OVERSIZE, SEALED},
        spec::BucketSpec,
    },
};

impl Query {
    /// The first matching item of a key, as a bucket with this item alone, or with all items of its
    /// bucket. The count's field holds the number of items before it, and `sealed` says whether the
    /// bucket is open: no condition and no key field can have these two names.
    pub(crate) fn place(
        &self,
        spec: &BucketSpec,
        scope: &IndexedScope,
        with_all: bool,
    ) -> Vec<Document> {
        let items = format!("${}", spec.items);
        let mut buckets = self.buckets(spec, Some(scope), None);
        if spec.unique.is_some() {
            // The unique index holds no other buckets, and serves only queries that state this
            // condition.
            buckets = doc! { "$and": [buckets, { spec.count: { "$gt": 0 } }] };
        }
        let mut stages = vec![doc! { "$match": buckets }, doc! { "$sort": { "_id": 1 } }];
        let is_unsealed = doc! { "$eq": [{ "$type": format!("${SEALED}") }, "missing"] };
        let has_room = doc! { "$lt": [{ "$size": &items }, scope.open.bound()] };
        let mut kept = doc! { "open": { "$and": [is_unsealed, has_room] } };
        if with_all {
            kept.insert("items", &items);
        }
        stages.push(doc! { "$set": { SEALED: kept } });
        stages.push(doc! { "$unwind": { "path": items, "includeArrayIndex": spec.count } });
        if !self.filter.is_everything() {
            let path = format!("{}.", spec.items);
            stages.push(doc! { "$match": self.filter.flat(&path) });
        }
        let mut projection = projection(spec, Bson::String(format!("${}", spec.items)));
        projection.insert(spec.count, Bson::Int32(1));
        projection.insert(OVERSIZE, Bson::Int32(1));
        projection.insert(SEALED, format!("${SEALED}.open"));
        if with_all {
            projection.insert(spec.items, format!("${SEALED}.items"));
        }
        stages.push(doc! { "$limit": 1 });
        stages.push(doc! { "$project": projection });
        stages
    }
}
