//! The sum of a field over all items of a key.

use bucket_benches::{Contestant, Figure, Result, Unit, figures, in_turn, split};
use bucket_runtime::{
    Bucket,
    bson::{DateTime, Document, doc},
    mongodb::{Collection, IndexModel},
};
use futures_util::TryStreamExt as _;

use crate::{
    bench::{Bench, Theme, at_capacities},
    cpu::Cpu,
    peers::{self, SPARSE},
    trade::{Flat, of_keys},
};

pub(crate) const THEME: Theme = Theme {
    name: "rollup",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(VS_FLAT: Unit::Micros,
    "rollup_" - "_vs_flat",
    "the sum of a field of a key's 10,000 items by `rollup`, " - ", against `$group` on a flat collection with an index on key and field",
    to reach 0.5 0.2 0.2);
at_capacities!(VS_TS: Unit::Micros,
    "rollup_" - "_vs_ts",
    "the sum of a field of a key's 10,000 items by `rollup`, " - ", against `$group` on a time series collection with an index on key and time",
    to reach 1.0 1.0 0.5);
at_capacities!(CPU_VS_FLAT: Unit::Micros,
    "rollup_" - "_cpu_vs_flat",
    "the sum of a field of a key's 10,000 items by `rollup`, " - ", against `$group` on a flat collection: CPU time of the server");
static FIGURES: [&Figure; 9] = figures(&[&VS_FLAT, &VS_TS, &CPU_VS_FLAT]);

const KEYS: usize = 20;
const ITEMS: usize = 10_000;

/// The trade of the README with a sum, at each capacity.
macro_rules! summed {
    ($($name:ident: $capacity:literal, $contestant:ident;)+) => {$(
        #[derive(Debug, Clone, Bucket)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = $capacity, items = "history")]
        struct $name {
            customer_id: i64,
            date: DateTime,
            ticker: String,
            #[serde(rename = "qty")]
            #[bucket(sum)]
            quantity: i32,
        }

        async fn $contestant(bench: &Bench, cpu: Cpu, trades: &[Flat]) -> Result<Contestant> {
            let collection = bench.db.collection::<Document>(&bench.fresh("rollup"));
            let buckets = $name::buckets_in(collection).await?;
            let items = trades.iter().cloned().map(|trade| {
                let Flat { customer_id, date, ticker, quantity } = trade;
                $name { customer_id, date, ticker, quantity }
            });
            let stored = buckets.append_many(items).await;
            stored.map_err(|error| error.to_string())?;
            Ok(cpu.calls_by(1, keys(), move |key| {
                let buckets = buckets.clone();
                async move {
                    let rollup = buckets.rollup(&key).await?;
                    check(rollup.quantity.sum() as f64)
                }
            }))
        }
    )+};
}

summed! {
    Summed: 10, ten;
    Summed50: 50, fifty;
    Summed1000: 1000, thousand;
}

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(KEYS * ITEMS, KEYS, 60);
    let cpu = Cpu::of(&bench).await?;
    let flat = bench.db.collection::<Flat>(&bench.fresh("flat"));
    let index = IndexModel::builder().keys(doc! { "customerId": 1, "qty": 1 });
    flat.create_index(index.build()).await?;
    flat.insert_many(&trades).await?;
    let series = peers::time_series(&bench.db, &bench.fresh("series"), SPARSE).await?;
    series.create_index(peers::by_customer_and_date()).await?;
    series.insert_many(&trades).await?;
    let contestants = [
        ten(&bench, cpu, &trades).await?,
        fifty(&bench, cpu, &trades).await?,
        thousand(&bench, cpu, &trades).await?,
        grouped(cpu, &flat),
        grouped(cpu, &series),
    ];
    let samples = in_turn(bench.pick(20, 3), contestants).await?;
    let [ours @ .., flat, ts] = &samples.map(|samples| split::<3>(&samples));
    for (nth, ours) in ours.iter().enumerate() {
        bench.report.figure(&VS_FLAT[nth], &ours[1], &flat[1]);
        bench.report.figure(&VS_TS[nth], &ours[1], &ts[1]);
        bench.report.figure(&CPU_VS_FLAT[nth], &ours[2], &flat[2]);
    }
    Ok(())
}

fn keys() -> Vec<i64> {
    (0..KEYS as i64).collect()
}

fn grouped(cpu: Cpu, trades: &Collection<Flat>) -> Contestant {
    let trades = trades.clone();
    cpu.calls_by(1, keys(), move |key| {
        let trades = trades.clone();
        async move {
            let sum = trades.aggregate([
                doc! { "$match": { "customerId": key } },
                doc! { "$group": { "_id": null, "sum": { "$sum": "$qty" }, "count": { "$sum": 1 } } },
            ]);
            let group = sum.await?.try_next().await?.ok_or("a key has no items")?;
            check(f64::from(group.get_i32("sum")?))
        }
    })
}

/// The quantities are 512.5 on average. Whoever read other items would have another sum.
fn check(sum: f64) -> Result<()> {
    let mean = sum / ITEMS as f64;
    match (450.0..580.0).contains(&mean) {
        true => Ok(()),
        false => Err(format!("a sum of {sum}").into()),
    }
}
