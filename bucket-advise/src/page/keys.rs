//! The chart of the items of each key.

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::figures::{counted, percent, thousands};
use crate::picture::KeysPicture;

/// The number of points of a curve, about.
const POINTS: f64 = 200.0;

/// Keys by rank, both axes logarithmic: the largest is the first.
pub(super) fn draw(picture: &KeysPicture) -> Section {
    let keys = &picture.keys;
    let (count, most) = (keys.keys().max(2) as f64, keys.most().max(10) as f64);
    let mut panel = Panel::new(
        Scale::log(1.0..=count),
        Scale::log(1.0..=most * 1.1),
        0.0,
        220.0,
    );
    panel.y_axis("items", short);
    let ticks = Scale::log(1.0..=count).ticks().into_iter();
    panel.x_axis("rank of the key", ticks.map(|tick| (tick, short(tick))));
    panel.line(curve(keys.ranks(), count), "line");
    for (rank, items) in (1..).zip(keys.largest()) {
        panel.dot(f64::from(rank), items as f64, "dot");
    }
    if let Some(capacity) = picture.capacity.filter(|capacity| *capacity as f64 <= most) {
        let within = keys.keys_within(capacity);
        let text = format!(
            "capacity {}: {} fit",
            thousands(capacity),
            percent(within, keys.keys())
        );
        panel.across(capacity as f64, &text, 15.0);
    }
    let title = "Items per key";
    let what = format!(
        "The {} from the largest to the smallest; the largest has {}, half have at most {}.",
        counted(keys.keys(), "key"),
        counted(keys.most(), "item"),
        thousands(keys.median())
    );
    let sample = match picture.is_exact {
        true => "",
        false => " Not all keys and items were counted; the whole collection has more of both.",
    };
    let line = match picture.capacity {
        Some(_) => " The keys below the line fit in one bucket.",
        None => "",
    };
    Section {
        title: title.to_owned(),
        note: format!("{what}{sample}{line} Both axes are logarithmic."),
        chart: chart("keys", title, &what, &[panel], ""),
        tables: vec![table(picture)],
    }
}

/// Points at ranks, each pair of them visibly apart.
fn curve(groups: impl Iterator<Item = (u64, u64)>, count: f64) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let apart = count.ln().max(1.0) / POINTS;
    let mut groups = groups.peekable();
    let mut begin = 1;
    while let Some((items, keys)) = groups.next() {
        let end = begin + keys - 1;
        let last = points.last().map_or(0.0, |(rank, _)| *rank);
        let is_far = last == 0.0 || (end as f64 / last).ln() >= apart;
        if is_far || groups.peek().is_none() {
            points.extend([(begin as f64, items as f64), (end as f64, items as f64)]);
        }
        begin = end + 1;
    }
    points
}

fn table(picture: &KeysPicture) -> Table {
    let largest = picture.keys.largest();
    let mut rows: Vec<_> = (1..)
        .zip(&largest)
        .map(|(rank, items)| {
            let name = picture.names.get(rank - 1);
            let name = name.map(|name| format!(": {name}")).unwrap_or_default();
            Row::of([format!("rank {rank}{name}"), thousands(*items)])
        })
        .collect();
    let quantiles = picture.keys.quantiles().into_iter().rev();
    rows.extend(quantiles.map(|(share, items)| {
        Row::of([format!("{share} % of keys have at most"), thousands(items)])
    }));
    Table {
        caption: "The largest keys, and shares of all".to_owned(),
        head: vec!["key", "items"],
        rows,
    }
}
