//! Many writers on one key, for as long as it takes to fill thousands of buckets.
//!
//! The server keeps the entries of filled buckets in the open index until no snapshot can need them any
//! more, and each search for the open bucket passes them, as does each opening. At a capacity of 50 that costs little;
//! the curves at 10 show why a busy key wants more than 10.

mod minutes;

use bucket_benches::{Chart, Contestant, Curves, Figure, Result, Samples, Unit, in_turn, median};
use bucket_runtime::bson::doc;
use futures_util::future::BoxFuture;

use self::minutes::{TURNS_A_MINUTE, Turn, Turns, Writers};
use crate::{
    bench::{Bench, Theme},
    peers::SPARSE,
    trade::{Flat, Numbered, Numbered50, Trade, Trade50, of_one_key},
    writers::{append, insert, insert_batched, series_batched, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "steady",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

static SHORT: [Figure; 6] = [
    rate(
        "append_steady_10_vs_flat",
        "40,000 appends by 32 writers to one key, capacity 10, against flat inserts in batches",
    ),
    rate(
        "append_steady_10_vs_ts",
        "40,000 appends by 32 writers to one key, capacity 10, against inserts in batches into a time series collection",
    ),
    rate(
        "append_steady_10_vs_unbatched",
        "40,000 appends by 32 writers to one key, capacity 10, against unbatched flat `insert_one`",
    ),
    rate(
        "append_steady_10_no_history_vs_flat",
        "40,000 appends by 32 writers to one key, capacity 10, against flat inserts in batches, on a server that keeps no history for snapshot reads (`minSnapshotHistoryWindowInSeconds: 0`)",
    ),
    rate(
        "append_steady_50_vs_flat",
        "40,000 appends by 32 writers to one key, capacity 50, against flat inserts in batches",
    ),
    rate(
        "append_steady_50_vs_ts",
        "40,000 appends by 32 writers to one key, capacity 50, against inserts in batches into a time series collection",
    ),
];

const fn rate(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, Unit::ItemsPerSecond, what)
}

/// Writers and a struct, measured for six minutes.
struct Curve {
    name: &'static str,
    writers: Writers,
    measure: fn(&Bench, Writers, usize) -> BoxFuture<'_, Result<Turns>>,
    /// The sixth minute against the flat collection's.
    rate: &'static Figure,
    /// The sixth minute against the first.
    decay: &'static Figure,
    /// CPU time of the server for each item, in the sixth minute against the first.
    cpu: &'static Figure,
    /// A cold key beside the busy one, against one in a collection of its own.
    cold: &'static Figure,
}

macro_rules! curves {
    ($($name:literal: $handles:literal x $each:literal, $item:ty $(, decay $decay:literal, cpu $cpu:literal)? $(, at least $rate:literal of flat)?;)+) => {
        const CURVES: &[Curve] = &[$(Curve {
            name: $name,
            writers: Writers { handles: $handles, each: $each },
            measure: |bench, writers, turns| Box::pin(minutes::minutes::<$item>(bench, writers, turns)),
            rate: {
                static RATE: Figure = Figure::new(
                    concat!("append_steady_", $name),
                    Unit::ItemsPerSecond,
                    concat!("append to one key in the sixth minute, handles × writers, capacity, ordinal: ", $name, ", against flat inserts in batches"),
                )$(.to_reach($rate))?;
                &RATE
            },
            decay: {
                static DECAY: Figure = Figure::new(
                    concat!("append_steady_", $name, "_decay"),
                    Unit::ItemsPerSecond,
                    "the same, in the sixth minute against the first",
                )$(.to_reach($decay))?;
                &DECAY
            },
            cpu: {
                static CPU: Figure = Figure::new(
                    concat!("append_steady_", $name, "_cpu"),
                    Unit::Micros,
                    "the same, CPU time of the server for each item, in the sixth minute against the first",
                )$(.to_reach($cpu))?;
                &CPU
            },
            cold: {
                static COLD: Figure = Figure::new(
                    concat!("append_steady_", $name, "_beside"),
                    Unit::Micros,
                    "an append to the key before the busy one, against one to a collection without a busy key",
                ).to_reach(1.1);
                &COLD
            },
        }),+];
    };
}

curves! {
    "1x1_10_date": 1 x 1, Trade;
    "1x8_10_date": 1 x 8, Trade;
    "1x32_10_date": 1 x 32, Trade;
    "4x8_10_date": 4 x 8, Trade;
    "1x1_10_number": 1 x 1, Numbered;
    "1x8_10_number": 1 x 8, Numbered;
    "1x32_10_number": 1 x 32, Numbered;
    "4x8_10_number": 4 x 8, Numbered;
    "1x1_50_date": 1 x 1, Trade50, decay 0.9, cpu 1.3;
    "1x8_50_date": 1 x 8, Trade50, decay 0.9, cpu 1.3, at least 0.9 of flat;
    "1x32_50_date": 1 x 32, Trade50, decay 0.9, cpu 1.3, at least 0.9 of flat;
    "4x8_50_date": 4 x 8, Trade50, decay 0.9, cpu 1.3;
    "1x1_50_number": 1 x 1, Numbered50, decay 0.9, cpu 1.3;
    "1x8_50_number": 1 x 8, Numbered50, decay 0.9, cpu 1.3, at least 0.9 of flat;
    "1x32_50_number": 1 x 32, Numbered50, decay 0.9, cpu 1.3, at least 0.9 of flat;
    "4x8_50_number": 4 x 8, Numbered50, decay 0.9, cpu 1.3;
}

const FIGURES: [&Figure; SHORT.len() + 4 * CURVES.len()] = {
    let mut all = [&SHORT[0]; SHORT.len() + 4 * CURVES.len()];
    let mut at = 0;
    while at < SHORT.len() {
        all[at] = &SHORT[at];
        at += 1;
    }
    at = 0;
    while at < CURVES.len() {
        let Curve {
            rate,
            decay,
            cpu,
            cold,
            ..
        } = CURVES[at];
        all[SHORT.len() + 4 * at] = rate;
        all[SHORT.len() + 1 + 4 * at] = decay;
        all[SHORT.len() + 2 + 4 * at] = cpu;
        all[SHORT.len() + 3 + 4 * at] = cold;
        at += 1;
    }
    all
};

/// How many minutes a curve has.
const MINUTES: usize = 6;

/// The server's default, in seconds.
const HISTORY: i32 = 300;

async fn measure(bench: Bench) -> Result<()> {
    if bench.report.options().long {
        return curves(&bench).await;
    }
    if !bench.wants(&SHORT.each_ref()) {
        println!("  takes six minutes: add `--long`");
        return Ok(());
    }
    let trades = of_one_key(0..bench.pick(40_000, 4000));
    let contestants = [
        writes(&bench, &trades, append::<Trade>),
        without_history(&bench, &trades),
        writes(&bench, &trades, append::<Trade50>),
        writes(&bench, &trades, insert_batched),
        writes(&bench, &trades, |bench, trades| {
            series_batched(bench, trades, SPARSE)
        }),
        writes(&bench, &trades, insert),
    ];
    let samples = in_turn(bench.pick(4, 1), contestants).await?;
    let [ten, no_history, fifty, flat, ts, unbatched] = &samples;
    let rows = [
        (ten, flat),
        (ten, ts),
        (ten, unbatched),
        (no_history, flat),
        (fifty, flat),
        (fifty, ts),
    ];
    for (figure, (ours, peer)) in SHORT.iter().zip(rows) {
        bench.report.figure(figure, ours, peer);
    }
    Ok(())
}

async fn curves(bench: &Bench) -> Result<()> {
    for curve in CURVES {
        if !bench.wants(&[curve.rate, curve.decay, curve.cpu, curve.cold]) {
            continue;
        }
        println!("  {}", curve.name);
        let turns = bench.pick(MINUTES * TURNS_A_MINUTE, 3 * TURNS_A_MINUTE);
        let turns = (curve.measure)(bench, curve.writers, turns).await?;
        print(&turns);
        let first = |of: &[Turn], value: fn(&Turn) -> f64| -> Samples {
            of[..TURNS_A_MINUTE].iter().map(value).collect()
        };
        let last = |of: &[Turn], value: fn(&Turn) -> f64| -> Samples {
            of[of.len() - TURNS_A_MINUTE..].iter().map(value).collect()
        };
        let Turns { ours, peers } = &turns;
        let rate = |turn: &Turn| turn.rate;
        let cpu = |turn: &Turn| turn.server_cpu;
        let cold = |turn: &Turn| turn.cold;
        let report = &bench.report;
        report.figure(curve.rate, &last(ours, rate), &last(peers, rate));
        report.figure(curve.decay, &last(ours, rate), &first(ours, rate));
        report.figure(curve.cpu, &last(ours, cpu), &first(ours, cpu));
        report.figure(curve.cold, &last(ours, cold), &last(peers, cold));
        report.chart(curve.name, Chart::Curves(chart(&turns)));
    }
    Ok(())
}

/// A table of the minutes, as medians of their turns.
fn print(turns: &Turns) {
    println!(
        "  minute | items/s, flat | server us/item, flat | client us/item, flat | E11000/item | \
         skipped/item | cold us, alone"
    );
    let minutes = turns
        .ours
        .chunks(TURNS_A_MINUTE)
        .zip(turns.peers.chunks(TURNS_A_MINUTE));
    for (at, (ours, peers)) in minutes.enumerate() {
        let of = |turns: &[Turn], value: fn(&Turn) -> f64| {
            median(&turns.iter().map(value).collect::<Samples>())
        };
        let both = |value| (of(ours, value), of(peers, value));
        let rates = both(|turn| turn.rate);
        let servers = both(|turn| turn.server_cpu);
        let clients = both(|turn| turn.client_cpu);
        let colds = both(|turn| turn.cold);
        println!(
            "  {:6} | {:.0}, {:.0} | {:.0}, {:.0} | {:.0}, {:.0} | {:.4} | {:.0} | {:.0}, {:.0}",
            at + 1,
            rates.0,
            rates.1,
            servers.0,
            servers.1,
            clients.0,
            clients.1,
            of(ours, |turn| turn.duplicates),
            of(ours, |turn| turn.skipped),
            colds.0,
            colds.1,
        );
    }
}

fn chart(turns: &Turns) -> Curves {
    let mut curves = Curves::new(
        "One busy key",
        Unit::ItemsPerSecond,
        "minutes",
        ["append", "flat, batched"],
    );
    let minutes = turns
        .ours
        .chunks(TURNS_A_MINUTE)
        .zip(turns.peers.chunks(TURNS_A_MINUTE));
    for (at, (ours, peers)) in minutes.enumerate() {
        let rates = [ours, peers].map(|turns| turns.iter().map(|turn| turn.rate).collect());
        let rates: [Samples; 2] = rates;
        curves.point(at + 1, &rates);
    }
    curves
}

fn without_history(bench: &Bench, trades: &[Flat]) -> Contestant {
    writes(bench, trades, |bench: Bench, trades| async move {
        keep_history(&bench, 0).await?;
        let rate = append::<Trade>(bench.clone(), trades).await;
        keep_history(&bench, HISTORY).await?;
        rate
    })
}

async fn keep_history(bench: &Bench, seconds: i32) -> Result<()> {
    let admin = bench.db.client().database("admin");
    let set = doc! { "setParameter": 1, "minSnapshotHistoryWindowInSeconds": seconds };
    admin.run_command(set).await?;
    Ok(())
}
