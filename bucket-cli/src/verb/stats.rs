//! `stats` shows how many buckets and parents there are, how full, and which
//! are the largest.

use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::mongodb::{Collection, Database};
use bucket_runtime::{Bucket, BucketSpec, Outlier, OutlierSpec};
use clap::Args;
use futures_util::TryStreamExt;
use serde_json::json;

use super::{Failure, Outcome, Site, Verb};
use crate::arguments::Structs;
use crate::report::{Report, counted};

/// How many of the largest keys or parents are shown.
const LARGEST: i32 = 5;

/// Show how many buckets or parents there are, how full, and which are the largest
#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(super) structs: Structs,
}

impl Verb for Stats {
    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        of_buckets(site.db, const { &T::SPEC }).await
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        of_outliers(site.db, const { &T::SPEC }).await
    }
}

/// The buckets of a struct. The server reads all of them, and sends a summary.
async fn of_buckets(db: &Database, spec: &BucketSpec) -> Outcome {
    let collection = db.collection::<Document>(spec.collection);
    let items = format!("${}", spec.count);
    let has_room = doc! { "$lt": [&items, spec.capacity] };
    let is_sealed = doc! { "$not": [{ "$in": [{ "$type": "$sealed" }, ["missing", "int"]] }] };
    let is_open = doc! { "$and": [has_room, { "$not": [is_sealed.clone()] }] };
    let one_if = |condition: Document| doc! { "$sum": { "$cond": [condition, 1, 0] } };
    let all = doc! {
        "_id": null,
        "buckets": { "$sum": 1 },
        "items": { "$sum": &items },
        "open": one_if(is_open),
        "sealed": one_if(is_sealed),
        "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
        "largest": { "$max": { "$bsonSize": "$$ROOT" } },
    };
    let fields = spec
        .key
        .iter()
        .map(|key| (key.name.to_owned(), Bson::String(format!("${}", key.name))));
    let by_key = doc! {
        "_id": fields.collect::<Document>(), "buckets": { "$sum": 1 }, "items": { "$sum": &items },
    };
    let all = summary(&collection, all).await?;
    let largest = largest(&collection, by_key).await?;
    let number = |name| whole(&all, name);
    let (buckets, items) = (number("buckets"), number("items"));
    let room = buckets * u64::from(spec.capacity);
    let fill = percent(items, room);
    let mut lines = vec![
        format!(
            "{} with {}: {fill} % full (capacity {})",
            counted(buckets, "bucket"),
            counted(items, "item"),
            spec.capacity
        ),
        format!("{} open, {} sealed", number("open"), number("sealed")),
        format!(
            "{} bytes, {} on average, {} the largest",
            number("bytes"),
            number("bytes") / buckets.max(1),
            number("largest")
        ),
    ];
    let mut keys = Vec::new();
    for row in &largest {
        let (key, items, buckets) = (key(row), whole(row, "items"), whole(row, "buckets"));
        let (held, holders) = (counted(items, "item"), counted(buckets, "bucket"));
        lines.push(format!("{key}: {held} in {holders}"));
        keys.push(json!({ "key": key, "items": items, "buckets": buckets }));
    }
    let value = json!({
        "buckets": buckets, "items": items, "capacity": spec.capacity, "open": number("open"),
        "sealed": number("sealed"), "bytes": number("bytes"), "largest_bytes": number("largest"),
        "largest_keys": keys,
    });
    Ok(Report::of_lines(lines, value))
}

/// The parents of an outlier, and their extras.
async fn of_outliers(db: &Database, spec: &OutlierSpec) -> Outcome {
    let parents = db.collection::<Document>(spec.collection);
    let length = |name: &str| {
        let array = format!("${name}");
        doc! { "$cond": [{ "$isArray": [&array] }, { "$size": &array }, 0] }
    };
    let flag = format!("${}", spec.flag);
    let all = doc! {
        "_id": null,
        "parents": { "$sum": 1 },
        "items": { "$sum": length(spec.items) },
        "outliers": { "$sum": { "$cond": [{ "$eq": [flag, true] }, 1, 0] } },
    };
    let all = summary(&parents, all).await?;
    let extras = db.collection::<Document>(spec.extras);
    let in_extras = length(spec.extra_items);
    let pages = doc! {
        "_id": null, "buckets": { "$sum": 1 }, "items": { "$sum": in_extras.clone() },
    };
    let by_parent = doc! {
        "_id": { "_id": format!("${}", spec.reference) },
        "buckets": { "$sum": 1 }, "items": { "$sum": in_extras },
    };
    let pages = summary(&extras, pages).await?;
    let largest = largest(&extras, by_parent).await?;
    let (outliers, total) = (whole(&all, "outliers"), whole(&all, "parents"));
    let mut lines = vec![
        format!(
            "{} with {} of their own (threshold {})",
            counted(total, "parent"),
            counted(whole(&all, "items"), "item"),
            spec.threshold
        ),
        format!(
            "{}, {} % of the parents",
            counted(outliers, "outlier"),
            percent(outliers, total)
        ),
        format!(
            "{} in {}",
            counted(whole(&pages, "items"), "item"),
            counted(whole(&pages, "buckets"), "extras document")
        ),
    ];
    let mut parents = Vec::new();
    for row in &largest {
        let (parent, items) = (key(row), whole(row, "items"));
        lines.push(format!("{parent}: {} in extras", counted(items, "item")));
        parents.push(json!({ "parent": parent, "extra_items": items }));
    }
    let value = json!({
        "parents": total, "items": whole(&all, "items"), "outliers": outliers,
        "extra_items": whole(&pages, "items"), "extras": whole(&pages, "buckets"),
        "threshold": spec.threshold, "largest_parents": parents,
    });
    Ok(Report::of_lines(lines, value))
}

/// One group of all documents; empty if there are none.
async fn summary(collection: &Collection<Document>, group: Document) -> Result<Document, Failure> {
    let stages = [no_ring(), doc! { "$group": group }];
    let mut found = collection.aggregate(stages).await?;
    Ok(found.try_next().await?.unwrap_or_default())
}

/// All documents but the rings of busy keys.
fn no_ring() -> Document {
    doc! { "$match": { "sealed": { "$not": { "$type": "array" } } } }
}

/// The groups with the most items.
async fn largest(
    collection: &Collection<Document>,
    by_key: Document,
) -> Result<Vec<Document>, Failure> {
    let stages = [
        no_ring(),
        doc! { "$group": by_key },
        doc! { "$sort": { "items": -1, "_id": 1 } },
        doc! { "$limit": LARGEST },
    ];
    let found = collection.aggregate(stages).allow_disk_use(true).await?;
    Ok(found.try_collect().await?)
}

/// The key of a group as text: its fields, separated by commas.
fn key(group: &Document) -> String {
    let field = |(name, value): (&String, &Bson)| match value {
        Bson::String(text) => format!("{name} {text:?}"),
        other => format!("{name} {other}"),
    };
    let fields = group.get_document("_id").into_iter().flatten();
    fields.map(field).collect::<Vec<_>>().join(", ")
}

fn percent(part: u64, whole: u64) -> u64 {
    (part * 100).checked_div(whole).unwrap_or(0)
}

fn whole(document: &Document, name: &str) -> u64 {
    let number = match document.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    u64::try_from(number).unwrap_or(0)
}
