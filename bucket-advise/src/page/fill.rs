//! The chart of how full buckets are.

use super::section::{Row, Section, Table};
use super::svg::{Panel, Scale, chart, short};
use crate::figures::{counted, thousands};
use crate::measure::fill::{Fill, Filled};

/// Full buckets have a bar of their own, the last one.
const BARS: usize = 11;

/// Buckets by the share of their room that is taken, in tenths.
pub(super) fn draw(fill: &Fill) -> Section {
    let bars = bars(fill);
    let most = bars.iter().map(Filled::buckets).max().unwrap_or(0).max(1);
    let mut panel = Panel::new(
        Scale::linear(0.0..=BARS as f64),
        Scale::linear(0.0..=most as f64 * 1.08),
        0.0,
        220.0,
    );
    panel.y_axis("buckets", short);
    let shares = (0..=8).step_by(2);
    let ticks = shares.map(|tenth| (f64::from(tenth), format!("{} %", tenth * 10)));
    let full = (BARS as f64 - 0.5, "full".to_owned());
    panel.x_axis("room that is taken", ticks.chain([full]));
    for (at, bar) in (0..).zip(&bars) {
        let x = (f64::from(at), f64::from(at + 1));
        let open = bar.open as f64;
        let closed = bar.full + bar.sealed;
        let class = if bar.full > 0 { "bar" } else { "bar sealed" };
        panel.bar(x, (0.0, open), "bar open");
        panel.bar(x, (open, open + closed as f64), class);
    }
    let title = "How full the buckets are";
    let what = format!(
        "{}: {} full, {} open, {} sealed; {} % of the room is taken.",
        counted(fill.buckets, "bucket"),
        thousands(fill.full),
        thousands(fill.open),
        thousands(fill.sealed),
        fill.percent()
    );
    let legend = "<p class=\"legend\"><span class=\"key full\"></span>full <span class=\"key open\"></span>open \
                  <span class=\"key sealed\"></span>sealed</p>\n";
    Section {
        title: title.to_owned(),
        note: what.clone(),
        chart: chart("fill", title, &what, &[panel], "") + legend,
        tables: vec![table(&bars)],
    }
}

fn bars(fill: &Fill) -> [Filled; BARS] {
    let mut bars = [Filled::default(); BARS];
    for (items, filled) in &fill.by_items {
        let tenth = (items * 10).checked_div(fill.capacity).unwrap_or(0) as usize;
        bars[tenth.min(BARS - 1)].add(*filled);
    }
    bars
}

fn table(bars: &[Filled; BARS]) -> Table {
    let row = |(tenth, bar): (usize, &Filled)| {
        let share = match tenth == BARS - 1 {
            true => "full".to_owned(),
            false => format!("{} to {} %", tenth * 10, tenth * 10 + 9),
        };
        let counts = [bar.full, bar.open, bar.sealed].map(thousands);
        let [full, open, sealed] = counts;
        Row::of([share, full, open, sealed])
    };
    Table {
        caption: "Buckets by the share of their room that is taken".to_owned(),
        head: vec!["room taken", "full", "open", "sealed"],
        rows: bars.iter().enumerate().map(row).collect(),
    }
}
