//! Many writers on one key, for as long as it takes to fill thousands of buckets.
//!
//! The server keeps the entries of filled buckets in the open index until no snapshot can need them any
//! more, and each search for the open bucket passes them.

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn};
use bucket_runtime::bson::doc;

use crate::{
    bench::{Bench, Theme},
    trade::{Flat, Trade, of_one_key},
    writers::{append, insert, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "steady",
    figures: &[&VS_FLAT, &NO_HISTORY_VS_FLAT],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_FLAT: Figure = Figure::new(
    "append_steady_vs_flat",
    Unit::ItemsPerSecond,
    "40,000 appends by 32 writers to one key, against flat `insert_one`",
);
static NO_HISTORY_VS_FLAT: Figure = Figure::new(
    "append_steady_no_history_vs_flat",
    Unit::ItemsPerSecond,
    "the same, on a server that keeps no history for snapshot reads (`minSnapshotHistoryWindowInSeconds: 0`)",
);

/// The server's default, in seconds.
const HISTORY: i32 = 300;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_one_key(0..bench.pick(40_000, 4000));
    let contestants = [
        append_with(&bench, &trades, HISTORY),
        append_with(&bench, &trades, 0),
        writes(&bench, &trades, insert),
    ];
    let samples = in_turn(bench.pick(3, 1), contestants).await?;
    let [ours, no_history, flat] = &samples;
    bench.report.figure(&VS_FLAT, ours, flat);
    bench.report.figure(&NO_HISTORY_VS_FLAT, no_history, flat);
    Ok(())
}

fn append_with(bench: &Bench, trades: &[Flat], history: i32) -> Contestant {
    writes(bench, trades, move |bench: Bench, trades| async move {
        keep_history(&bench, history).await?;
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
