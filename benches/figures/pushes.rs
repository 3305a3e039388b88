//! Many writers that push to one parent, and to many.

use std::sync::Arc;

use bucket_benches::{
    Bars, Chart, Contestant, Figure, Result, Samples, Unit, figures, in_turn, split,
};
use bucket_runtime::{
    Outlier,
    bson::{Document, doc},
    mongodb::Collection,
};

use serde::{Deserialize, Serialize};

use crate::{
    batcher::Batcher,
    bench::{Bench, Theme},
    cpu::Cpu,
    outlier::Book,
    writers::timed_by_writers,
};

pub(crate) const THEME: Theme = Theme {
    name: "pushes",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

/// The figures of a contestant for each round: items per second, the 99th percentile, and the CPU time of the
/// server and of this process for each item, in microseconds.
const MEASURES: usize = 4;

macro_rules! measures {
    ($parent:literal, $goal:literal, $what:literal) => {
        [
            Figure::new(
                concat!("push_", $parent, "_vs_batched"),
                Unit::ItemsPerSecond,
                concat!(
                    $what,
                    ", against `$push` with `$each` of what waits for a parent"
                ),
            )
            .to_reach($goal),
            Figure::new(
                concat!("push_", $parent, "_p99"),
                Unit::Micros,
                concat!(
                    $what,
                    ", against such batches: the time that 99 % of the calls take at most"
                ),
            ),
            Figure::new(
                concat!("push_", $parent, "_server_cpu"),
                Unit::Micros,
                concat!(
                    $what,
                    ", against such batches: CPU time of the server for each item"
                ),
            ),
            Figure::new(
                concat!("push_", $parent, "_client_cpu"),
                Unit::Micros,
                concat!(
                    $what,
                    ", against such batches: CPU time of the client for each item"
                ),
            ),
            Figure::new(
                concat!("push_", $parent, "_vs_unbatched"),
                Unit::ItemsPerSecond,
                concat!($what, ", against unbatched `update_one` with `$push`"),
            ),
        ]
    };
}

static TYPICAL: [Figure; MEASURES + 1] = measures!(
    "typical",
    1.0,
    "push by 32 writers to one parent that has room, threshold 100,000"
);
static OUTLIER: [Figure; MEASURES + 1] = measures!(
    "outlier",
    1.0,
    "push by 32 writers to one parent that becomes an outlier, threshold 50"
);
static PARENTS: [Figure; MEASURES + 1] = measures!(
    "many_parents",
    1.0,
    "push by 32 writers to 1,000 parents, threshold 50"
);
static FIGURES: [&Figure; 3 * (MEASURES + 1)] = figures(&[&TYPICAL, &OUTLIER, &PARENTS]);

/// A book of which no parent fills up.
#[derive(Debug, Clone, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    extras = "extra_sales",
    reference = "book_id",
    threshold = 100_000
)]
struct Roomy {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items)]
    customers_purchased: Vec<String>,
}

async fn measure(bench: Bench) -> Result<()> {
    let mut bars = Bars::new("Pushes by 32 writers", Unit::ItemsPerSecond);
    let items = bench.pick(3000, 1500);
    if bench.wants(&TYPICAL.each_ref()) {
        bars = compare::<Roomy>(&bench, bars, &TYPICAL, "one typical parent", (1, items)).await?;
    }
    if bench.wants(&OUTLIER.each_ref()) {
        bars = compare::<Book>(&bench, bars, &OUTLIER, "one outlier", (1, items)).await?;
    }
    if bench.wants(&PARENTS.each_ref()) {
        let many = (1000, 2 * items);
        bars = compare::<Book>(&bench, bars, &PARENTS, "1,000 parents", many).await?;
    }
    bench.report.chart("pushes", Chart::Bars(bars));
    Ok(())
}

/// Pushes so many items to so many parents, in new collections in each round.
async fn compare<T: Outlier<Id = i64, Item = String>>(
    bench: &Bench,
    bars: Bars,
    figures: &'static [Figure; MEASURES + 1],
    name: &str,
    (parents, items): (i64, usize),
) -> Result<Bars> {
    let pushes: Vec<_> = (0..items)
        .map(|nth| (nth as i64 % parents, format!("user{nth:05}")))
        .collect();
    let ours = {
        let (bench, pushes) = (bench.clone(), pushes.clone());
        Contestant::new(move |_| push::<T>(bench.clone(), parents, pushes.clone()))
    };
    let batched = {
        let (bench, pushes) = (bench.clone(), pushes.clone());
        Contestant::new(move |_| push_each(bench.clone(), parents, pushes.clone()))
    };
    let unbatched = {
        let bench = bench.clone();
        Contestant::new(move |_| update_one(bench.clone(), parents, pushes.clone()))
    };
    let samples = in_turn(bench.pick(9, 3), [ours, batched, unbatched]).await?;
    let [ours, batched, unbatched] = &samples.map(|samples| split::<MEASURES>(&samples));
    for (nth, (ours, batched)) in ours.iter().zip(batched).enumerate() {
        bench.report.figure(&figures[nth], ours, batched);
    }
    bench
        .report
        .figure(&figures[MEASURES], &ours[0], &unbatched[0]);
    Ok(bars.group(
        name,
        [
            ("push", &ours[0]),
            ("$push with $each", &batched[0]),
            ("update_one", &unbatched[0]),
        ],
    ))
}

async fn push<T: Outlier<Id = i64, Item = String>>(
    bench: Bench,
    parents: i64,
    pushes: Vec<(i64, String)>,
) -> Result<Samples> {
    let collection = stored(&bench, parents).await?;
    let extras = bench.db.collection::<Document>(&bench.fresh("extra_sales"));
    let books = T::outliers_in(collection.clone(), extras.clone()).await?;
    let measured = measured(&bench, pushes, move |(id, user)| {
        let books = books.clone();
        async move { Ok(books.push(&id, user).await.map(drop)?) }
    });
    let measured = measured.await?;
    collection.drop().await?;
    extras.drop().await?;
    Ok(measured)
}

/// The peer: one array for all, by hand.
async fn update_one(bench: Bench, parents: i64, pushes: Vec<(i64, String)>) -> Result<Samples> {
    let collection = stored(&bench, parents).await?;
    let books = collection.clone();
    let measured = measured(&bench, pushes, move |(id, user)| {
        let books = books.clone();
        async move {
            let push = doc! { "$push": { "customers_purchased": user } };
            books.update_one(doc! { "_id": id }, push).await?;
            Ok(())
        }
    });
    let measured = measured.await?;
    collection.drop().await?;
    Ok(measured)
}

/// The peer at its best: what waits for a parent is pushed by one command, and one at a time, since a second one to
/// the same document would conflict with it.
async fn push_each(bench: Bench, parents: i64, pushes: Vec<(i64, String)>) -> Result<Samples> {
    let collection = stored(&bench, parents).await?;
    let batchers = (0..parents).map(|id| {
        let books = collection.clone();
        Batcher::new(1, move |users: Vec<String>| {
            let books = books.clone();
            async move {
                let push = doc! { "$push": { "customers_purchased": { "$each": users } } };
                books.update_one(doc! { "_id": id }, push).await?;
                Ok(())
            }
        })
    });
    let batchers: Arc<[Batcher<String>]> = batchers.collect();
    let measured = measured(&bench, pushes, move |(id, user)| {
        let batchers = Arc::clone(&batchers);
        async move { batchers[id as usize].put(user).await }
    });
    let measured = measured.await?;
    collection.drop().await?;
    Ok(measured)
}

/// Makes a call for each push, by all writers, and returns the [`MEASURES`].
async fn measured<C>(
    bench: &Bench,
    pushes: Vec<(i64, String)>,
    call: impl Fn((i64, String)) -> C + Clone + Send + 'static,
) -> Result<Samples>
where
    C: Future<Output = Result<()>> + Send + 'static,
{
    let cpu = Cpu::of(bench).await?;
    let items = pushes.len() as f64;
    let before = cpu.of_threads();
    let (rate, mut times) = timed_by_writers(pushes, call).await?;
    let after = cpu.of_threads();
    times.sort_unstable_by(f64::total_cmp);
    let slowest = times.get(times.len() * 99 / 100).copied();
    let micros = |side: usize| (after[side] - before[side]) / items * 1e6;
    Ok(vec![
        rate,
        slowest.unwrap_or(f64::NAN),
        micros(0),
        micros(1),
    ])
}

/// A collection of parents without items.
async fn stored(bench: &Bench, parents: i64) -> Result<Collection<Document>> {
    let collection = bench.db.collection::<Document>(&bench.fresh("sales"));
    let parents = (0..parents).map(|id| doc! { "_id": id, "customers_purchased": [] });
    collection.insert_many(parents).await?;
    Ok(collection)
}
