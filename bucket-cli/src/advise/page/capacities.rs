//! The chart of capacities, with its slider.

use super::html::escape;
use super::section::{Row, Section, Stop, Table};
use super::svg::{Panel, Scale, chart, cursor, short};
use crate::advise::figures::{bytes, percent, several, thousands};
use crate::advise::measure::capacity::Simulated;
use crate::advise::picture::CapacitiesPicture;

/// Documents, bytes and fill, one above the other, over the same capacities at equal distances.
pub(super) fn draw(picture: &CapacitiesPicture) -> Section {
    let simulated = &picture.simulated;
    let most = |of: fn(&Simulated) -> u64| {
        let most = simulated.iter().map(of).max();
        most.unwrap_or(0).max(1) as f64 * 1.05
    };
    let x = Scale::linear(0.0..=simulated.len().saturating_sub(1) as f64);
    let mut panels = Vec::new();
    let figures: [(&str, fn(&Simulated) -> u64, f64, fn(f64) -> String); 3] = [
        (
            "documents",
            |of| of.documents,
            most(|of| of.documents),
            short,
        ),
        (
            "bytes",
            |of| of.bytes,
            most(|of| of.bytes),
            |value| bytes(value as u64),
        ),
        (
            "room in use",
            |of| of.fill,
            100.0,
            |value| format!("{value:.0} %"),
        ),
    ];
    for (n, (title, figure, most, text)) in figures.into_iter().enumerate() {
        let mut panel = Panel::new(x, Scale::linear(0.0..=most), n as f64 * 124.0, 82.0);
        panel.y_axis(title, text);
        let points = (0..).zip(simulated);
        panel.line(
            points.map(|(at, of)| (f64::from(at), figure(of) as f64)),
            "line",
        );
        let is_last = n == 2;
        let title = if is_last { "capacity" } else { "" };
        panel.x_axis(title, ticks(simulated).into_iter().filter(|_| is_last));
        panels.push(panel);
    }
    let chosen = simulated
        .iter()
        .position(|of| of.capacity == picture.recommended)
        .unwrap_or(0);
    let places: Vec<_> = (0..simulated.len())
        .map(|at| panels[0].x(at as f64))
        .collect();
    let title = "Which capacity";
    let what = format!(
        "{} become {} with a capacity of {}.",
        several(picture.items, "flat document"),
        several(simulated.get(chosen).map_or(0, |of| of.documents), "bucket"),
        thousands(picture.recommended)
    );
    let marks = cursor(&panels, places.get(chosen).copied().unwrap_or(0.0));
    Section {
        title: title.to_owned(),
        note: format!("{what} Move the slider to see others."),
        chart: chart("capacities", title, &what, &panels, &marks) + &slider(picture, chosen),
        tables: vec![table(picture, &places)],
    }
}

/// The capacities below the axis that begin with 1 or 5, none too close to the one before.
fn ticks(simulated: &[Simulated]) -> Vec<(f64, String)> {
    let is_round = |capacity: u64| {
        let text = capacity.to_string();
        (text.starts_with('1') || text.starts_with('5'))
            && text[1..].bytes().all(|digit| digit == b'0')
    };
    let all = (0..).zip(simulated);
    let round = all.filter(|(_, of)| is_round(of.capacity));
    round
        .map(|(at, of)| (f64::from(at), short(of.capacity as f64)))
        .collect()
}

fn sentence(of: &Simulated, keys: u64) -> String {
    format!(
        "{}: {}, {}, {} % of the room in use, {} of the keys in one bucket",
        several(of.capacity, "item"),
        several(of.documents, "bucket"),
        bytes(of.bytes),
        of.fill,
        percent(of.single, keys)
    )
}

fn slider(picture: &CapacitiesPicture, chosen: usize) -> String {
    let said = picture.simulated.get(chosen);
    let said = escape(&said.map_or_else(String::new, |of| sentence(of, picture.keys)));
    format!(
        "<input id=\"capacity\" type=\"range\" min=\"0\" max=\"{}\" value=\"{chosen}\" aria-label=\"capacity\" \
         aria-valuetext=\"{said}\">\n<output for=\"capacity\">{said}</output>\n",
        picture.simulated.len().saturating_sub(1)
    )
}

fn table(picture: &CapacitiesPicture, places: &[f64]) -> Table {
    let row = |(of, place): (&Simulated, &f64)| Row {
        cells: vec![
            thousands(of.capacity),
            thousands(of.documents),
            bytes(of.bytes),
            bytes(of.full_bytes),
            format!("{} %", of.fill),
            percent(of.single, picture.keys),
        ],
        is_recommended: of.capacity == picture.recommended,
        stop: Some(Stop {
            place: *place,
            sentence: sentence(of, picture.keys),
        }),
    };
    Table {
        caption: "Each capacity, simulated on the items of each key".to_owned(),
        head: vec![
            "capacity",
            "buckets",
            "bytes",
            "full bucket",
            "room in use",
            "keys in one bucket",
        ],
        rows: picture.simulated.iter().zip(places).map(row).collect(),
    }
}
