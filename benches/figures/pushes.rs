//! Many writers that push to one parent, and to many.

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::{
    Outlier,
    bson::{Document, doc},
    mongodb::Collection,
};

use serde::{Deserialize, Serialize};

use crate::{
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
    ($name:literal, $rate:literal, $what:literal) => {
        [
            Figure::new($name, Unit::ItemsPerSecond, $what).to_reach($rate),
            Figure::new(
                concat!($name, "_p99"),
                Unit::Micros,
                "the same, the time that 99 % of the calls take at most",
            )
            .to_reach(1.0),
            Figure::new(
                concat!($name, "_server_cpu"),
                Unit::Micros,
                "the same, CPU time of the server for each item",
            ),
            Figure::new(
                concat!($name, "_client_cpu"),
                Unit::Micros,
                "the same, CPU time of the client for each item",
            ),
        ]
    };
}

static TYPICAL: [Figure; MEASURES] = measures!(
    "push_typical_vs_update_one",
    2.0,
    "push by 32 writers to one parent that has room, against `update_one` with `$push`"
);
static OUTLIER: [Figure; MEASURES] = measures!(
    "push_outlier_vs_update_one",
    2.0,
    "push by 32 writers to one parent that becomes an outlier, against `update_one` with `$push`"
);
static PARENTS: [Figure; MEASURES] = measures!(
    "push_many_parents_vs_update_one",
    1.0,
    "push by 32 writers to 1,000 parents, against `update_one` with `$push`"
);
static FIGURES: [&Figure; 3 * MEASURES] = {
    let mut all = [&TYPICAL[0]; 3 * MEASURES];
    let mut at = 0;
    while at < MEASURES {
        all[at] = &TYPICAL[at];
        all[MEASURES + at] = &OUTLIER[at];
        all[2 * MEASURES + at] = &PARENTS[at];
        at += 1;
    }
    all
};

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
    figures: &'static [Figure; MEASURES],
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
    let peer = {
        let bench = bench.clone();
        Contestant::new(move |_| update_one(bench.clone(), parents, pushes.clone()))
    };
    let samples = in_turn(bench.pick(7, 3), [ours, peer]).await?;
    let [ours, peer] = samples.map(|samples| {
        std::array::from_fn::<_, MEASURES, _>(|nth| {
            Samples::from_iter(samples.iter().skip(nth).step_by(MEASURES).copied())
        })
    });
    for (nth, figure) in figures.iter().enumerate() {
        bench.report.figure(figure, &ours[nth], &peer[nth]);
    }
    Ok(bars.group(name, [("push", &ours[0]), ("update_one", &peer[0])]))
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
