//! The large documents, and the chart of the largest one's growth.

use bucket_runtime::bson::DateTime;

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::figures::{counted, span};
use crate::measure::growth::{DOCUMENT, Growth};
use crate::picture::GrowthPicture;

/// A day in milliseconds.
const DAY: f64 = 86_400_000.0;

/// The large documents; and a chart, if the age of one is known.
pub(super) fn draw(picture: &GrowthPicture) -> Section {
    let table = Table {
        caption: "The largest documents".to_owned(),
        head: picture.head(),
        rows: picture.rows().into_iter().map(Row::of).collect(),
    };
    let have = if picture.large == 1 { "has" } else { "have" };
    let large = counted(picture.large, "document");
    let note = format!("{large} {have} 1 MiB or more; {}.", picture.age());
    let mut section = picture.known().map_or_else(Section::default, chart_of);
    section.title = "Documents on their way to 16 MiB".to_owned();
    section.note = format!("{note} {}", section.note).trim_end().to_owned();
    section.tables.insert(0, table);
    section
}

/// The size from the first day to the present one, and on to the limit.
fn chart_of(growth: &Growth) -> Section {
    let age = growth.age_millis() as f64 / DAY;
    let end = age + growth.left_millis() as f64 / DAY;
    let (now, limit) = (mebibytes(growth.bytes), mebibytes(DOCUMENT));
    let x = Scale::linear(0.0..=end * 1.02);
    let mut panel = Panel::new(x, Scale::linear(0.0..=limit * 1.15), 0.0, 200.0);
    panel.y_axis("size", |value| format!("{value} MiB"));
    let ticks = x.ticks().into_iter().map(|tick| (tick, short(tick)));
    panel.x_axis("days", ticks);
    panel.across(limit, "16 MiB", -6.0);
    panel.line([(0.0, 0.0), (age, now)], "line");
    panel.line([(age, now), (end, limit)], "line later");
    panel.dot(age, now, "dot");
    let (begin, today) = (day(growth.begin), day(growth.now));
    let last = day(growth.now.saturating_add(growth.left_millis()));
    let what = format!(
        "The largest one has grown for {}; at that pace it reaches 16 MiB on {last}.",
        span(growth.age_millis())
    );
    Section {
        chart: chart("growth", "The largest document", &what, &[panel], ""),
        note: what,
        tables: vec![Table {
            caption: "The size of the largest document".to_owned(),
            head: vec!["day", "MiB"],
            rows: vec![row(begin, 0.0), row(today, now), row(last, limit)],
        }],
        ..Section::default()
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn row(day: String, size: f64) -> Row {
    Row::of([day, format!("{size:.1}")])
}

/// The date of a moment in UTC, such as 2026-01-31.
fn day(millis: i64) -> String {
    let text = DateTime::from_millis(millis).try_to_rfc3339_string();
    let text = text.unwrap_or_else(|_| "a day far from now".to_owned());
    text.split('T').next().unwrap_or_default().to_owned()
}
