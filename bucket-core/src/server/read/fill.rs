//! How full buckets and parents are, and the last id of a key, for writes.

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};

use crate::{
    Result,
    protocol::{
        command::{IndexedScope, KeyScope, each_one},
        newest_bucket::{NewestBucket, OpenBucket},
        range::Range,
    },
    schema::{
        names::{OVERSIZE, SEALED, UNIQUE_INDEX},
        spec::BucketSpec,
    },
    server::Server,
    value::number::{comparable, whole},
};

impl Server {
    /// The greatest of these ids of a key, for a write that is about to take the next one: in the
    /// primary's latest state, since an older one would only give an id that is taken.
    pub async fn last_id(
        &self,
        scope: &KeyScope,
        ids: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<String>> {
        let last = Range::newest_first().project(doc! { "_id": 1 });
        let last = self.target_of(scope).find(self.by_ids(scope, ids), last);
        let found = last.read_latest().first(session).await?;
        Ok(found.and_then(|document| document.get_str("_id").ok().map(str::to_owned)))
    }

    /// The key's open bucket, if there is one, as the primary has it.
    pub async fn open_bucket(
        &self,
        scope: &IndexedScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<OpenBucket>> {
        let filling = Range::unordered().project(filling(scope.spec));
        let open = (self.target_of(scope)).find(scope.open_bucket_anywhere(), filling);
        let open = open.hint(scope.open.name).read_primary();
        let found = open.first(session).await?;
        Ok(found.map(|bucket| open_bucket(&bucket, scope.spec)))
    }

    /// The state that a key's last bucket shows, for a write that may take the next id; see
    /// [`last_id`](Self::last_id). One read finds both the next number and that no bucket is open.
    /// Another writer may have opened that bucket a moment ago.
    pub async fn last_bucket(
        &self,
        scope: &IndexedScope,
        session: Option<&mut ClientSession>,
    ) -> Result<NewestBucket> {
        let last = Range::newest_first().project(filling_of_last(scope.spec));
        let last = (self.target_of(scope)).find(self.by_ids(scope, scope.ids()), last);
        let found = last.read_latest().first(session).await?;
        Ok(last_bucket(&found.unwrap_or_default(), scope))
    }

    /// Those of these identities that items of the key have, and others: of all items in their
    /// buckets, found by the unique index as the primary has it.
    pub async fn present_identities(
        &self,
        scope: &KeyScope,
        field: &str,
        identities: Vec<Bson>,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<Bson>> {
        let pipeline = scope.identities(field, identities);
        let rows = self.target_of(scope).pipeline(pipeline);
        let rows: Vec<Document> = (rows.hint(UNIQUE_INDEX).read_primary())
            .rows(session)
            .await?;
        let identities = rows
            .into_iter()
            .filter_map(|mut row| match row.remove("identities") {
                Some(Bson::Array(identities)) => Some(identities),
                _ => None,
            });
        Ok(identities.flatten().collect())
    }

    /// The open buckets of these keys, each with the values of its key fields (and of the window).
    pub async fn open_buckets(
        &self,
        scopes: &[&IndexedScope],
    ) -> Result<Vec<(Vec<Bson>, OpenBucket)>> {
        let Some((spec, open_index)) = scopes.first().map(|scope| (scope.spec, scope.open)) else {
            return Ok(Vec::new());
        };
        let names = Vec::from_iter(spec.key_names().chain(spec.window_name()));
        let mut projection = each_one(names.iter().copied());
        projection.extend(filling(spec));
        let all = IndexedScope::open_buckets_anywhere(scopes);
        let open = self
            .target()
            .find(all, Range::unordered().project(projection));
        let open = open.hint(open_index.name).read_primary();
        let buckets: Vec<Document> = open.rows(None).await?;
        let opened = |bucket: Document| {
            let key = names.iter().map(|name| value(&bucket, name)).collect();
            (key, open_bucket(&bucket, spec))
        };
        Ok(buckets.into_iter().map(opened).collect())
    }
}

/// A projection of the fields that say how full a bucket is.
fn filling(spec: &BucketSpec) -> Document {
    let items = doc! { "$ifNull": [format!("${}", spec.items), []] };
    doc! { spec.count: 1, OVERSIZE: 1, spec.items: { "$eq": [items, []] } }
}

/// A projection of the fields that say how much room a last bucket has.
pub(in crate::server) fn filling_of_last(spec: &BucketSpec) -> Document {
    let mut fields = each_one(spec.key_names().chain(spec.window_name()));
    fields.extend(filling(spec));
    fields.insert(SEALED, 1);
    fields
}

fn open_bucket(bucket: &Document, spec: &BucketSpec) -> OpenBucket {
    let count = bucket.get(spec.count).and_then(whole).unwrap_or(0);
    OpenBucket {
        id: value(bucket, "_id"),
        count: usize::try_from(count).unwrap_or(0),
        is_empty: is_empty(bucket, spec),
        oversize: oversize(bucket),
    }
}

fn value(document: &Document, name: &str) -> Bson {
    document.get(name).cloned().unwrap_or(Bson::Null)
}

/// The state that the last bucket of this key shows; the one of no bucket if its id is not text. It
/// is not open if a key field has another value or an older name, since no statement for the key
/// finds it.
pub(in crate::server) fn last_bucket(bucket: &Document, scope: &IndexedScope) -> NewestBucket {
    let Ok(id) = bucket.get_str("_id") else {
        return NewestBucket::Closed { last: None };
    };
    let is_same = |(name, value): (&str, Bson)| {
        (bucket.get(name)).is_some_and(|stored| comparable(stored) == comparable(&value))
    };
    let count = bucket.get(scope.spec.count).and_then(whole);
    let unsealed = count.filter(|_| !bucket.contains_key(SEALED) && scope.fields().all(is_same));
    let room = unsealed.and_then(|count| (i64::from(scope.open.capacity) - count).try_into().ok());
    let id = id.to_owned();
    match room.filter(|room| *room > 0) {
        Some(room) => NewestBucket::Open {
            id,
            room: if is_empty(bucket, scope.spec) {
                0
            } else {
                room
            },
            oversize: oversize(bucket),
        },
        None => NewestBucket::Closed { last: Some(id) },
    }
}

fn is_empty(bucket: &Document, spec: &BucketSpec) -> bool {
    bucket.get_bool(spec.items).unwrap_or(false)
}

fn oversize(bucket: &Document) -> i64 {
    bucket.get(OVERSIZE).and_then(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::open_index::OpenIndex;

    #[test]
    fn a_last_bucket_may_be_open() {
        let scope = KeyScope::numbered().by(OpenIndex::first(4));
        let last = |bucket: Document| last_bucket(&bucket, &scope);
        let stored = |count: i32| doc! { "_id": "a_0", "k": "a", "count": count, OVERSIZE: 7_i64 };
        let closed = |last: Option<&str>| NewestBucket::Closed {
            last: last.map(str::to_owned),
        };
        let open = NewestBucket::Open {
            id: "a_0".to_owned(),
            room: 1,
            oversize: 7,
        };
        assert_eq!(last(stored(4)), closed(Some("a_0")));
        assert_eq!(last(stored(3)), open);
        assert_eq!(last(Document::new()), closed(None));
    }
}
