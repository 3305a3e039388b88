//! The chart of the largest document's growth.

use bucket_runtime::bson::DateTime;

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::advise::figures::span;
use crate::advise::measure::growth::{DOCUMENT, Growth};

/// A day in milliseconds.
const DAY: f64 = 86_400_000.0;

/// The size from the first day to the present one, and on to the limit.
pub(super) fn draw(growth: &Growth) -> Section {
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
        "The largest document has grown for {}; if it goes on so, it reaches 16 MiB on {last}.",
        span(growth.age_millis())
    );
    let title = "The largest document";
    Section {
        title: title.to_owned(),
        note: what.clone(),
        chart: chart("growth", title, &what, &[panel], ""),
        tables: vec![Table {
            caption: "The size of the largest document".to_owned(),
            head: vec!["day", "MiB"],
            rows: vec![row(begin, 0.0), row(today, now), row(last, limit)],
        }],
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
