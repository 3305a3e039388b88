//! The chart of the items of each key in each window of time.

use bucket_runtime::bson::DateTime;

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::figures::{counted, span, thousands};
use crate::measure::heat::Heat;
use crate::picture::HeatPicture;

/// The height of a key's row.
const ROW: f64 = 20.0;

/// The weakest cell that holds something.
const PALEST: f64 = 0.15;

/// The columns of the table, which are ranks of keys.
const RANKS: [&str; 11] = ["window", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

/// A row of cells for each key, the largest on top.
pub(super) fn draw(picture: &HeatPicture) -> Section {
    let heat = &picture.heat;
    let (keys, windows) = (heat.keys.len(), heat.windows());
    let mut panel = Panel::new(
        Scale::linear(0.0..=windows as f64),
        Scale::linear(0.0..=keys as f64),
        0.0,
        keys as f64 * ROW,
    );
    let row = |rank: usize| (keys - rank) as f64;
    panel.y_names(
        "rank of the key",
        (1..=keys).map(|rank| (row(rank) + 0.5, rank.to_string())),
    );
    panel.x_axis("begin of the window", ticks(heat));
    for (rank, items) in (1..).zip(&heat.keys) {
        let cells = items.iter().enumerate().filter(|(_, items)| **items > 0);
        for (window, items) in cells {
            let x = (window as f64, window as f64 + 1.0);
            let y = (row(rank), row(rank) + 1.0);
            let text = format!(
                "rank {rank}, {}: {}",
                moment(heat, window),
                thousands(*items)
            );
            panel.cell(x, y, strength(*items, heat.most()), &text);
        }
    }
    let title = "When the keys got their items";
    let what = format!(
        "The {} in {} of {}; the fullest cell has {}.",
        counted(keys as u64, "largest key"),
        counted(windows as u64, "window"),
        span(heat.width),
        counted(heat.most(), "item")
    );
    let sample = match picture.is_exact {
        true => "",
        false => " These are the items of a sample alone.",
    };
    Section {
        title: title.to_owned(),
        note: format!("{what}{sample}{}", picture.remark),
        chart: chart("heat", title, &what, &[panel], "") + &legend(heat.most()),
        tables: vec![table(heat)],
    }
}

/// How strong the colour of a cell is: equal factors are equally far apart, since a few cells hold
/// far more than the others.
fn strength(items: u64, most: u64) -> f64 {
    let share = (items as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    PALEST + (1.0 - PALEST) * share
}

fn legend(most: u64) -> String {
    let mut steps = vec![1, (most as f64).sqrt().round() as u64, most];
    steps.dedup();
    let keys = steps.into_iter().map(|items| {
        format!(
            "<span class=\"key\" style=\"opacity: {:.2}\"></span>{} ",
            strength(items, most),
            short(items as f64)
        )
    });
    format!(
        "<p class=\"legend\">{}items</p>\n",
        keys.collect::<String>()
    )
}

/// The begins of about four windows, of which the last does not reach beyond the chart.
fn ticks(heat: &Heat) -> Vec<(f64, String)> {
    let windows = heat.windows();
    let places = (0..windows).step_by(windows.div_ceil(4).max(1));
    let text = |window: usize| match moment(heat, window) {
        // The table has the seconds.
        text if text.len() > 16 => text[11..].to_owned(),
        text if text.len() > 10 => text[5..].to_owned(),
        text => text,
    };
    places.map(|window| (window as f64, text(window))).collect()
}

/// The begin of a window in UTC, as exact as its length needs.
fn moment(heat: &Heat, window: usize) -> String {
    let text = DateTime::from_millis(heat.begin_of(window)).try_to_rfc3339_string();
    let text = text.unwrap_or_else(|_| "far away".to_owned());
    let length = match heat.width {
        0..60_000 => 19,
        60_000..86_400_000 => 16,
        _ => 10,
    };
    text.get(..length).unwrap_or(&text).replace('T', " ")
}

fn table(heat: &Heat) -> Table {
    let row = |window: usize| {
        let items = heat.keys.iter().map(|key| thousands(key[window]));
        Row {
            cells: std::iter::once(moment(heat, window)).chain(items).collect(),
            ..Row::default()
        }
    };
    Table {
        caption: "Items in each window, by the rank of their key".to_owned(),
        head: RANKS[..=heat.keys.len().min(RANKS.len() - 1)].to_vec(),
        rows: (0..heat.windows()).map(row).collect(),
    }
}
