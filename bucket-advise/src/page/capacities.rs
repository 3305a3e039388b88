//! The chart of capacities, with its slider.

use super::html::escape;
use super::section::{Row, Section, Stop, Table};
use super::svg::{Panel, Scale, chart, cursor, short};
use crate::figures::{bytes, counted, percent, thousands};
use crate::measure::capacity::Simulated;
use crate::picture::CapacitiesPicture;

/// Documents, bytes and fill, one above the other, over the same capacities at equal distances.
pub(super) fn draw(picture: &CapacitiesPicture) -> Section {
    let simulated = &picture.simulated;
    let percent = |value| format!("{value:.0} %");
    let mut panels = [
        panel(simulated, 0, "documents", |of| of.documents, short),
        panel(
            simulated,
            1,
            "bytes",
            |of| of.bytes,
            |value| bytes(value as u64),
        ),
        panel(simulated, 2, "room in use", |of| of.fill, percent),
    ];
    panels[0].x_axis("", []);
    panels[1].x_axis("", []);
    panels[2].x_axis("capacity", ticks(simulated));
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
        counted(picture.items, "flat document"),
        counted(simulated.get(chosen).map_or(0, |of| of.documents), "bucket"),
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

/// A figure of each capacity, in one of the places from the top.
fn panel(
    simulated: &[Simulated],
    place: u32,
    title: &str,
    figure: fn(&Simulated) -> u64,
    text: fn(f64) -> String,
) -> Panel {
    let x = Scale::linear(0.0..=simulated.len().saturating_sub(1) as f64);
    let most = simulated.iter().map(figure).max().unwrap_or(0).max(1);
    let y = Scale::linear(0.0..=most as f64 * 1.05);
    let mut panel = Panel::new(x, y, f64::from(place) * 124.0, 82.0);
    panel.y_axis(title, text);
    let points = (0..).zip(simulated);
    let points = points.map(|(at, of)| (f64::from(at), figure(of) as f64));
    panel.line(points, "line");
    panel
}

/// The round capacities below the axis.
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

fn sentence(of: &Simulated, picture: &CapacitiesPicture) -> String {
    format!(
        "{}: {}, {}, {} % of the room in use, {} of the keys in one bucket",
        counted(of.capacity, "item"),
        counted(of.documents, "bucket"),
        bytes(of.bytes),
        of.fill,
        percent(of.single, picture.keys),
    )
}

fn slider(picture: &CapacitiesPicture, chosen: usize) -> String {
    let said = picture.simulated.get(chosen);
    let said = escape(&said.map_or_else(String::new, |of| sentence(of, picture)));
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
            sentence: sentence(of, picture),
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
