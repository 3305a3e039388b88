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
    outlier::Book,
    writers::by_writers,
};

pub(crate) const THEME: Theme = Theme {
    name: "pushes",
    figures: &[&TYPICAL, &OUTLIER, &PARENTS],
    measure: |bench| Box::pin(measure(bench)),
};

static TYPICAL: Figure = Figure::new(
    "push_typical_vs_update_one",
    Unit::ItemsPerSecond,
    "push by 32 writers to one parent that has room, against `update_one` with `$push`",
)
.to_reach(2.0);
static OUTLIER: Figure = Figure::new(
    "push_outlier_vs_update_one",
    Unit::ItemsPerSecond,
    "push by 32 writers to one parent that becomes an outlier, against `update_one` with `$push`",
)
.to_reach(2.0);
static PARENTS: Figure = Figure::new(
    "push_many_parents_vs_update_one",
    Unit::ItemsPerSecond,
    "push by 32 writers to 1,000 parents, against `update_one` with `$push`",
)
.to_reach(1.0);

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
    let items = bench.pick(3000, 600);
    if bench.wants(&[&TYPICAL]) {
        bars = compare::<Roomy>(&bench, bars, &TYPICAL, "one typical parent", (1, items)).await?;
    }
    if bench.wants(&[&OUTLIER]) {
        bars = compare::<Book>(&bench, bars, &OUTLIER, "one outlier", (1, items)).await?;
    }
    if bench.wants(&[&PARENTS]) {
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
    figure: &'static Figure,
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
    let [ours, peer] = &samples;
    bench.report.figure(figure, ours, peer);
    Ok(bars.group(name, [("push", ours), ("update_one", peer)]))
}

async fn push<T: Outlier<Id = i64, Item = String>>(
    bench: Bench,
    parents: i64,
    pushes: Vec<(i64, String)>,
) -> Result<Samples> {
    let collection = stored(&bench, parents).await?;
    let extras = bench.db.collection::<Document>(&bench.fresh("extra_sales"));
    let books = T::outliers_in(collection.clone(), extras.clone()).await?;
    let rate = by_writers(pushes, move |(id, user)| {
        let books = books.clone();
        async move { Ok(books.push(&id, user).await.map(drop)?) }
    });
    let rate = rate.await?;
    collection.drop().await?;
    extras.drop().await?;
    Ok(rate)
}

/// The peer: one array for all, by hand.
async fn update_one(bench: Bench, parents: i64, pushes: Vec<(i64, String)>) -> Result<Samples> {
    let collection = stored(&bench, parents).await?;
    let books = collection.clone();
    let rate = by_writers(pushes, move |(id, user)| {
        let books = books.clone();
        async move {
            let push = doc! { "$push": { "customers_purchased": user } };
            books.update_one(doc! { "_id": id }, push).await?;
            Ok(())
        }
    });
    let rate = rate.await?;
    collection.drop().await?;
    Ok(rate)
}

/// A collection of parents without items.
async fn stored(bench: &Bench, parents: i64) -> Result<Collection<Document>> {
    let collection = bench.db.collection::<Document>(&bench.fresh("sales"));
    let parents = (0..parents).map(|id| doc! { "_id": id, "customers_purchased": [] });
    collection.insert_many(parents).await?;
    Ok(collection)
}
