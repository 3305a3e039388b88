//! The figures behind the verdict on flat documents, as lines of text.

use super::FlatFacts;
use crate::figures::{bytes, counted, percent, span, table, thousands};
use crate::kind::flat::FlatLayout;
use crate::measure::capacity::Simulated;
use crate::measure::keys::ItemsPerKey;
use crate::measure::lateness::Lateness;

/// The counts; and the capacities side by side, if they were simulated.
pub(super) fn figures(
    facts: &FlatFacts<'_>,
    simulated: Option<&[Simulated]>,
    capacity: u64,
) -> Vec<String> {
    let mut figures = keys_figures(facts);
    figures.extend(lateness_figures(&facts.lateness, facts.layout));
    if let Some(simulated) = simulated {
        let items = thousands(facts.keys.items());
        figures.push(format!("as flat documents: {items}"));
        figures.extend(capacity_table(simulated, capacity, &facts.keys, "keys"));
        if facts.page.is_none() {
            let hint = "  (`--page` says how long your pages are: a page that is one bucket is read by its number)";
            figures.push(hint.to_owned());
        }
    }
    figures.extend(busy_figure(facts, capacity));
    figures
}

pub(super) fn keys_figures(facts: &FlatFacts<'_>) -> Vec<String> {
    let keys = &facts.keys;
    let n = thousands(keys.keys());
    let counted = match (facts.is_exact, facts.has_read_all) {
        (true, _) => format!("items per key ({n} keys, all of them counted)"),
        (false, true) => format!(
            "items per key ({n} keys, those that came first; the server refused to count the others)"
        ),
        (false, false) => format!(
            "items per key in the sample ({n} keys; the whole collection has more items per key, and keys that the \
             sample misses: `--all` counts them)"
        ),
    };
    let quantiles = keys.quantiles();
    let quantiles = quantiles
        .iter()
        .map(|(percent, items)| format!("{percent} % ≤ {}", thousands(*items)));
    let largest = keys.largest().into_iter().enumerate();
    let largest = largest.map(|(at, items)| match facts.names.get(at) {
        Some(name) => format!("{name} {}", thousands(items)),
        None => thousands(items),
    });
    let largest: Vec<_> = largest.collect();
    vec![
        counted,
        format!("  {}", quantiles.collect::<Vec<_>>().join(", ")),
        format!("  the largest: {}", largest.join("; ")),
    ]
}

pub(super) fn lateness_figures(lateness: &Lateness, layout: &FlatLayout) -> Vec<String> {
    if layout.time.is_none() || lateness.items == 0 {
        return Vec::new();
    }
    let late = match lateness.late {
        0 => "all in the order of their time".to_owned(),
        late => format!(
            "{} come late, by up to {}",
            percent(late, lateness.items),
            span(lateness.latest_millis)
        ),
    };
    vec![format!(
        "order of the first {} items as stored: {late}",
        thousands(lateness.items)
    )]
}

/// The capacities side by side, one of which is recommended, for these keys, or windows of keys.
pub(crate) fn capacity_table(
    simulated: &[Simulated],
    capacity: u64,
    keys: &ItemsPerKey,
    owners: &str,
) -> Vec<String> {
    let single = format!("{owners} in one bucket");
    let head = [
        "capacity",
        "buckets",
        "bytes",
        "full bucket",
        "filled",
        &single,
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(simulated.iter().map(|of| {
        vec![
            thousands(of.capacity),
            thousands(of.documents),
            bytes(of.bytes),
            bytes(of.full_bytes),
            format!("{} %", of.fill),
            percent(of.single, keys.keys()),
        ]
    }));
    let mut lines = table(&rows);
    for (line, of) in lines.iter_mut().skip(1).zip(simulated) {
        if of.capacity == capacity {
            *line += "  ← recommended";
        }
    }
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

fn busy_figure(facts: &FlatFacts<'_>, capacity: u64) -> Option<String> {
    let busiest = facts.lateness.busiest_minute;
    (busiest > 0).then(|| {
        let buckets = busiest.div_ceil(capacity);
        let advice = busy_advice(busiest, capacity);
        let (items, buckets) = (counted(busiest, "item"), counted(buckets, "bucket"));
        format!("the busiest minute of a key fills {buckets} with {items}{advice}")
    })
}

/// The most items of a key in a minute with which any capacity does: ten a second.
const BUSY: u64 = 600;

/// Advice for a key that takes this many items in a minute: each opening passes the index entries
/// of the buckets that became full within the last five minutes.
pub(crate) fn busy_advice(items: u64, capacity: u64) -> &'static str {
    match items > BUSY && capacity < 50 {
        true => {
            ": a key that takes more than ten items a second for minutes wants a capacity of 50 or more"
        }
        false => "",
    }
}

#[test]
fn a_busy_key_wants_a_larger_capacity() {
    assert!(busy_advice(601, 49).ends_with("a capacity of 50 or more"));
    assert_eq!([busy_advice(600, 10), busy_advice(100_000, 50)], ["", ""]);
}
