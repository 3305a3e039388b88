//! The figures of flat documents.

use bucket_runtime::bson::{Bson, RawDocumentBuf, doc};

use super::{Reading, draw_heat};
use crate::kind::flat::FlatLayout;
use crate::measure::heat::HeatFields;
use crate::measure::keys::{self, ItemsPerKey};
use crate::measure::lateness::Lateness;
use crate::picture::HeatPicture;
use crate::plan::Verdict;
use crate::refusal::Refusal;
use crate::scan::{Scan, key_hash};
use crate::source::Source;
use crate::verdict::flat::{self, FlatFacts};

/// The number of items whose order as stored shows how late items come.
const IN_ORDER: i64 = 10_000;

pub(super) async fn judge<'s>(
    source: &'s Source,
    scan: &'s Scan,
    layout: &'s FlatLayout,
    reading: &Reading,
) -> Result<Verdict<'s>, Refusal> {
    let read = || ItemsPerKey::of(scan.items_per_key(&layout.key).map(|items| (items, 1)));
    // What was counted while reading need not be counted by the server again.
    let (keys, is_exact) = match scan.has_all_keys(&layout.key) {
        true => (read(), true),
        false => match source.count(ItemsPerKey::stages(&layout.key)).await? {
            Some(rows) => (ItemsPerKey::of_rows(&rows), true),
            None => (read(), false),
        },
    };
    let facts = FlatFacts {
        collection: source.name(),
        shape: &scan.shape,
        layout,
        keys,
        is_exact,
        has_read_all: scan.is_all,
        lateness: lateness(source, layout).await?,
        page: reading.page,
        names: largest_keys(source, layout, reading).await?,
        heat: flat_heat(source, layout, reading).await?,
    };
    Ok(flat::judge(&facts))
}

/// The values of the largest keys, if the report may show them.
async fn largest_keys(
    source: &Source,
    layout: &FlatLayout,
    reading: &Reading,
) -> Result<Vec<String>, Refusal> {
    if !reading.has_values {
        return Ok(Vec::new());
    }
    let rows = source
        .count(ItemsPerKey::largest_stages(&layout.key))
        .await?;
    Ok(rows.unwrap_or_default().iter().map(keys::name).collect())
}

/// Windows by keys, if there is a time, and a page to draw them on.
async fn flat_heat(
    source: &Source,
    layout: &FlatLayout,
    reading: &Reading,
) -> Result<Option<HeatPicture>, Refusal> {
    let fields = layout.time.as_ref().map(|time| HeatFields {
        key: layout.key.clone(),
        time: Bson::String(format!("${time}")),
        // A plain 1 would stand for a field of that name.
        items: doc! { "$literal": 1 }.into(),
    });
    draw_heat(source, fields, "", reading).await
}

/// How late items come, as the first documents show it.
async fn lateness(source: &Source, layout: &FlatLayout) -> Result<Lateness, Refusal> {
    let Some(time) = &layout.time else {
        return Ok(Lateness::default());
    };
    let fields: Vec<_> = layout
        .key
        .iter()
        .chain([time])
        .map(String::as_str)
        .collect();
    let first = source.first(&fields, IN_ORDER).await?;
    let item = |document: &RawDocumentBuf| {
        let date = document.get_datetime(time).ok()?;
        Some((key_hash(document, &layout.key), date.timestamp_millis()))
    };
    Ok(Lateness::of(first.iter().filter_map(item)))
}
