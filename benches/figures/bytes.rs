//! Bytes on disk, indexes and all.

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit};
use bucket_runtime::{
    Bucket,
    bson::{Bson, Document, doc},
    mongodb::Database,
};

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{Flat, Trade1000, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "bytes",
    figures: &[&VS_FLAT, &VS_TS, &SNAPPY_VS_FLAT, &SNAPPY_VS_TS],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_FLAT: Figure = megabytes(
    "bytes_vs_flat",
    "200,000 trades of 1,000 keys on disk, capacity 1,000, in a collection made with zstd, against a flat indexed one",
)
.to_reach(0.2);
static VS_TS: Figure =
    megabytes("bytes_vs_ts", "the same, against a time series collection").to_reach(2.0);
static SNAPPY_VS_FLAT: Figure = megabytes(
    "bytes_snappy_vs_flat",
    "200,000 trades of 1,000 keys on disk, capacity 1,000, in a collection with the default compressor, against a flat indexed one",
);
static SNAPPY_VS_TS: Figure = megabytes(
    "bytes_snappy_vs_ts",
    "the same, against a time series collection",
);

const fn megabytes(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, Unit::Megabytes, what)
}

/// Seconds between two trades: one customer's trades are two days apart, as in the manual.
const APART: usize = 160;

/// Our collection is created with this option, a block compressor other than the default, and then opened.
const ZSTD: &str = "block_compressor=zstd";

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(200_000, 1000, APART);
    let mut samples = [const { Samples::new() }; 6];
    for _ in 0..bench.pick(2, 1) {
        let collections = ["zstd", "snappy", "flat", "seconds", "minutes", "hours"];
        for (what, samples) in collections.into_iter().zip(&mut samples) {
            samples.push(store(&bench, what, &trades).await?);
        }
    }
    let [zstd, snappy, flat, series @ ..] = &samples;
    let report = &bench.report;
    let ts = &series[report.best_of("time series", Unit::Megabytes, peers::GRANULARITIES, series)];
    report.figure(&VS_FLAT, zstd, flat);
    report.figure(&VS_TS, zstd, ts);
    report.figure(&SNAPPY_VS_FLAT, snappy, flat);
    report.figure(&SNAPPY_VS_TS, snappy, ts);
    let bars = Bars::new("200,000 trades of 1,000 customers on disk", Unit::Megabytes).group(
        "with indexes",
        [
            ("buckets, zstd", zstd),
            ("buckets, default", snappy),
            ("time series", ts),
            ("flat", flat),
        ],
    );
    report.chart("bytes", Chart::Bars(bars));
    Ok(())
}

/// Stores the trades in a new collection, and returns its size in megabytes.
async fn store(bench: &Bench, what: &str, trades: &[Flat]) -> Result<f64> {
    let name = bench.fresh(what);
    match what {
        "flat" => {
            let flat = peers::flat(&bench.db, &name).await?;
            flat.insert_many(trades).await?;
        }
        "zstd" | "snappy" => {
            if what == "zstd" {
                let engine = doc! { "wiredTiger": { "configString": ZSTD } };
                bench
                    .db
                    .create_collection(&name)
                    .storage_engine(engine)
                    .await?;
            }
            let ours = Trade1000::buckets_in(bench.db.collection::<Document>(&name)).await?;
            let stored = ours
                .append_many(trades.iter().cloned().map(Trade1000::from))
                .await;
            stored.map_err(|error| error.to_string())?;
        }
        granularity => {
            let series = peers::time_series(&bench.db, &name, granularity).await?;
            series.create_index(peers::by_customer_and_date()).await?;
            series.insert_many(trades).await?;
        }
    }
    let bytes = size(&bench.db, &name).await?;
    bench.db.collection::<Document>(&name).drop().await?;
    Ok(bytes / 1e6)
}

/// The bytes of a collection and its indexes. They are known only after a checkpoint has written
/// them.
async fn size(db: &Database, name: &str) -> Result<f64> {
    let admin = db.client().database("admin");
    admin.run_command(doc! { "fsync": 1 }).await?;
    let stats = db.run_command(doc! { "collStats": name }).await?;
    let bytes = |field: &str| match stats.get(field) {
        Some(Bson::Int32(bytes)) => Ok(f64::from(*bytes)),
        Some(Bson::Int64(bytes)) => Ok(*bytes as f64),
        Some(Bson::Double(bytes)) => Ok(*bytes),
        _ => Err(format!("collStats has no {field}")),
    };
    Ok(bytes("storageSize")? + bytes("totalIndexSize")?)
}
