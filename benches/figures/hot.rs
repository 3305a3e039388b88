//! Many writers on one key.

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::bson::{DateTime, Document};

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{Flat, Numbered, Trade, of_one_key},
    writers::{append, by_writers, insert, writes},
};

pub(crate) const THEME: Theme = Theme {
    name: "hot",
    figures: &[
        &VS_FLAT,
        &VS_TS,
        &VS_UPSERT,
        &NOW_VS_FLAT,
        &NUMBERED_VS_FLAT,
    ],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_FLAT: Figure = rate(
    "append_hot_vs_flat",
    "append by 32 writers to one key, against flat `insert_one`",
)
.to_reach(3.0);
static VS_TS: Figure = rate(
    "append_hot_vs_ts",
    "append by 32 writers to one key, against `insert_one` into a time series collection",
)
.to_reach(3.0);
static VS_UPSERT: Figure = rate(
    "append_hot_vs_upsert",
    "append by 32 writers to one key, against the manual's upsert",
);
static NOW_VS_FLAT: Figure = rate(
    "append_hot_now_vs_flat",
    "append by 32 writers to one key, ten items a millisecond by their dates, against flat `insert_one`",
);
static NUMBERED_VS_FLAT: Figure = rate(
    "append_hot_numbered_vs_flat",
    "append by 32 writers to one key, ids with `{#}`, against flat `insert_one`",
);

const UNIT: Unit = Unit::ItemsPerSecond;

const fn rate(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, UNIT, what)
}

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_one_key(0..bench.pick(3200, 960));
    let [seconds, minutes, hours] = peers::GRANULARITIES.map(|granularity| {
        writes(&bench, &trades, move |bench, trades| {
            time_series(bench, trades, granularity)
        })
    });
    let contestants = [
        writes(&bench, &trades, append::<Trade>),
        writes(&bench, &trades, append_now),
        writes(&bench, &trades, append::<Numbered>),
        writes(&bench, &trades, insert),
        writes(&bench, &trades, upsert),
        seconds,
        minutes,
        hours,
    ];
    let samples = in_turn(bench.pick(7, 3), contestants).await?;
    let [ours, now, numbered, flat, upsert, series @ ..] = &samples;
    let report = &bench.report;
    let ts = &series[report.best_of("time series", UNIT, peers::GRANULARITIES, series)];
    report.figure(&VS_FLAT, ours, flat);
    report.figure(&VS_TS, ours, ts);
    report.figure(&VS_UPSERT, ours, upsert);
    report.figure(&NOW_VS_FLAT, now, flat);
    report.figure(&NUMBERED_VS_FLAT, numbered, flat);
    let bars = Bars::new("Appends by 32 writers to one key", UNIT).group(
        "a fresh collection",
        [
            ("append", ours),
            ("flat insert_one", flat),
            ("time series insert_one", ts),
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

async fn time_series(
    bench: Bench,
    trades: Vec<Flat>,
    granularity: &'static str,
) -> Result<Samples> {
    let name = bench.fresh("series");
    let collection = peers::time_series(&bench.db, &name, granularity).await?;
    let series = collection.clone();
    let rate = by_writers(trades, move |trade: Flat| {
        let series = series.clone();
        async move { Ok(series.insert_one(&trade).await.map(drop)?) }
    });
    let rate = rate.await?;
    collection.drop().await?;
    Ok(rate)
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
