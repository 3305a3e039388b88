//! Many writers on many keys.

use bucket_benches::{Bars, Chart, Figure, Result, Unit, figures, in_turn};

use crate::{
    bench::{Bench, Theme, at_capacities},
    peers::SPARSE,
    trade::{Numbered, Trade, Trade50, Trade1000, of_keys},
    writers::{append, insert, insert_batched, series_batched, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "many_keys",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(VS_FLAT: UNIT,
    "append_many_keys_" - "_vs_flat",
    "append by 32 writers to 1,000 keys, " - ", against flat inserts in batches");
at_capacities!(VS_TS: UNIT,
    "append_many_keys_" - "_vs_ts",
    "append by 32 writers to 1,000 keys, " - ", against inserts in batches into a time series collection",
    to reach 1.0 1.0 1.0);
at_capacities!(VS_UNBATCHED: UNIT,
    "append_many_keys_" - "_vs_unbatched",
    "append by 32 writers to 1,000 keys, " - ", against unbatched flat `insert_one`",
    to reach 1.2 1.2 1.2);
static NUMBERED: [Figure; 1] = [Figure::new(
    "append_many_keys_10_numbered_vs_flat",
    UNIT,
    "append by 32 writers to 1,000 keys, capacity 10, ids with `{#}`, against flat inserts in batches",
)];
static FIGURES: [&Figure; 10] = figures(&[&VS_FLAT, &VS_TS, &VS_UNBATCHED, &NUMBERED]);

const UNIT: Unit = Unit::ItemsPerSecond;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(bench.pick(6000, 2000), 1000, 1);
    let contestants = [
        writes(&bench, &trades, append::<Trade>),
        writes(&bench, &trades, append::<Trade50>),
        writes(&bench, &trades, append::<Trade1000>),
        writes(&bench, &trades, append::<Numbered>),
        writes(&bench, &trades, insert_batched),
        writes(&bench, &trades, |bench, trades| {
            series_batched(bench, trades, SPARSE)
        }),
        writes(&bench, &trades, insert),
    ];
    let samples = in_turn(bench.pick(11, 3), contestants).await?;
    let [ten, fifty, thousand, numbered, flat, ts, unbatched] = &samples;
    let report = &bench.report;
    for (figures, peer) in [(&VS_FLAT, flat), (&VS_TS, ts), (&VS_UNBATCHED, unbatched)] {
        for (figure, ours) in figures.iter().zip([ten, fifty, thousand]) {
            report.figure(figure, ours, peer);
        }
    }
    report.figure(&NUMBERED[0], numbered, flat);
    let bars = Bars::new("Appends by 32 writers to 1,000 keys", UNIT).group(
        "a fresh collection",
        [
            ("append, capacity 10", ten),
            ("append, ids with {#}", numbered),
            ("flat, batched", flat),
            ("time series, batched", ts),
            ("flat insert_one", unbatched),
        ],
    );
    report.chart("many_keys", Chart::Bars(bars));
    Ok(())
}
