//! Many writers on one key.

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit, figures, in_turn};
use bucket_runtime::bson::{DateTime, Document};

use crate::{
    bench::{Bench, Theme, at_capacities},
    peers,
    trade::{Flat, Numbered, Trade, Trade50, Trade1000, of_one_key},
    writers::{append, by_writers, insert, insert_batched, series_batched, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "hot",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(VS_FLAT: UNIT,
    "append_hot_" - "_vs_flat",
    "append by 32 writers to one key, " - ", against flat inserts in batches",
    to reach 0.9 1.0 1.0);
at_capacities!(VS_TS: UNIT,
    "append_hot_" - "_vs_ts",
    "append by 32 writers to one key, " - ", against inserts in batches into a time series collection",
    to reach 1.0 1.0 1.0);
at_capacities!(VS_UNBATCHED: UNIT,
    "append_hot_" - "_vs_unbatched",
    "append by 32 writers to one key, " - ", against unbatched flat `insert_one`");
static OTHERS: [Figure; 3] = [
    Figure::new(
        "append_hot_10_vs_upsert",
        UNIT,
        "append by 32 writers to one key, capacity 10, against the manual's upsert, unbatched",
    ),
    Figure::new(
        "append_hot_10_now_vs_flat",
        UNIT,
        "append by 32 writers to one key, capacity 10, ten items a millisecond by their dates, against flat inserts in batches",
    ),
    Figure::new(
        "append_hot_10_numbered_vs_flat",
        UNIT,
        "append by 32 writers to one key, capacity 10, ids with `{#}`, against flat inserts in batches",
    ),
];
static FIGURES: [&Figure; 12] = figures(&[&VS_FLAT, &VS_TS, &VS_UNBATCHED, &OTHERS]);

const UNIT: Unit = Unit::ItemsPerSecond;

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_one_key(0..bench.pick(6400, 960));
    let [seconds, minutes, hours] = peers::GRANULARITIES.map(|granularity| {
        writes(&bench, &trades, move |bench, trades| {
            series_batched(bench, trades, granularity)
        })
    });
    let contestants = [
        writes(&bench, &trades, append::<Trade>),
        writes(&bench, &trades, append::<Trade50>),
        writes(&bench, &trades, append::<Trade1000>),
        writes(&bench, &trades, append_now),
        writes(&bench, &trades, append::<Numbered>),
        writes(&bench, &trades, insert_batched),
        writes(&bench, &trades, insert),
        writes(&bench, &trades, upsert),
        seconds,
        minutes,
        hours,
    ];
    let samples = in_turn(bench.pick(11, 3), contestants).await?;
    let [ten, fifty, thousand, now, numbered, others @ ..] = &samples;
    let [flat, unbatched, upsert, series @ ..] = others;
    let report = &bench.report;
    let ts = &series[report.best_of("time series", UNIT, peers::GRANULARITIES, series)];
    for (figures, peer) in [(&VS_FLAT, flat), (&VS_TS, ts), (&VS_UNBATCHED, unbatched)] {
        for (figure, ours) in figures.iter().zip([ten, fifty, thousand]) {
            report.figure(figure, ours, peer);
        }
    }
    report.figure(&OTHERS[0], ten, upsert);
    report.figure(&OTHERS[1], now, flat);
    report.figure(&OTHERS[2], numbered, flat);
    let bars = Bars::new("Appends by 32 writers to one key", UNIT).group(
        "a fresh collection",
        [
            ("append, capacity 10", ten),
            ("append, capacity 50", fifty),
            ("flat, batched", flat),
            ("time series, batched", ts),
            ("flat insert_one", unbatched),
            ("manual's upsert", upsert),
        ],
    );
    report.chart("hot", Chart::Bars(bars));
    Ok(())
}

/// Appends trades of the present moment, ten per millisecond. They open many buckets in the same
/// second, and all but the first need a suffix.
async fn append_now(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let now = DateTime::now().timestamp_millis();
    let trades = trades.into_iter().enumerate().map(|(nth, trade)| Flat {
        date: DateTime::from_millis(now + nth as i64 / 10),
        ..trade
    });
    append::<Trade>(bench, trades.collect()).await
}

async fn upsert(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("upsert"));
    let upserted = collection.clone();
    let rate = by_writers(trades, move |trade: Flat| {
        let upserted = upserted.clone();
        async move { peers::manuals_upsert(&upserted, trade).await }
    });
    let rate = rate.await?;
    collection.drop().await?;
    Ok(rate)
}
