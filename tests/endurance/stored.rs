//! The stored documents, as the raw driver reads them.

use std::time::Duration;

use bucket_runtime::{
    BucketSpec, OutlierSpec,
    mongodb::{
        Collection, Database,
        bson::{Bson, Document, doc},
        error::Error,
        options::{ReadConcern, ReadPreference, SelectionCriteria},
    },
};
use futures_util::TryStreamExt;

/// A document of a bucket collection, or of an extras collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredBucket {
    pub(crate) id: String,
    pub(crate) key: i64,
    /// The start of its time window in milliseconds, if it has one.
    pub(crate) window: Option<i64>,
    pub(crate) count: i64,
    pub(crate) sealed: bool,
    pub(crate) items: Vec<StoredItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredItem {
    pub(crate) n: i64,
    /// In milliseconds; 0 for items without a time.
    pub(crate) at: i64,
}

/// A document of the outlier pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredParent {
    pub(crate) id: i64,
    pub(crate) items: Vec<i64>,
    pub(crate) flagged: bool,
}

impl StoredBucket {
    pub(crate) fn of(bucket: &Document, spec: &BucketSpec) -> Self {
        let array = bucket.get_array(spec.items).unwrap();
        let window = bucket.get_datetime(spec.window).ok();
        Self {
            id: bucket.get_str("_id").unwrap().to_owned(),
            key: number(bucket.get(spec.key[0].name)),
            window: window.map(|at| at.timestamp_millis()),
            count: number(bucket.get(spec.count)),
            sealed: bucket.contains_key("sealed"),
            items: array.iter().map(StoredItem::of).collect(),
        }
    }

    pub(crate) fn of_extras(page: &Document, spec: &OutlierSpec) -> Self {
        let array = page.get_array(spec.extra_items).unwrap();
        Self {
            id: page.get_str("_id").unwrap().to_owned(),
            key: number(page.get(spec.reference)),
            window: None,
            count: number(page.get("count")),
            sealed: page.contains_key("sealed"),
            items: array.iter().map(StoredItem::of).collect(),
        }
    }
}

impl StoredItem {
    fn of(item: &Bson) -> Self {
        let Some(item) = item.as_document() else {
            let n = number(Some(item));
            return Self { n, at: 0 };
        };
        let at = item.get_datetime("at").ok();
        Self {
            n: number(item.get("n")),
            at: at.map_or(0, |at| at.timestamp_millis()),
        }
    }
}

impl StoredParent {
    pub(crate) fn of(parent: &Document, spec: &OutlierSpec) -> Self {
        let array = parent.get_array(spec.items).unwrap();
        Self {
            id: number(parent.get("_id")),
            items: array.iter().map(|item| number(Some(item))).collect(),
            flagged: parent.get(spec.flag) == Some(&Bson::Boolean(true)),
        }
    }
}

/// All documents of a collection in the order of their ids, once they no longer change: commands of
/// calls that gave up may still be on their way.
pub(crate) async fn at_rest(db: &Database, name: &str) -> Result<Vec<Document>, Error> {
    let mut before = documents(db.collection(name)).await?;
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = documents(db.collection(name)).await?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
}

/// Reads what a majority has, since only that is sure to stay.
async fn documents(collection: Collection<Document>) -> Result<Vec<Document>, Error> {
    let found = collection
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .read_concern(ReadConcern::majority())
        .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
        .await?;
    found.try_collect().await
}

pub(crate) fn number(value: Option<&Bson>) -> i64 {
    match value {
        Some(Bson::Int32(int)) => (*int).into(),
        Some(Bson::Int64(int)) => *int,
        other => panic!("{other:?} is not a whole number"),
    }
}
