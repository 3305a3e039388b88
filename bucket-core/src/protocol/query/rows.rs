//! Single items: the stages that make a bucket of each item.

use mongodb::bson::{Bson, Document, doc};

use super::{Query, QueryStart, clamped, limit, projection};
use crate::{
    protocol::command::KeyScope,
    schema::{names::ROW_STATE, spec::BucketSpec},
};

impl Query {
    /// The items of a key, or of all keys, each as a bucket with one item, whose count's field
    /// holds the number of elements before the item.
    ///
    /// Only the match language decides conditions, on each element after `$unwind`: expressions
    /// such as `$filter` compare differently (they compare across kinds of values, and do not look
    /// into arrays).
    pub fn pipeline(
        &self,
        spec: &BucketSpec,
        scope: Option<&KeyScope>,
        start: Option<&QueryStart>,
    ) -> Vec<Document> {
        let known = start.and_then(|start| start.buckets);
        let most = known.or_else(|| self.most_buckets(start));
        let mut stages = vec![
            doc! { "$match": self.buckets(spec, scope, start) },
            doc! { "$sort": { "_id": self.direction() } },
        ];
        stages.extend(most.and_then(limit));
        stages.extend(self.numbered_items(spec, start));
        stages.extend(self.matching_items(spec));
        if self.skip > 0 {
            stages.push(doc! { "$skip": clamped(self.skip) });
        }
        stages.extend(self.limit.and_then(limit));
        let mut found = projection(spec, self.fields_at(&format!("${}", spec.items)));
        found.insert(spec.count, self.number(spec));
        stages.push(doc! { "$project": found });
        stages
    }

    /// The item at this path, or the fields of it that are read.
    pub fn fields_at(&self, item: &str) -> Bson {
        match &self.names {
            None => item.into(),
            Some(names) => {
                let paths = names.iter().map(|name| format!("{item}.{name}"));
                let fields = names.iter().map(|name| (*name).to_owned());
                Bson::Document(fields.zip(paths.map(Bson::String)).collect())
            }
        }
    }

    /// The stages that make a bucket of each item, with the number of elements before it; of one
    /// bucket, only those from an element on.
    fn numbered_items(&self, spec: &BucketSpec, start: Option<&QueryStart>) -> Vec<Document> {
        let cut = start.and_then(|start| Some((&start.id, start.at?)));
        let items = format!("${}", spec.items);
        // No condition and no key field can have these two names.
        let number = if self.newest_first {
            ROW_STATE
        } else {
            spec.count
        };
        let unwind = doc! { "$unwind": { "path": &items, "includeArrayIndex": number } };
        if self.newest_first {
            let taken = match cut {
                None => Bson::String(items),
                Some((id, at)) => first_elements(id, at, &items),
            };
            let reverse = doc! { "$set": {
                spec.count: { "$size": { "$ifNull": [taken.clone(), []] } },
                spec.items: { "$reverseArray": taken },
            } };
            return vec![reverse, unwind];
        }
        let rest = cut.map(|(id, at)| {
            let rest = doc! { spec.count: { "$gte": clamped(at) } };
            doc! { "$match": { "$or": [{ "_id": { "$ne": id } }, rest] } }
        });
        std::iter::once(unwind).chain(rest).collect()
    }

    /// The number of elements before an unwound one. Reversed arrays are counted from their end.
    fn number(&self, spec: &BucketSpec) -> Bson {
        let size = format!("${}", spec.count);
        let after = doc! { "$add": [format!("${ROW_STATE}"), 1] };
        match self.newest_first {
            false => Bson::Int32(1),
            true => doc! { "$subtract": [size, after] }.into(),
        }
    }
}

/// The first elements of one bucket, and all elements of the others.
fn first_elements(id: &str, elements: u64, items: &str) -> Bson {
    // Without `$literal` a text that begins with `$` would be the path of a field.
    let is_it = doc! { "$eq": ["$_id", { "$literal": id }] };
    let elements = i32::try_from(elements).unwrap_or(i32::MAX);
    doc! { "$cond": [is_it, { "$slice": [items, elements] }, items] }.into()
}
