//! Reads of one page, near and far.

use bucket_benches::{Bars, Chart, Contestant, Figure, Result, Unit, in_turn};
use bucket_runtime::bson::doc;

use crate::{
    bench::{Bench, Theme},
    trade::{ByHand, Numbered, by_hand, of_one_key},
};

pub(crate) const THEME: Theme = Theme {
    name: "pages",
    figures: &[&PAGE_1, &PAGE_50000],
    measure: |bench| Box::pin(measure(bench)),
};

static PAGE_1: Figure = Figure::new(
    "page_1",
    Unit::Micros,
    "page 1 of a key with `{#}`, capacity 10, against a typed `find_one` by the bucket's id",
)
.to_reach(1.1);
static PAGE_50000: Figure = Figure::new(
    "page_50000",
    Unit::Micros,
    "page 50,000 of a key with `{#}`, capacity 10, against a typed `find_one` by the bucket's id",
)
.to_reach(1.1);

/// The page number of each figure.
const PAGES: [(u64, &Figure); 2] = [(1, &PAGE_1), (50_000, &PAGE_50000)];

const KEY: i64 = 1;
const CAPACITY: usize = 10;
const BUCKETS: usize = 50_000;

/// The number of a contestant's calls in a round.
const CALLS: usize = 25;

async fn measure(bench: Bench) -> Result<()> {
    let mut buckets = by_hand(&of_one_key(0..BUCKETS * CAPACITY), CAPACITY);
    for (number, bucket) in buckets.iter_mut().enumerate() {
        bucket.id = id(number as u64 + 1);
    }
    let mut bars = Bars::new("Time to read one page of 50,000", Unit::Micros);
    let trades = bench.holding::<Numbered>("pages", &buckets).await?;
    let by_hand = trades.collection().clone_with_type::<ByHand>();
    for (number, figure) in PAGES {
        let (trades, by_hand) = (trades.clone(), by_hand.clone());
        let ours = Contestant::calls(
            1,
            move |_| vec![number; CALLS],
            move |number| {
                let trades = trades.clone();
                async move { found(trades.page(&KEY, number).await?) }
            },
        );
        let peer = Contestant::calls(
            1,
            move |_| vec![id(number); CALLS],
            move |id| {
                let by_hand = by_hand.clone();
                async move { found(by_hand.find_one(doc! { "_id": id }).await?) }
            },
        );
        let samples = in_turn(bench.pick(100, 15), [ours, peer]).await?;
        let [ours, peer] = &samples;
        bench.report.figure(figure, ours, peer);
        let label = format!("page {number}");
        bars = bars.group(label, [("page", ours), ("find_one by id, by hand", peer)]);
    }
    bench.report.chart("pages", Chart::Bars(bars));
    Ok(())
}

/// The id of page `number`.
fn id(number: u64) -> String {
    format!("{KEY}_{:010}", number - 1)
}

/// A missing page is an error, since it would be read in no time.
fn found<T>(page: Option<T>) -> Result<()> {
    page.map(drop).ok_or_else(|| "there is no such page".into())
}
