//! The cost of an append, and how it depends on the length of the history.

use std::ops::Range;

use bucket_benches::{Chart, Contestant, Curves, Figure, Result, Unit, in_turn};
use bucket_runtime::{Bucket, Buckets, bson::Document};

use crate::{
    bench::{Bench, Theme},
    peers,
    trade::{ByHand, Flat, Trade, Trade50, Trade1000, by_hand, of_one_key, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "append",
    figures: &[
        &LEN_0,
        &LEN_100,
        &LEN_1000,
        &LEN_10000,
        &LEN_50000,
        &VS_UPSERT,
        &VS_EXACT_ID,
        &FIFTY,
        &THOUSAND,
    ],
    measure: |bench| Box::pin(measure(bench)),
};

static LEN_0: Figure = Figure::new(
    "append_len_0",
    Unit::Micros,
    "append by one writer to a new key, capacity 10, against flat `insert_one`",
)
.to_reach(1.1);
static LEN_100: Figure = after(
    "append_len_100",
    "append by one writer after 100 full buckets of the key, capacity 10, against flat `insert_one`",
)
.to_reach(1.1);
static LEN_1000: Figure = after(
    "append_len_1000",
    "append by one writer after 1,000 full buckets of the key, capacity 10, against flat `insert_one`",
);
static LEN_10000: Figure = after("append_len_10000", "append by one writer after 10,000 full buckets of the key, capacity 10, against flat `insert_one`").to_reach(1.1);
static LEN_50000: Figure = after("append_len_50000", "append by one writer after 50,000 full buckets of the key, capacity 10, against flat `insert_one`").to_reach(1.1);
static VS_UPSERT: Figure = after(
    "append_len_10000_vs_upsert",
    "append by one writer after 10,000 full buckets of the key, capacity 10, against the manual's upsert",
);
static VS_EXACT_ID: Figure = after(
    "append_len_10000_vs_exact_id",
    "append by one writer after 10,000 full buckets of the key, capacity 10, against an upsert by hand that knows the id of the open bucket",
);

static FIFTY: Figure = after(
    "append_50_items_100000",
    "append by one writer after 100,000 items of the key, capacity 50, against flat `insert_one`",
)
.to_reach(1.1);
static THOUSAND: Figure = after(
    "append_1000_items_100000",
    "append by one writer after 100,000 items of the key, capacity 1,000, against flat `insert_one`",
);

const fn after(name: &'static str, what: &'static str) -> Figure {
    Figure::new(name, Unit::Micros, what)
}

/// The figure for each number of full buckets before the append.
const LENGTHS: [(usize, &Figure); 5] = [
    (0, &LEN_0),
    (100, &LEN_100),
    (1000, &LEN_1000),
    (10_000, &LEN_10000),
    (50_000, &LEN_50000),
];

/// The number of items in a bucket. One call in this many opens a bucket, so a sample is
/// this many calls.
const CAPACITY: usize = 10;

/// The number of a contestant's calls in a round.
const CALLS: usize = 5 * CAPACITY;

async fn measure(bench: Bench) -> Result<()> {
    let mut curves = Curves::new(
        "Time of an append, by length of the key's history",
        Unit::Micros,
        "full buckets of the key",
        [
            "append",
            "flat insert_one",
            "manual's upsert",
            "exact id, by hand",
        ],
    );
    for (length, figure) in LENGTHS {
        let by_hand = length == 10_000 && bench.wants(&[&VS_UPSERT, &VS_EXACT_ID]);
        if !by_hand && !bench.wants(&[figure]) {
            continue;
        }
        let rounds = bench.pick(40, 5);
        let history = History { length, rounds };
        let contestants = history.contestants(&bench).await?;
        let samples = in_turn(rounds, contestants).await?;
        let [ours, flat, upsert, exact_id] = &samples;
        bench.report.figure(figure, ours, flat);
        if by_hand {
            bench.report.figure(&VS_UPSERT, ours, upsert);
            bench.report.figure(&VS_EXACT_ID, ours, exact_id);
        }
        curves.point(length, &samples);
        bench.db.drop().await?;
    }
    bench.report.chart("append", Chart::Curves(curves));
    if bench.wants(&[&FIFTY, &THOUSAND]) {
        larger(&bench).await?;
    }
    Ok(())
}

/// Larger buckets, after as many items as 10,000 buckets of 10 have.
async fn larger(bench: &Bench) -> Result<()> {
    const ITEMS: usize = 100_000;
    let trades = of_one_key(0..ITEMS);
    let fifty: Buckets<Trade50> = bench.holding("append", &by_hand(&trades, 50)).await?;
    let thousand: Buckets<Trade1000> = bench.holding("append", &by_hand(&trades, 1000)).await?;
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    flat.insert_many(&trades).await?;
    // Fifty calls make a sample, since one in fifty opens a bucket.
    let inputs = |round| of_one_key(range(ITEMS + round * CALLS, CALLS));
    let contestants = [
        Contestant::calls(CALLS as u32, inputs, move |trade: Flat| {
            let trades = fifty.clone();
            async move { Ok(trades.append(&trade.into()).await.map(drop)?) }
        }),
        Contestant::calls(CALLS as u32, inputs, move |trade: Flat| {
            let trades = thousand.clone();
            async move { Ok(trades.append(&trade.into()).await.map(drop)?) }
        }),
        Contestant::calls(CALLS as u32, inputs, move |trade: Flat| {
            let flat = flat.clone();
            async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
        }),
    ];
    let [fifty, thousand, flat] = in_turn(bench.pick(40, 5), contestants).await?;
    bench.report.figure(&FIFTY, &fifty, &flat);
    bench.report.figure(&THOUSAND, &thousand, &flat);
    Ok(())
}

/// The documents that are stored before the appends.
#[derive(Clone, Copy)]
struct History {
    length: usize,
    rounds: usize,
}

impl History {
    /// Stores the same history for each contestant, with the peers' own indexes, if any.
    async fn contestants(self, bench: &Bench) -> Result<[Contestant; 4]> {
        let trades: Vec<Flat> = (0..self.keys())
            .flat_map(|key| (0..self.length * CAPACITY).map(move |nth| trade(key as i64, nth)))
            .collect();
        let buckets = by_hand(&trades, CAPACITY);

        let collection = bench.db.collection::<Document>(&bench.fresh("append"));
        let ours = Trade::buckets_in(collection).await?;
        let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
        let upserted = bench.db.collection::<Document>(&bench.fresh("upsert"));
        let exact = bench.db.collection::<Document>(&bench.fresh("exact_id"));
        if !trades.is_empty() {
            for collection in [ours.collection(), &upserted, &exact] {
                collection
                    .clone_with_type::<ByHand>()
                    .insert_many(&buckets)
                    .await?;
            }
            flat.insert_many(&trades).await?;
        }

        let each = CAPACITY as u32;
        Ok([
            Contestant::calls(
                each,
                move |round| self.block(round, CALLS).map(Trade::from).collect(),
                move |trade| {
                    let trades = ours.clone();
                    async move { Ok(trades.append(&trade).await.map(drop)?) }
                },
            ),
            Contestant::calls(
                each,
                move |round| self.block(round, CALLS).collect(),
                move |trade| {
                    let flat = flat.clone();
                    async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
                },
            ),
            Contestant::calls(
                each,
                // The upsert may be so slow that one sample per round must do.
                move |round| self.block(round, CAPACITY).collect(),
                move |trade| {
                    let upserted = upserted.clone();
                    async move { peers::manuals_upsert(&upserted, trade).await }
                },
            ),
            Contestant::calls(
                each,
                move |round| self.with_ids(round),
                move |(id, trade)| {
                    let exact = exact.clone();
                    async move { peers::upsert_by_exact_id(&exact, id, trade).await }
                },
            ),
        ])
    }

    /// A short history would grow, so each round has its own key.
    fn keys(self) -> usize {
        if self.length <= 1000 {
            self.rounds + 1
        } else {
            1
        }
    }

    /// The trades that a round appends.
    fn block(self, round: usize, calls: usize) -> impl Iterator<Item = Flat> {
        let (key, before) = match self.keys() {
            1 => (0, self.length * CAPACITY + round * calls),
            _ => (round, self.length * CAPACITY),
        };
        range(before, calls).map(move |nth| trade(key as i64, nth))
    }

    /// The stored trades, each with the id of its bucket.
    fn with_ids(self, round: usize) -> Vec<(String, Flat)> {
        let block: Vec<Flat> = self.block(round, CALLS).collect();
        let buckets = block.chunks(CAPACITY).flat_map(|bucket| {
            let second = bucket[0].date.timestamp_millis() / 1000;
            let id = format!("{}_{second}", bucket[0].customer_id);
            bucket.iter().map(move |trade| (id.clone(), trade.clone()))
        });
        buckets.collect()
    }
}

fn range(start: usize, length: usize) -> Range<usize> {
    start..start + length
}
