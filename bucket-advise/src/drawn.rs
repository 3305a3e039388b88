//! A page of a struct's collections as they are, for `stats --html`.

use std::path::Path;

use bucket_runtime::bson::{Document, doc};
use bucket_runtime::mongodb::Database;
use bucket_runtime::{BucketSpec, OutlierSpec};

use super::annotated;
use super::measure::array_length;
use super::measure::fill::Fill;
use super::measure::heat::{self, HeatFields, HeatKeys};
use super::measure::keys::ItemsPerKey;
use super::measure::lengths::{Lengths, group_by_length, project_length};
use super::picture::{HeatPicture, KeysPicture, LengthsPicture, Picture};
use super::refusal::Refusal;
use super::{file, page};
use crate::__private::Failure;
use crate::rows;

/// The charts of a page.
#[derive(Debug)]
pub struct Charts(Vec<Picture>);

/// Whether there can be a page of this name; to be asked before a long reading.
pub fn check(path: &Path) -> Result<(), Failure> {
    file::check(path).map_err(Refusal::into_failure)
}

/// Writes the page with these lines of text and these charts.
pub fn write(
    path: &Path,
    name: &str,
    namespace: &str,
    lines: &[String],
    charts: &Charts,
) -> Result<(), Failure> {
    let page = page::write_stats(name, namespace, lines, &charts.0);
    file::write(path, &page).map_err(Refusal::into_failure)
}

/// How full the buckets are, the items of each key, and when the largest keys got theirs.
pub async fn of_buckets(
    db: &Database,
    spec: &BucketSpec,
    names: Vec<String>,
) -> Result<Charts, Failure> {
    let buckets = db.collection::<Document>(spec.collection);
    let capacity = u64::from(spec.capacity);
    let fill = rows(&buckets, Fill::stages(spec.items, spec.count)).await?;
    let keys = rows(&buckets, annotated::key_stages(spec)).await?;
    let keys = ItemsPerKey::of_rows(&keys);
    let mut pictures = vec![
        Picture::Fill(Fill::of_rows(&fill, Some(capacity))),
        Picture::Keys(KeysPicture {
            keys,
            is_exact: true,
            // In windows, a key's items say nothing of its buckets.
            capacity: (!annotated::is_window(spec)).then_some(capacity),
            names,
        }),
    ];
    let key = spec.key.iter().map(|key| key.name.to_owned()).collect();
    if let Some(time) = spec.time {
        let fields = HeatFields::of_buckets(key, spec.items, spec.count, time);
        if let Some(keys) = HeatKeys::of_rows(&rows(&buckets, fields.key_stages()).await?) {
            let windows = rows(&buckets, fields.window_stages(&keys)).await?;
            pictures.push(Picture::Heat(HeatPicture {
                heat: keys.heat(&windows),
                is_exact: true,
                remark: heat::BY_FIRST,
            }));
        }
    }
    Ok(Charts(pictures))
}

/// How many items the parents have with their extras, and how full the extras documents are.
pub async fn of_outliers(db: &Database, spec: &OutlierSpec) -> Result<Charts, Failure> {
    let parents = db.collection::<Document>(spec.collection);
    let mut lengths = rows(&parents, typical_stages(spec)).await?;
    lengths.extend(rows(&parents, outlier_stages(spec)).await?);
    let mut pictures = vec![Picture::Lengths(LengthsPicture {
        lengths: Lengths::of_rows(&lengths),
        threshold: Some(u64::from(spec.threshold)),
        // The page shows what is there, and `advise` what to change.
        is_recommended: false,
        remark: " Items in extras count, too.",
    })];
    let extras = db.collection::<Document>(spec.extras);
    let fill = rows(&extras, Fill::stages(spec.extra_items, "count")).await?;
    let fill = Fill::of_rows(&fill, Some(u64::from(spec.extras_capacity)));
    if fill.buckets > 0 {
        pictures.push(Picture::Fill(fill));
    }
    Ok(Charts(pictures))
}

/// Stages whose rows count the parents without extras by their number of items.
fn typical_stages(spec: &OutlierSpec) -> Vec<Document> {
    let mut stages = vec![doc! { "$match": { spec.flag: { "$ne": true } } }];
    stages.extend(Lengths::stages(spec.items));
    stages
}

/// Stages whose rows count the outliers by the number of all their items.
fn outlier_stages(spec: &OutlierSpec) -> Vec<Document> {
    let in_extras = doc! { "$group": {
        "_id": null, "length": { "$sum": array_length(spec.extra_items) },
        "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
    } };
    let total =
        |name: &str| doc! { "$add": [format!("${name}"), { "$sum": format!("$extras.{name}") }] };
    vec![
        doc! { "$match": { spec.flag: true } },
        project_length(spec.items),
        doc! { "$lookup": {
            "from": spec.extras, "localField": "_id", "foreignField": spec.reference,
            "pipeline": [in_extras], "as": "extras",
        } },
        doc! { "$project": {
            "length": total("length"), "bytes": total("bytes"),
        } },
        group_by_length(),
    ]
}
