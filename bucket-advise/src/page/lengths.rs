//! The chart of the lengths of arrays, with thresholds.

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::figures::{bytes, counted, percent, thousands};
use crate::measure::threshold::{Candidate, candidates};
use crate::picture::LengthsPicture;

/// On a logarithmic axis, a bar of one document begins a little below it.
const LEAST: f64 = 0.6;

/// Lengths in doubling bars; each threshold is a line.
pub(super) fn draw(picture: &LengthsPicture) -> Section {
    let lengths = &picture.lengths;
    let bars = lengths.histogram();
    let candidates = candidates(lengths, picture.threshold);
    let is_log = has_giants(&bars);
    let mut panel = histogram(&bars, is_log);
    mark_thresholds(&mut panel, picture.threshold, &candidates, last(&bars));
    let title = "Lengths of the arrays";
    let what = format!(
        "{} with {}; the longest array has {}.",
        counted(lengths.documents(), "document"),
        counted(lengths.items(), "item"),
        thousands(lengths.longest())
    );
    let axes = if is_log {
        "Both axes are logarithmic"
    } else {
        "Each bar is twice as long as the one before"
    };
    Section {
        title: title.to_owned(),
        note: format!(
            "{what}{} {axes}; the upright lines are thresholds.",
            picture.remark
        ),
        chart: chart("lengths", title, &what, &[panel], ""),
        tables: vec![
            by_length(&bars, lengths.documents()),
            thresholds(picture, &candidates),
        ],
    }
}

/// Whether some bars are so low beside others that a linear axis would not show them.
fn has_giants(bars: &[(u64, u64)]) -> bool {
    let heights = bars.iter().map(|(_, documents)| *documents);
    let (least, most) = (heights.clone().min(), heights.max());
    most.unwrap_or(1) > least.unwrap_or(1) * 50
}

/// The length where the last bar ends.
fn last(bars: &[(u64, u64)]) -> u64 {
    bars.last().map_or(1, |(up_to, _)| *up_to).max(8)
}

/// The bars with their axes.
fn histogram(bars: &[(u64, u64)], is_log: bool) -> Panel {
    let most = bars.iter().map(|(_, documents)| *documents);
    let most = most.max().unwrap_or(1) as f64;
    let y = match is_log {
        true => Scale::log(LEAST..=most * 1.2),
        false => Scale::linear(0.0..=most * 1.08),
    };
    // The bar of a length of zero stands below the one of a length of one.
    let x = Scale::log(0.25..=last(bars) as f64);
    let mut panel = Panel::new(x, y, 0.0, 220.0);
    panel.y_axis("documents", short);
    let ticks = x.ticks().into_iter().filter(|tick| *tick >= 1.0);
    let ticks = ticks.map(|tick| (tick, short(tick)));
    panel.x_axis(
        "items in the array",
        std::iter::once((0.36, "0".to_owned())).chain(ticks),
    );
    let floor = if is_log { LEAST } else { 0.0 };
    for (up_to, documents) in bars {
        let end = (*up_to as f64).max(0.5);
        panel.bar((end / 2.0, end), (floor, *documents as f64), "bar");
    }
    panel
}

/// A line for each threshold up to the end of the axis, and a text beside the chosen one.
fn mark_thresholds(panel: &mut Panel, chosen: Option<u64>, candidates: &[Candidate], end: u64) {
    let others = candidates.iter().map(|other| other.threshold);
    let others = others.filter(|other| Some(*other) != chosen && *other <= end);
    for threshold in others {
        panel.upright(threshold as f64, "candidate", "");
    }
    if let Some(threshold) = chosen {
        let text = format!("threshold {}", thousands(threshold));
        panel.upright(threshold as f64, "recommended", &text);
    }
}

fn by_length(bars: &[(u64, u64)], all: u64) -> Table {
    let row = |(up_to, documents): &(u64, u64)| {
        let lengths = match *up_to {
            0..=2 => thousands(*up_to),
            up_to => format!("{} to {}", thousands(up_to / 2 + 1), thousands(up_to)),
        };
        Row::of([lengths, thousands(*documents), percent(*documents, all)])
    };
    Table {
        caption: "Documents by the length of their array".to_owned(),
        head: vec!["items", "documents", "of all"],
        rows: bars.iter().map(row).collect(),
    }
}

fn thresholds(picture: &LengthsPicture, candidates: &[Candidate]) -> Table {
    let rows = candidates.iter().map(|candidate| {
        let cells = [
            thousands(candidate.threshold),
            thousands(candidate.documents_above),
            bytes(candidate.bytes_above),
            percent(candidate.items_moved, picture.lengths.items()),
        ];
        Row {
            is_recommended: picture.is_recommended
                && picture.threshold == Some(candidate.threshold),
            ..Row::of(cells)
        }
    });
    Table {
        caption: "Each threshold, and what it would do".to_owned(),
        head: vec![
            "threshold",
            "documents above",
            "bytes in them",
            "items moved",
        ],
        rows: rows.collect(),
    }
}
