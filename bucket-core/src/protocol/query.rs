//! A query for items, and the pipeline that answers it.

mod place;
mod position;
mod rows;
mod whole;

use mongodb::bson::{Bson, Document, doc};

pub use self::{
    position::{ItemPosition, MAX_NEIGHBOURS, NeighbourSide, QueryStart},
    whole::WholeRead,
};
use crate::{
    protocol::{
        command::{KeyScope, each_one, id_range, identity},
        filter::{Filter, Node},
        range::Range,
        time_bounds::TimeBounds,
    },
    schema::{
        names::WHOLE_ITEM,
        spec::{BucketSpec, KeyName},
    },
};

/// Which items a read returns, in which order.
#[derive(Debug, Clone)]
pub struct Query {
    pub filter: Node,
    pub newest_first: bool,
    pub skip: u64,
    pub limit: Option<u64>,
    /// The stored names of the fields to read, if not all.
    pub names: Option<Vec<&'static str>>,
}

impl Query {
    pub fn everything() -> Self {
        Self {
            filter: Node::And(Vec::new()),
            newest_first: false,
            skip: 0,
            limit: None,
            names: None,
        }
    }

    /// All items that match.
    pub fn of<T>(filter: Filter<T>) -> Self {
        Self {
            filter: filter.node,
            ..Self::everything()
        }
    }

    /// The item with the same identity as this element.
    pub fn of_identity(field: &'static str, element: &Bson) -> Self {
        Self {
            filter: Node::on(field, doc! { "$eq": identity(field, element) }),
            ..Self::everything()
        }
    }

    /// The query for all items that match, in their order.
    pub fn of_all_matches(&self) -> Self {
        Self {
            newest_first: false,
            skip: 0,
            limit: None,
            ..self.clone()
        }
    }

    /// The fields that tell an item apart from others, for its fingerprint: the `unique` one, if it
    /// is read, else all that are; `None` if that is the whole item.
    pub fn telling_names(&self, unique: Option<&'static str>) -> Option<Vec<&'static str>> {
        let read = self.names.as_ref();
        let is_read = |name: &&str| read.is_none_or(|read| read.contains(name));
        let unique = unique.filter(|name| *name != WHOLE_ITEM && is_read(name));
        unique.map(|name| vec![name]).or_else(|| read.cloned())
    }

    /// Whether the query returns all items of the buckets. Sending whole buckets then costs a third
    /// of sending items.
    pub fn takes_whole_buckets(&self) -> bool {
        self.filter.is_everything() && self.skip == 0 && self.limit.is_none()
    }

    /// The options of a read of whole buckets.
    pub fn bucket_range(&self, spec: &BucketSpec) -> Range {
        let projection = self.names.as_ref().map(|names| {
            let paths = names.iter().map(|name| format!("{}.{name}", spec.items));
            let mut projection = key_projection(spec);
            projection.extend(paths.map(|path| (path, Bson::Int32(1))));
            projection
        });
        Range {
            sort: Some(doc! { "_id": self.direction() }),
            projection,
            ..Range::unordered()
        }
    }

    /// 1, or -1 from the end.
    pub(crate) fn direction(&self) -> i32 {
        if self.newest_first { -1 } else { 1 }
    }

    /// The maximum number of buckets that hold all requested items, if each one that satisfies
    /// [`buckets`](Self::buckets) holds an item.
    ///
    /// Without this limit the server, which reads ahead, fetches up to 4 MB of buckets whatever is
    /// requested (seen with the profiler on 6.0.5).
    fn most_buckets(&self, start: Option<&QueryStart>) -> Option<u64> {
        // The first bucket may hold items only on the other side of the position.
        let first = u64::from(start.is_some_and(|start| start.at.is_some()));
        let items = self.limit?.saturating_add(self.skip);
        (self.filter.is_decided_by_buckets()).then(|| items.saturating_add(first))
    }

    /// The stages that make a bucket of each matching item.
    pub fn unwound_items(&self, spec: &BucketSpec) -> impl Iterator<Item = Document> {
        let unwind = doc! { "$unwind": format!("${}", spec.items) };
        std::iter::once(unwind).chain(self.matching_items(spec))
    }

    /// The stage that leaves the matching ones of unwound items.
    fn matching_items(&self, spec: &BucketSpec) -> Option<Document> {
        let filter = self.filter.flat(&format!("{}.", spec.items));
        (!self.filter.is_everything()).then(|| doc! { "$match": filter })
    }

    /// A pipeline that counts the matching items, as a document with the field `items`.
    ///
    /// A condition on key fields holds for all items of a bucket or for none, so the counts of
    /// buckets are added up.
    pub fn count(&self, spec: &BucketSpec, scope: Option<&KeyScope>) -> Vec<Document> {
        let mut stages = vec![doc! { "$match": self.buckets(spec, scope, None) }];
        let number = match self.filter.is_on_items() {
            // Reads give the items of a document without a count, so these are counted, too.
            false => {
                let items = format!("${}", spec.items);
                let items = doc! { "$cond": [{ "$isArray": [&items] }, &items, []] };
                doc! { "$ifNull": [format!("${}", spec.count), { "$size": items }] }.into()
            }
            true => {
                stages.extend(self.unwound_items(spec));
                Bson::Int32(1)
            }
        };
        stages.push(doc! { "$group": { "_id": null, "items": { "$sum": number } } });
        stages
    }

    /// The buckets that can hold matching items.
    pub fn buckets(
        &self,
        spec: &BucketSpec,
        scope: Option<&KeyScope>,
        start: Option<&QueryStart>,
    ) -> Document {
        let filter = (!self.filter.is_everything()).then_some(&self.filter);
        let bounds = filter.map(|filter| TimeBounds::of(filter, spec));
        let mut all = Vec::new();
        match (scope, bounds) {
            (Some(scope), Some(bounds)) => all.push(scope.within(bounds)),
            (Some(scope), None) => all.push(scope.all()),
            (None, bounds) => {
                // The ids of buckets are texts.
                let any = || doc! { "_id": { "$gte": "" } };
                let prefix = self.filter.id_prefix(spec);
                all.push(prefix.map_or_else(any, |prefix| id_range(&prefix)));
                all.extend(bounds.and_then(|bounds| bounds.windows(spec)));
            }
        }
        all.extend(start.map(|start| self.buckets_from(spec, start)));
        all.extend(filter.map(|filter| filter.of_bucket(spec.items)));
        if self.limit.is_some() && !self.filter.is_on_items() {
            // Removals may have left buckets without items.
            all.push(doc! { format!("{}.0", spec.items): { "$exists": true } });
        }
        match all.len() {
            0 => Document::new(),
            1 => all.remove(0),
            _ => doc! { "$and": all },
        }
    }

    /// The bucket of the start and those after it in the order of the query.
    fn buckets_from(&self, spec: &BucketSpec, start: &QueryStart) -> Document {
        let bound = match (self.newest_first, start.at) {
            (false, _) => "$gte",
            (true, Some(0)) => "$lt",
            (true, _) => "$lte",
        };
        compare_id(spec, bound, start.id.as_str())
    }
}

/// A comparison of ids with one. Those of extras have any type, and only an expression compares
/// across types.
pub fn compare_id(spec: &BucketSpec, operator: &str, id: impl Into<Bson>) -> Document {
    match spec.are_extras {
        true => doc! { "$expr": { operator: ["$_id", { "$literal": id }] } },
        false => doc! { "_id": { operator: id } },
    }
}

/// The fields of a bucket that a read needs: its id, its key, and this item as an array.
fn projection(spec: &BucketSpec, item: Bson) -> Document {
    let mut projection = key_projection(spec);
    projection.insert(spec.items, vec![item]);
    projection
}

/// The id and the key of a bucket.
fn key_projection(spec: &BucketSpec) -> Document {
    each_one(names_of_key(spec))
}

/// All names that the fields of a key may have in a bucket.
fn names_of_key(spec: &BucketSpec) -> impl Iterator<Item = &'static str> {
    let names = |key: &'static KeyName| std::iter::once(&key.name).chain(key.aliases);
    spec.key.iter().flat_map(names).copied()
}

/// The stage `$limit`; `None` if there cannot be that many items.
fn limit(items: u64) -> Option<Document> {
    i64::try_from(items)
        .ok()
        .map(|items| doc! { "$limit": items })
}

/// The server counts in signed numbers.
fn clamped(items: u64) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}
