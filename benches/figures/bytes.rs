//! Bytes on disk, indexes and all, with either compressor on both sides.

use bucket_benches::{Bars, Chart, Figure, Result, Samples, Unit, figures};
use bucket_runtime::{
    Bucket,
    bson::{Bson, Document, doc},
    mongodb::{Database, options::TimeseriesGranularity},
};

use crate::{
    bench::{Bench, Theme, at_capacities},
    peers,
    trade::{Flat, Trade, Trade50, Trade1000, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "bytes",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! with {
    ($flat:ident, $series:ident, $compressor:literal) => {
        at_capacities!($flat: Unit::Megabytes,
            "bytes_" - concat!("_", $compressor, "_vs_flat"),
            "200,000 trades of 1,000 keys on disk, " - concat!(", against a flat indexed collection, both compressed by ", $compressor),
            to reach 0.25 0.2 0.2);
        at_capacities!($series: Unit::Megabytes,
            "bytes_" - concat!("_", $compressor, "_vs_ts"),
            "200,000 trades of 1,000 keys on disk, " - concat!(", against a time series collection with an index, both compressed by ", $compressor));
    };
}

with!(SNAPPY_VS_FLAT, SNAPPY_VS_TS, "snappy");
with!(ZSTD_VS_FLAT, ZSTD_VS_TS, "zstd");
static FIGURES: [&Figure; 12] =
    figures(&[&SNAPPY_VS_FLAT, &SNAPPY_VS_TS, &ZSTD_VS_FLAT, &ZSTD_VS_TS]);

/// The figures of each compressor. Snappy is the default of collections, zstd that of time series collections.
static COMPRESSORS: [(&str, &[Figure; 3], &[Figure; 3]); 2] = [
    ("snappy", &SNAPPY_VS_FLAT, &SNAPPY_VS_TS),
    ("zstd", &ZSTD_VS_FLAT, &ZSTD_VS_TS),
];

/// Seconds between two trades: one customer's trades are two days apart, as in the manual.
const APART: usize = 160;

const STORES: [&str; 7] = ["10", "50", "1000", "flat", "seconds", "minutes", "hours"];

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(bench.pick(200_000, 50_000), bench.pick(1000, 250), APART);
    let mut bars = Bars::new("200,000 trades of 1,000 customers on disk", Unit::Megabytes);
    for (compressor, vs_flat, vs_ts) in COMPRESSORS {
        let mut samples = [const { Samples::new() }; STORES.len()];
        for _ in 0..bench.pick(3, 1) {
            for (what, samples) in STORES.into_iter().zip(&mut samples) {
                samples.push(store(&bench, what, compressor, &trades).await?);
            }
        }
        let [ten, fifty, thousand, flat, series @ ..] = &samples;
        let report = &bench.report;
        let best = report.best_of("time series", Unit::Megabytes, peers::GRANULARITIES, series);
        let ts = &series[best];
        for (nth, ours) in [ten, fifty, thousand].into_iter().enumerate() {
            report.figure(&vs_flat[nth], ours, flat);
            report.figure(&vs_ts[nth], ours, ts);
        }
        bars = bars.group(
            compressor,
            [
                ("buckets of 10", ten),
                ("buckets of 1,000", thousand),
                ("time series", ts),
                ("flat", flat),
            ],
        );
    }
    bench.report.chart("bytes", Chart::Bars(bars));
    Ok(())
}

/// Stores the trades in a new collection with this compressor, and returns its size in megabytes.
async fn store(bench: &Bench, what: &str, compressor: &str, trades: &[Flat]) -> Result<f64> {
    let name = bench.fresh(what);
    let config = format!("block_compressor={compressor}");
    let engine = doc! { "wiredTiger": { "configString": config } };
    let create = bench.db.create_collection(&name).storage_engine(engine);
    let granularity = match what {
        "seconds" => Some(TimeseriesGranularity::Seconds),
        "minutes" => Some(TimeseriesGranularity::Minutes),
        "hours" => Some(TimeseriesGranularity::Hours),
        _ => None,
    };
    match granularity {
        Some(granularity) => create.timeseries(peers::series(granularity)).await?,
        None => create.await?,
    }
    match what {
        "10" => load::<Trade>(&bench.db, &name, trades).await?,
        "50" => load::<Trade50>(&bench.db, &name, trades).await?,
        "1000" => load::<Trade1000>(&bench.db, &name, trades).await?,
        _ => {
            let peer = bench.db.collection::<Flat>(&name);
            peer.create_index(peers::by_customer_and_date()).await?;
            peer.insert_many(trades).await?;
        }
    }
    let bytes = size(&bench.db, &name).await?;
    bench.db.collection::<Document>(&name).drop().await?;
    Ok(bytes / 1e6)
}

async fn load<T: Bucket + From<Flat>>(db: &Database, name: &str, trades: &[Flat]) -> Result<()> {
    let ours = T::buckets_in(db.collection::<Document>(name)).await?;
    let stored = ours.append_many(trades.iter().cloned().map(T::from)).await;
    stored.map(drop).map_err(|error| error.to_string().into())
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
