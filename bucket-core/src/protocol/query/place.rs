//! Where the items that satisfy a condition are.

use mongodb::bson::{Bson, Document, doc};

use super::{Query, clamped, key_projection, limit, projection};
use crate::{
    protocol::command::{IndexedScope, KeyScope, is_unsealed},
    schema::{
        names::{OVERSIZE, ROW_LENGTH, ROW_STATE},
        spec::BucketSpec,
    },
};

impl Query {
    /// The first matching item of a key, as a bucket with this item alone, or with all items of its
    /// bucket. The count's field holds the number of items before it, `capacity` the number of all,
    /// and `sealed` says whether the bucket is open: no condition and no key field can have these
    /// names.
    pub fn first_place(
        &self,
        spec: &BucketSpec,
        scope: &IndexedScope,
        with_all: bool,
    ) -> Vec<Document> {
        let first = Self {
            limit: Some(1),
            ..self.clone()
        };
        let mut buckets = first.buckets(spec, Some(scope), None);
        if spec.unique.is_some() {
            // The unique index holds no other buckets, and serves only queries that state this
            // condition.
            buckets = doc! { "$and": [buckets, { spec.count: { "$gt": 0 } }] };
        }
        let mut stages = vec![doc! { "$match": buckets }, doc! { "$sort": { "_id": 1 } }];
        stages.extend(first.most_buckets(None).and_then(limit));
        stages.extend(self.matches(spec, scope, with_all));
        stages.push(doc! { "$limit": 1 });
        let mut place = projection(spec, Bson::String(format!("${}", spec.items)));
        place.insert(spec.count, Bson::Int32(1));
        place.insert(OVERSIZE, Bson::Int32(1));
        place.insert(ROW_STATE, format!("${ROW_STATE}.is_open"));
        place.insert(ROW_LENGTH, format!("${ROW_STATE}.length"));
        if with_all {
            place.insert(spec.items, format!("${ROW_STATE}.items"));
        }
        stages.push(doc! { "$project": place });
        stages
    }

    /// All matching items of the bucket with this id, in the same form; the count's field holds an
    /// array with one number for each.
    pub fn places(
        &self,
        spec: &BucketSpec,
        scope: &IndexedScope,
        bucket: &str,
        with_all: bool,
    ) -> Vec<Document> {
        let mut stages = vec![doc! { "$match": scope.bucket(bucket) }];
        stages.extend(self.matches(spec, scope, with_all));
        stages.push(doc! { "$group": {
            "_id": null,
            "bucket": { "$first": "$$ROOT" },
            "at": { "$push": format!("${}", spec.count) },
            "elements": { "$push": format!("${}", spec.items) },
        } });
        let elements = match with_all {
            true => format!("$bucket.{ROW_STATE}.items"),
            false => "$elements".to_owned(),
        };
        let place = doc! {
            spec.count: "$at",
            spec.items: elements,
            ROW_STATE: format!("$bucket.{ROW_STATE}.is_open"),
            ROW_LENGTH: format!("$bucket.{ROW_STATE}.length"),
        };
        stages.push(doc! { "$replaceWith": { "$mergeObjects": ["$bucket", place] } });
        stages
    }

    /// The matching items, each as its bucket with this item alone: the number of items before it,
    /// and what the whole bucket says.
    fn matches(&self, spec: &BucketSpec, scope: &IndexedScope, with_all: bool) -> Vec<Document> {
        let items = format!("${}", spec.items);
        let length = doc! { "$size": &items };
        let has_room = doc! { "$lt": [&length, scope.open.bound()] };
        let is_open = doc! { "$and": [is_unsealed(), has_room] };
        let mut kept = doc! { "is_open": is_open, "length": length };
        if with_all {
            kept.insert("items", &items);
        }
        let mut stages = vec![
            doc! { "$set": { ROW_STATE: kept } },
            doc! { "$unwind": { "path": items, "includeArrayIndex": spec.count } },
        ];
        stages.extend(self.matching_items(spec));
        stages
    }

    /// The ids and keys of buckets that may hold matching items and satisfy further conditions, in
    /// the order of their ids.
    pub fn next_buckets(
        &self,
        spec: &BucketSpec,
        scope: Option<&KeyScope>,
        further: &[Document],
        most: usize,
    ) -> Vec<Document> {
        let mut buckets = vec![self.buckets(spec, scope, None)];
        buckets.extend_from_slice(further);
        let buckets = match buckets.len() {
            1 => buckets.remove(0),
            _ => doc! { "$and": buckets },
        };
        let mut projection = key_projection(spec);
        projection.insert(spec.items, doc! { "$literal": [] });
        vec![
            doc! { "$match": buckets },
            doc! { "$sort": { "_id": 1 } },
            doc! { "$limit": clamped(most as u64) },
            doc! { "$project": projection },
        ]
    }
}
