//! Reads of random keys while every twentieth call appends: the workloads D (the newest page) and E (a short scan) of
//! YCSB, whose words for them are "status updates" and "threaded conversations".

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bucket_benches::{Contestant, Figure, Result, Unit, figures, in_turn, split};
use bucket_runtime::{
    Bucket, Buckets, ItemToken,
    bson::{DateTime, doc},
    mongodb::Collection,
};
use futures_util::{FutureExt as _, TryStreamExt as _, future::BoxFuture};

use crate::{
    bench::{Bench, Theme, at_capacities, expect},
    cpu::Cpu,
    peers,
    trade::{Flat, Trade, Trade50, Trade1000, by_hand, customer_at_random, of_keys, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "fresh",
    figures: &FIGURES,
    measure: |bench| Box::pin(measure(bench)),
};

at_capacities!(NEWEST: Unit::CallsPerSecond,
    "fresh_newest_" - "",
    "calls of eight tasks: the newest ten items of a random key, and an append in 5 % of the calls (YCSB D), " - ", against a flat indexed collection",
    to reach 1.0 1.0 0.9);
at_capacities!(NEWEST_CPU: Unit::Micros,
    "fresh_newest_" - "_cpu",
    "calls of eight tasks: the newest ten items of a random key, and an append in 5 % of the calls, " - ", against a flat collection: CPU time of the server");
at_capacities!(SCAN: Unit::CallsPerSecond,
    "fresh_scan_" - "",
    "calls of eight tasks: 1 to 30 items of a random key after a token, and an append in 5 % of the calls (YCSB E), " - ", against those after a date in a flat indexed collection",
    to reach 1.0 1.0 0.9);
at_capacities!(SCAN_CPU: Unit::Micros,
    "fresh_scan_" - "_cpu",
    "calls of eight tasks: 1 to 30 items of a random key after a token, and an append in 5 % of the calls, " - ", against a flat collection: CPU time of the server");
static FIGURES: [&Figure; 12] = figures(&[&NEWEST, &NEWEST_CPU, &SCAN, &SCAN_CPU]);

const KEYS: usize = 1000;
const ITEMS: usize = 100_000;
const TASKS: usize = 8;
const PAGE: usize = 10;

/// One call in this many appends.
const APPENDS: usize = 20;

/// The most items of a scan. No key has so few items that a scan would find its end.
const SCANNED: usize = 30;

/// The number of the first appended trade: it is later than all others.
const FIRST: usize = 1_000_000;

type Call<I> = Arc<dyn Fn(I) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// A contestant's calls: the reads get a key and how many items to read.
struct Calls {
    newest: Call<(i64, usize)>,
    scan: Call<(i64, usize)>,
    append: Call<Flat>,
}

async fn measure(bench: Bench) -> Result<()> {
    let trades = of_keys(ITEMS, KEYS, 60);
    let all = [
        ours::<Trade>(&bench, &trades, 10).await?,
        ours::<Trade50>(&bench, &trades, 50).await?,
        ours::<Trade1000>(&bench, &trades, 1000).await?,
        flat(&bench, &trades).await?,
    ];
    let cpu = Cpu::of(&bench).await?;
    let calls = bench.pick(4000, 800);
    for (rates, of_cpu, scans) in [(&NEWEST, &NEWEST_CPU, false), (&SCAN, &SCAN_CPU, true)] {
        let contestants = all.each_ref().map(|of| {
            let read = if scans { &of.scan } else { &of.newest };
            mixed(cpu, calls, read, &of.append)
        });
        let samples = in_turn(bench.pick(20, 3), contestants).await?;
        let [ours @ .., flat] = &samples.map(|samples| split::<3>(&samples));
        for (nth, ours) in ours.iter().enumerate() {
            bench.report.figure(&rates[nth], &ours[0], &flat[0]);
            bench.report.figure(&of_cpu[nth], &ours[2], &flat[2]);
        }
    }
    Ok(())
}

fn mixed(cpu: Cpu, calls: usize, read: &Call<(i64, usize)>, append: &Call<Flat>) -> Contestant {
    let (read, append) = (Arc::clone(read), Arc::clone(append));
    let next = Arc::new(AtomicUsize::new(FIRST));
    cpu.calls_by(TASKS, vec![(); calls], move |()| {
        let nth = next.fetch_add(1, Ordering::Relaxed);
        let key = customer_at_random(nth, KEYS);
        if nth.is_multiple_of(APPENDS) {
            append(trade(key, nth))
        } else {
            read((key, 1 + customer_at_random(!nth, SCANNED) as usize))
        }
    })
}

async fn ours<T: Bucket<Key = (i64,)> + From<Flat>>(
    bench: &Bench,
    trades: &[Flat],
    capacity: usize,
) -> Result<Calls> {
    let buckets: Buckets<T> = bench.holding("fresh", &by_hand(trades, capacity)).await?;
    let mut tokens: Vec<ItemToken> = Vec::new();
    for key in 0..KEYS as i64 {
        let before = buckets.items(&key).page_of_items(scanned_after(key) as u64);
        tokens.push(before.await?.next.ok_or("a key has few items")?);
    }
    let (tokens, of_newest, of_scan) = (Arc::new(tokens), buckets.clone(), buckets.clone());
    Ok(Calls {
        newest: Arc::new(move |(key, _)| {
            let buckets = of_newest.clone();
            async move {
                let page = buckets
                    .items(&key)
                    .newest_first()
                    .page_of_items(PAGE as u64);
                expect(page.await?.items.len(), PAGE)
            }
            .boxed()
        }),
        scan: Arc::new(move |(key, limit)| {
            let (buckets, tokens) = (of_scan.clone(), Arc::clone(&tokens));
            async move {
                let items = buckets.items(&key).after(&tokens[key as usize]);
                let items: Vec<T> = items.limit(limit as u64).await?.try_collect().await?;
                expect(items.len(), limit)
            }
            .boxed()
        }),
        append: Arc::new(move |trade| {
            let buckets = buckets.clone();
            async move { Ok(buckets.append(&trade.into()).await.map(drop)?) }.boxed()
        }),
    })
}

async fn flat(bench: &Bench, trades: &[Flat]) -> Result<Calls> {
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    flat.insert_many(trades).await?;
    let mut dates: Vec<DateTime> = Vec::new();
    for key in 0..KEYS as i64 {
        let of_key = trades.iter().filter(|trade| trade.customer_id == key);
        let last = of_key.take(scanned_after(key)).last();
        dates.push(last.ok_or("a key has no items")?.date);
    }
    let (of_newest, of_scan): (Collection<Flat>, Collection<Flat>) = (flat.clone(), flat.clone());
    let dates = Arc::new(dates);
    Ok(Calls {
        newest: Arc::new(move |(key, _)| {
            let flat = of_newest.clone();
            async move { expect(peers::newest_of(&flat, key, None, PAGE).await?.len(), PAGE) }
                .boxed()
        }),
        scan: Arc::new(move |(key, limit)| {
            let (flat, date) = (of_scan.clone(), dates[key as usize]);
            async move {
                let after = doc! { "customerId": key, "date": { "$gt": date } };
                let after = flat
                    .find(after)
                    .sort(doc! { "date": 1 })
                    .limit(limit as i64);
                let items: Vec<_> = after.await?.try_collect().await?;
                expect(items.len(), limit)
            }
            .boxed()
        }),
        append: Arc::new(move |trade| {
            let flat = flat.clone();
            async move { Ok(flat.insert_one(&trade).await.map(drop)?) }.boxed()
        }),
    })
}

/// How many items of a key stand before its token.
fn scanned_after(key: i64) -> usize {
    1 + key as usize % 25
}
