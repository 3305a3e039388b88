//! `stats` shows how many buckets and parents there are, how full, and which
//! are the largest.

use std::path::{Path, PathBuf};

use bucket_advise::__private::drawn::{self, Charts};
use bucket_advise::__private::{Failure, array_length, counted, rows, thousands, whole};
use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::mongodb::{Collection, Database};
use bucket_runtime::{Bucket, BucketSpec, Outlier, OutlierSpec};
use clap::Args;
use serde_json::{Value, json};

use super::{Outcome, Site, Verb};
use crate::arguments::Structs;
use crate::report::Report;

/// How many of the largest keys or parents are shown.
const LARGEST: i32 = 5;

/// Show how many buckets or parents there are, how full, and which are the largest
#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(super) structs: Structs,
    /// Write a page, too, with pictures of one struct's collection: one file that loads nothing
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Let the page show the values of the largest keys
    #[arg(long, requires = "html")]
    values: bool,
}

impl Verb for Stats {
    fn check(&self, structs: usize) -> Result<(), Failure> {
        match &self.html {
            Some(_) if structs > 1 => Err("a page shows one struct; name it".into()),
            Some(path) => drawn::check(path),
            None => Ok(()),
        }
    }

    async fn on_buckets<T: Bucket>(&self, site: &Site<'_>) -> Outcome {
        let spec = const { &T::SPEC };
        let figures = of_buckets(site.db, spec).await?;
        if self.html.is_none() {
            return Ok(figures.report());
        }
        let names = if self.values {
            figures.keys.clone()
        } else {
            Vec::new()
        };
        let charts = drawn::of_buckets(site.db, spec, names).await?;
        self.drawn(site, spec.collection, figures, &charts)
    }

    async fn on_outliers<T: Outlier>(&self, site: &Site<'_>) -> Outcome {
        let spec = const { &T::SPEC };
        let figures = of_outliers(site.db, spec).await?;
        if self.html.is_none() {
            return Ok(figures.report());
        }
        let charts = drawn::of_outliers(site.db, spec).await?;
        self.drawn(site, spec.collection, figures, &charts)
    }
}

impl Stats {
    /// Writes the page, and reports the same figures.
    fn drawn(
        &self,
        site: &Site<'_>,
        collection: &str,
        figures: Figures,
        charts: &Charts,
    ) -> Outcome {
        let namespace = format!("{}.{collection}", site.db.name());
        let mut lines = figures.lines.clone();
        if self.values {
            lines.extend(figures.largest.clone());
        }
        let path = self.html.as_deref().unwrap_or(Path::new(""));
        drawn::write(path, site.name, &namespace, &lines, charts)?;
        let mut report = figures.report();
        report
            .lines
            .push(format!("the page is in {}", path.display()));
        Ok(report)
    }
}

/// The facts about a collection.
#[derive(Debug)]
struct Figures {
    lines: Vec<String>,
    /// The lines about the largest keys or parents, with their values.
    largest: Vec<String>,
    /// The largest keys.
    keys: Vec<String>,
    value: Value,
}

impl Figures {
    fn report(self) -> Report {
        Report::of_lines([self.lines, self.largest].concat(), self.value)
    }
}

/// The buckets of a struct. The server reads all of them, and sends a summary.
async fn of_buckets(db: &Database, spec: &BucketSpec) -> Result<Figures, Failure> {
    let collection = db.collection::<Document>(spec.collection);
    let all = summary(&collection, group_buckets(spec)).await?;
    let largest = largest(&collection, group_by_key(spec)).await?;
    let number = |name| whole(&all, name);
    let (buckets, items) = (number("buckets"), number("items"));
    let room = buckets * u64::from(spec.capacity);
    let fill = percent(items, room);
    let shown = |name| thousands(number(name));
    let average = thousands(number("bytes") / buckets.max(1));
    let lines = vec![
        format!(
            "{} with {}: {fill} % full (capacity {})",
            counted(buckets, "bucket"),
            counted(items, "item"),
            spec.capacity
        ),
        format!("{} open, {} sealed", shown("open"), shown("sealed")),
        format!(
            "{} bytes, {average} on average, {} the largest",
            shown("bytes"),
            shown("largest")
        ),
    ];
    let (mut largest_lines, mut keys) = (Vec::new(), Vec::new());
    for row in &largest {
        let (key, items, buckets) = (key(row), whole(row, "items"), whole(row, "buckets"));
        let (held, holders) = (counted(items, "item"), counted(buckets, "bucket"));
        largest_lines.push(format!("{key}: {held} in {holders}"));
        keys.push(json!({ "key": key, "items": items, "buckets": buckets }));
    }
    let value = json!({
        "buckets": buckets, "items": items, "capacity": spec.capacity, "open": number("open"),
        "sealed": number("sealed"), "bytes": number("bytes"), "largest_bytes": number("largest"),
        "largest_keys": keys,
    });
    Ok(Figures {
        lines,
        largest: largest_lines,
        keys: largest.iter().map(key).collect(),
        value,
    })
}

/// A group of all buckets: how many there are, open and sealed ones among them, and their items and
/// bytes.
fn group_buckets(spec: &BucketSpec) -> Document {
    let items = format!("${}", spec.count);
    let has_room = doc! { "$lt": [&items, spec.capacity] };
    let is_sealed = doc! { "$ne": [{ "$type": "$sealed" }, "missing"] };
    let is_open = doc! { "$and": [has_room, { "$not": [is_sealed.clone()] }] };
    let one_if = |condition: Document| doc! { "$sum": { "$cond": [condition, 1, 0] } };
    doc! {
        "_id": null,
        "buckets": { "$sum": 1 },
        "items": { "$sum": &items },
        "open": one_if(is_open),
        "sealed": one_if(is_sealed),
        "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
        "largest": { "$max": { "$bsonSize": "$$ROOT" } },
    }
}

/// A group of the buckets of each key.
fn group_by_key(spec: &BucketSpec) -> Document {
    let field = |name: &str| (name.to_owned(), Bson::String(format!("${name}")));
    let fields: Document = spec.key.iter().map(|key| field(key.name)).collect();
    let items = format!("${}", spec.count);
    doc! { "_id": fields, "buckets": { "$sum": 1 }, "items": { "$sum": items } }
}

/// The parents of an outlier, and their extras.
async fn of_outliers(db: &Database, spec: &OutlierSpec) -> Result<Figures, Failure> {
    let parents = db.collection::<Document>(spec.collection);
    let flag = format!("${}", spec.flag);
    let all = doc! {
        "_id": null,
        "parents": { "$sum": 1 },
        "items": { "$sum": array_length(spec.items) },
        "outliers": { "$sum": { "$cond": [{ "$eq": [flag, true] }, 1, 0] } },
    };
    let all = summary(&parents, all).await?;
    let extras = db.collection::<Document>(spec.extras);
    let in_extras = array_length(spec.extra_items);
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
    let lines = vec![
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
    let (mut largest_lines, mut parents) = (Vec::new(), Vec::new());
    for row in &largest {
        let (parent, items) = (key(row), whole(row, "items"));
        largest_lines.push(format!("{parent}: {} in extras", counted(items, "item")));
        parents.push(json!({ "parent": parent, "extra_items": items }));
    }
    let value = json!({
        "parents": total, "items": whole(&all, "items"), "outliers": outliers,
        "extra_items": whole(&pages, "items"), "extras": whole(&pages, "buckets"),
        "threshold": spec.threshold, "largest_parents": parents,
    });
    Ok(Figures {
        lines,
        largest: largest_lines,
        keys: Vec::new(),
        value,
    })
}

/// One group of all documents; empty if there are none.
async fn summary(collection: &Collection<Document>, group: Document) -> Result<Document, Failure> {
    let stages = vec![doc! { "$group": group }];
    let mut found = rows(collection, stages).await?;
    Ok(found.pop().unwrap_or_default())
}

/// The groups with the most items.
async fn largest(
    collection: &Collection<Document>,
    by_key: Document,
) -> Result<Vec<Document>, Failure> {
    let stages = vec![
        doc! { "$group": by_key },
        doc! { "$sort": { "items": -1, "_id": 1 } },
        doc! { "$limit": LARGEST },
    ];
    rows(collection, stages).await
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
