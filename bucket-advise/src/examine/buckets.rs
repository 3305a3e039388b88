//! The figures of buckets.

use bucket_runtime::bson::Document;
use bucket_runtime::mongodb::IndexModel;
use futures_util::future::try_join3;

use super::{Reading, counted_or_sampled, draw_heat};
use crate::kind::buckets::settings::OwnSettings;
use crate::kind::buckets::{BucketLayout, IdLayout, IdOrdinal};
use crate::measure::fill::{Fill, busiest_minute, capacity, out_of_order, several_open};
use crate::measure::heat::{self, HeatFields};
use crate::measure::whole;
use crate::plan::Verdict;
use crate::refusal::Refusal;
use crate::scan::Scan;
use crate::source::Source;
use crate::verdict::buckets::{self, BucketsFacts};

/// Stages that count by the key, the array and the time of the items.
type ByTime = fn(&[String], &str, &str) -> Vec<Document>;

pub(super) async fn judge<'s>(
    source: &'s Source,
    scan: &'s Scan,
    layout: &'s BucketLayout,
    indexes: &[IndexModel],
    reading: &Reading,
) -> Result<Verdict<'s>, Refusal> {
    let (items, ids) = (&layout.items, layout.ids.as_ref());
    let key = ids.map_or_else(Vec::new, IdLayout::key_names);
    let times = layout.times();
    // The server sorts all buckets for these two counts, unless the reading could sort them.
    let sorted = times.as_ref().and_then(|times| scan.order_counts(times));
    let unsorted = times.as_ref().filter(|_| sorted.is_none());
    let by_time = |stages: ByTime| unsorted.map(|times| stages(&key, items, &times.time));
    // One after the other they would take longer than the reading.
    let (fill, out_of_order, busiest_minute) = try_join3(
        counted_or_sampled(source, Fill::stages(items, &layout.count), reading),
        number(source, by_time(out_of_order), "buckets"),
        number(source, by_time(busiest_minute), "buckets"),
    )
    .await?;
    let (rows, is_exact) = fill;
    let capacity = capacity(indexes);
    let fill = Fill::of_rows(&rows, capacity);
    let open = ids.map(|ids| {
        let is_window = matches!(ids.ordinal, IdOrdinal::Window(..));
        several_open(&key, is_window, items, fill.capacity)
    });
    let fields = times.map(|times| HeatFields::of_buckets(key, items, &layout.count, &times.time));
    let facts = BucketsFacts {
        collection: source.name(),
        shape: &scan.shape,
        layout,
        settings: OwnSettings::of(indexes, &scan.shape, layout),
        has_index: capacity.is_some(),
        is_exact,
        is_all: reading.is_all,
        several_open: number(source, open, "keys").await?,
        out_of_order: sorted.map_or(out_of_order, |counts| Some(counts.out_of_order)),
        busiest_minute: sorted.map_or(busiest_minute, |counts| Some(counts.busiest_minute)),
        heat: draw_heat(source, fields, heat::BY_FIRST, reading).await?,
        fill,
    };
    Ok(buckets::judge(&facts))
}

/// The number in the only row of a count, or zero without a row; `None` if it is not to be counted,
/// or takes the server too long.
async fn number(
    source: &Source,
    stages: Option<Vec<Document>>,
    name: &str,
) -> Result<Option<u64>, Refusal> {
    let Some(stages) = stages else {
        return Ok(None);
    };
    let rows = source.count(stages).await?;
    Ok(rows.map(|rows| rows.first().map_or(0, |row| whole(row, name))))
}
