//! How full buckets and parents are, and the last id of a key, for writes.

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
    error::Error as DriverError,
    options::{Hint, ReadConcern},
};

use super::{Server, cursor::DocumentCursor, primary, read_in_session};
use crate::{
    protocol::{
        command::{IndexedScope, KeyScope, each_one},
        newest_bucket::{LastBucket, OpenBucket},
    },
    schema::{
        names::{OVERSIZE, SEALED},
        spec::BucketSpec,
    },
    value::element::{comparable, whole},
};

impl Server {
    /// Reads these fields of the last matching document, for a write that is about to take the next id:
    /// the primary's latest state, whatever the handle prefers: an older state would only give an
    /// id that is taken.
    async fn last(
        &self,
        filter: Document,
        fields: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let action = || {
            (self.collection.find_one(filter.clone()))
                .projection(fields.clone())
                .sort(doc! { "_id": -1 })
                .selection_criteria(primary())
        };
        match session {
            Some(session) => self.ask(action().session(session)).await,
            // A transaction has its own read concern; elsewhere this one reads the latest state.
            None => {
                let latest = || action().read_concern(ReadConcern::local());
                self.read(latest).await
            }
        }
    }

    /// The greatest of these ids of a key; see [`last`](Self::last).
    pub(crate) async fn last_id(
        &self,
        scope: &KeyScope,
        ids: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<String>, DriverError> {
        let filter = self.by_ids(scope, ids);
        let found = self.last(filter, doc! { "_id": 1 }, session).await?;
        Ok(found.and_then(|document| document.get_str("_id").ok().map(str::to_owned)))
    }

    /// The key's open bucket, if there is one, as the primary has it.
    pub(crate) async fn open_bucket(
        &self,
        scope: &IndexedScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<OpenBucket>, DriverError> {
        let action = || {
            (self.collection.find_one(scope.open_bucket_anywhere()))
                .hint(Hint::Name(scope.open.name.to_owned()))
                .projection(filling(scope.spec))
                .selection_criteria(primary())
        };
        let found = read_in_session!(self, action, session)?;
        Ok(found.map(|mut bucket| {
            let count = bucket.get(scope.spec.count).and_then(whole).unwrap_or(0);
            OpenBucket {
                count: usize::try_from(count).unwrap_or(0),
                oversize: oversize(&bucket),
                id: bucket.remove("_id").unwrap_or(Bson::Null),
            }
        }))
    }

    /// A key's last bucket; see [`last`](Self::last).
    pub(crate) async fn last_bucket(
        &self,
        scope: &IndexedScope,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<LastBucket>, DriverError> {
        let all = self.by_ids(scope, scope.ids());
        let found = self.last(all, filling_of_last(scope.spec), session).await?;
        Ok(found.and_then(|bucket| last_bucket(&bucket, scope)))
    }

    /// The open buckets of these keys, each with the values of its key fields (and of the window).
    pub(crate) async fn open_buckets(
        &self,
        scopes: &[&IndexedScope],
    ) -> Result<Vec<(Vec<Bson>, OpenBucket)>, DriverError> {
        let Some((spec, open)) = scopes.first().map(|scope| (scope.spec, scope.open)) else {
            return Ok(Vec::new());
        };
        let names = Vec::from_iter(spec.key_names().chain(spec.window_name()));
        let mut projection = each_one(names.iter().copied());
        projection.extend(filling(spec));
        let action = || {
            (self
                .collection
                .find(IndexedScope::open_buckets_anywhere(scopes)))
            .hint(Hint::Name(open.name.to_owned()))
            .projection(projection.clone())
            .selection_criteria(primary())
        };
        let buckets = DocumentCursor::from(self.read(action).await?)
            .rest()
            .await?;
        let opened = |bucket: Document| {
            let value = |name| bucket.get(name).cloned().unwrap_or(Bson::Null);
            let count = bucket.get(spec.count).and_then(whole).unwrap_or(0);
            let key = names.iter().map(value).collect();
            let open = OpenBucket {
                id: value(&"_id"),
                count: usize::try_from(count).unwrap_or(0),
                oversize: oversize(&bucket),
            };
            (key, open)
        };
        Ok(buckets.into_iter().map(opened).collect())
    }
}

/// A projection of the fields that say how full a bucket is.
fn filling(spec: &BucketSpec) -> Document {
    doc! { spec.count: 1, OVERSIZE: 1 }
}

/// A projection of the fields that say how much room a last bucket has.
pub(super) fn filling_of_last(spec: &BucketSpec) -> Document {
    let mut fields = each_one(spec.key_names().chain(spec.window_name()));
    fields.extend(filling(spec));
    fields.insert(SEALED, 1);
    fields
}

/// A last bucket of this key; `None` if its id is not text. It has no room if a key field has another
/// value or an older name, since no statement for the key finds it.
pub(super) fn last_bucket(bucket: &Document, scope: &IndexedScope) -> Option<LastBucket> {
    let is_same = |(name, value): (&str, Bson)| {
        (bucket.get(name)).is_some_and(|stored| comparable(stored) == comparable(&value))
    };
    let count = bucket.get(scope.spec.count).and_then(whole);
    let room = match (count, bucket.get(SEALED)) {
        (Some(count), None) if scope.fields().all(is_same) => {
            usize::try_from(i64::from(scope.open.capacity) - count).unwrap_or(0)
        }
        _ => 0,
    };
    Some(LastBucket {
        id: bucket.get_str("_id").ok()?.to_owned(),
        room,
        oversize: oversize(bucket),
    })
}

fn oversize(bucket: &Document) -> i64 {
    bucket.get(OVERSIZE).and_then(whole).unwrap_or(0)
}
