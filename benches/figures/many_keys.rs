//! Many writers on many keys.

use bucket_benches::{Bars, Chart, Figure, Result, Unit, in_turn};

use crate::{
    bench::{Bench, Theme},
    trade::{Numbered, Trade, of_keys},
    writers::{append, insert, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "many_keys",
    figures: &[&VS_FLAT, &NUMBERED_VS_FLAT],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_FLAT: Figure = Figure::new(
    "append_many_keys_vs_flat",
    UNIT,
    "append by 32 writers to 1,000 keys, against flat `insert_one`",
)
.to_reach(1.2);
static NUMBERED_VS_FLAT: Figure = Figure::new(
    "append_many_keys_numbered_vs_flat",
    UNIT,
    "append by 32 writers to 1,000 keys, ids with `{#}`, against flat `insert_one`",
);

const UNIT: Unit = Unit::ItemsPerSecond;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(bench.pick(6000, 2000), 1000, 1);
    let contestants = [
        writes(&bench, &trades, append::<Trade>),
        writes(&bench, &trades, append::<Numbered>),
        writes(&bench, &trades, insert),
    ];
    let samples = in_turn(bench.pick(7, 3), contestants).await?;
    let [ours, numbered, flat] = &samples;
    let report = &bench.report;
    report.figure(&VS_FLAT, ours, flat);
    report.figure(&NUMBERED_VS_FLAT, numbered, flat);
    let bars = Bars::new("Appends by 32 writers to 1,000 keys", UNIT).group(
        "a fresh collection",
        [
            ("append", ours),
            ("append, ids with {#}", numbered),
            ("flat insert_one", flat),
        ],
    );
    report.chart("many_keys", Chart::Bars(bars));
    Ok(())
}
