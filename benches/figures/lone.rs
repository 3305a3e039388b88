//! The CPU time of a lone append, where no call waits for a majority: that wait would hide what the statement costs.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn, split};
use bucket_runtime::{
    Bucket,
    bson::Document,
    mongodb::options::{DatabaseOptions, WriteConcern},
};

use crate::{
    bench::{Bench, Theme},
    cpu::Cpu,
    peers,
    trade::{Flat, Trade, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "lone",
    figures: &[&SERVER, &CLIENT, &BY_HAND_SERVER, &BY_HAND_CLIENT],
    measure: |bench| Box::pin(measure(bench)),
};

static SERVER: Figure = Figure::new(
    "lone_append_server_cpu",
    Unit::Micros,
    "append by one writer to one key with `w: 1`, capacity 10, against flat `insert_one`: CPU time of the server for each item",
)
.to_reach(1.8);
static CLIENT: Figure = Figure::new(
    "lone_append_client_cpu",
    Unit::Micros,
    "append by one writer to one key with `w: 1`, capacity 10, against flat `insert_one`: CPU time of the client for each item",
)
.to_reach(1.25);
static BY_HAND_SERVER: Figure = Figure::new(
    "lone_by_hand_server_cpu",
    Unit::Micros,
    "upsert by hand, by the only writer, which counts and so knows the bucket, against flat `insert_one`: CPU time of the server for each item",
);
static BY_HAND_CLIENT: Figure = Figure::new(
    "lone_by_hand_client_cpu",
    Unit::Micros,
    "the same, CPU time of the client for each item",
);

async fn measure(bench: Bench) -> Result<()> {
    let mut options = DatabaseOptions::default();
    options.write_concern = Some(WriteConcern::nodes(1));
    let db = bench
        .db
        .client()
        .database_with_options(bench.db.name(), options);
    let collection = db.collection::<Document>(&bench.fresh("append"));
    let buckets = Trade::buckets_in(collection).await?;
    let by_hand = db.collection::<Document>(&bench.fresh("by_hand"));
    let appended = Arc::new(AtomicUsize::new(0));
    let flat = peers::flat(&db, &bench.fresh("flat")).await?;
    let contestants =
        [
            contestant(&bench, move |trade| {
                let buckets = buckets.clone();
                async move { Ok(buckets.append(&trade.into()).await.map(drop)?) }
            })
            .await?,
            contestant(&bench, move |trade: Flat| {
                let (by_hand, nth) = (by_hand.clone(), appended.fetch_add(1, Ordering::Relaxed));
                async move {
                    peers::upsert_by_exact_id(&by_hand, format!("1_{}", nth / 10), trade).await
                }
            })
            .await?,
            contestant(&bench, move |trade: Flat| {
                let flat = flat.clone();
                async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
            })
            .await?,
        ];
    let samples = in_turn(bench.pick(9, 3), contestants).await?;
    let [ours, by_hand, flat] = samples.map(|samples| split::<2>(&samples));
    bench.report.figure(&SERVER, &ours[0], &flat[0]);
    bench.report.figure(&CLIENT, &ours[1], &flat[1]);
    bench.report.figure(&BY_HAND_SERVER, &by_hand[0], &flat[0]);
    bench.report.figure(&BY_HAND_CLIENT, &by_hand[1], &flat[1]);
    Ok(())
}

/// Calls one after the other. Each round gives the microseconds of CPU time for each item, of the server and of this
/// process.
async fn contestant<C>(
    bench: &Bench,
    call: impl Fn(Flat) -> C + Clone + Send + 'static,
) -> Result<Contestant>
where
    C: Future<Output = Result<()>> + Send + 'static,
{
    let cpu = Cpu::of(bench).await?;
    let items = bench.pick(1000, 300);
    let next = Arc::new(AtomicUsize::new(0));
    Ok(Contestant::new(move |_| {
        let (next, call) = (Arc::clone(&next), call.clone());
        async move {
            let before = cpu.of_threads();
            for _ in 0..items {
                call(trade(1, next.fetch_add(1, Ordering::Relaxed))).await?;
            }
            let after = cpu.of_threads();
            let each = |nth: usize| (after[nth] - before[nth]) / items as f64 * 1e6;
            Ok(vec![each(0), each(1)])
        }
    }))
}
