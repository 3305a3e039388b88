//! Many writers at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bucket_benches::{Contestant, Result, Samples};
use bucket_runtime::{Bucket, Buckets, bson::Document, mongodb::Collection};
use tokio::task::JoinSet;

use crate::{
    batcher::{Batcher, inserts},
    bench::Bench,
    peers,
    trade::Flat,
};

/// How many tasks of a process write at the same time.
pub(crate) const WRITERS: usize = 32;

/// Makes a call for each item, with the items dealt out to the writers. Returns items per second.
pub(crate) async fn by_writers<I, C>(
    items: Vec<I>,
    call: impl Fn(I) -> C + Clone + Send + 'static,
) -> Result<Samples>
where
    I: Send + 'static,
    C: Future<Output = Result<()>> + Send + 'static,
{
    let (rate, _) = timed_by(WRITERS, items, call).await?;
    Ok(vec![rate])
}

/// Makes a call for each item, as [`by_writers`] does. Returns items per second, and the time of each call in
/// microseconds.
pub(crate) async fn timed_by_writers<I, C>(
    items: Vec<I>,
    call: impl Fn(I) -> C + Clone + Send + 'static,
) -> Result<(f64, Samples)>
where
    I: Send + 'static,
    C: Future<Output = Result<()>> + Send + 'static,
{
    timed_by(WRITERS, items, call).await
}

/// The same by so many writers: the nth one gets the nth item, and then each one so many later.
pub(crate) async fn timed_by<I, C>(
    writers: usize,
    items: Vec<I>,
    call: impl Fn(I) -> C + Clone + Send + 'static,
) -> Result<(f64, Samples)>
where
    I: Send + 'static,
    C: Future<Output = Result<()>> + Send + 'static,
{
    let all = items.len();
    let mut shares: Vec<Vec<I>> = (0..writers).map(|_| Vec::new()).collect();
    for (nth, item) in items.into_iter().enumerate() {
        shares[nth % writers].push(item);
    }
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for share in shares {
        let call = call.clone();
        tasks.spawn(async move {
            let mut times = Samples::with_capacity(share.len());
            for item in share {
                let called = Instant::now();
                call(item).await?;
                times.push(called.elapsed().as_secs_f64() * 1e6);
            }
            Result::Ok(times)
        });
    }
    let mut times = Samples::with_capacity(all);
    while let Some(written) = tasks.join_next().await {
        times.extend(written??);
    }
    Ok((all as f64 / started.elapsed().as_secs_f64(), times))
}

/// Makes calls with so many writers, each again and again, until the time is over. A call gets the number of
/// its writer. Returns the time of each call, in microseconds.
pub(crate) async fn for_a_while<C>(
    duration: Duration,
    writers: usize,
    call: impl Fn(usize) -> C + Clone + Send + 'static,
) -> Result<Samples>
where
    C: Future<Output = Result<()>> + Send + 'static,
{
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for nth in 0..writers {
        let (call, over) = (call.clone(), Arc::clone(&over));
        tasks.spawn(async move {
            let mut times = Samples::new();
            while !over.load(Ordering::Relaxed) {
                let called = Instant::now();
                call(nth).await?;
                times.push(called.elapsed().as_secs_f64() * 1e6);
            }
            Result::Ok(times)
        });
    }
    tokio::time::sleep(duration).await;
    over.store(true, Ordering::Relaxed);
    let mut times = Samples::new();
    while let Some(task) = tasks.join_next().await {
        times.extend(task??);
    }
    Ok(times)
}

/// A contestant that writes all trades to a new collection in each round.
pub(crate) fn writes<R>(
    bench: &Bench,
    trades: &[Flat],
    write: impl Fn(Bench, Vec<Flat>) -> R + Send + 'static,
) -> Contestant
where
    R: Future<Output = Result<Samples>> + Send + 'static,
{
    let (bench, trades) = (bench.clone(), trades.to_vec());
    Contestant::new(move |_| write(bench.clone(), trades.clone()))
}

/// Our contestant.
pub(crate) async fn append<T: Bucket + From<Flat>>(
    bench: Bench,
    trades: Vec<Flat>,
) -> Result<Samples> {
    let collection = bench.db.collection::<Document>(&bench.fresh("append"));
    let buckets = T::buckets_in(collection.clone()).await?;
    let rate = append_each(buckets, trades.into_iter().map(T::from).collect()).await?;
    collection.drop().await?;
    Ok(rate)
}

/// Appends each item by a call of its own.
pub(crate) async fn append_each<T: Bucket>(buckets: Buckets<T>, items: Vec<T>) -> Result<Samples> {
    by_writers(items, move |item: T| {
        let buckets = buckets.clone();
        async move { Ok(buckets.append(&item).await.map(drop)?) }
    })
    .await
}

/// The peer with one document per trade, and a command for each.
pub(crate) async fn insert(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let collection = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let flat = collection.clone();
    let rate = by_writers(trades, move |trade: Flat| {
        let flat = flat.clone();
        async move { Ok(flat.insert_one(&trade).await.map(drop)?) }
    });
    let rate = rate.await?;
    collection.drop().await?;
    Ok(rate)
}

/// The peer with one document per trade, whose waiting callers share commands.
pub(crate) async fn insert_batched(bench: Bench, trades: Vec<Flat>) -> Result<Samples> {
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    batched(flat, trades).await
}

/// A time series collection whose waiting callers share commands.
pub(crate) async fn series_batched(
    bench: Bench,
    trades: Vec<Flat>,
    granularity: &str,
) -> Result<Samples> {
    let series = peers::time_series(&bench.db, &bench.fresh("series"), granularity).await?;
    batched(series, trades).await
}

async fn batched(collection: Collection<Flat>, trades: Vec<Flat>) -> Result<Samples> {
    let rate = put_each(inserts(&collection), trades).await?;
    collection.drop().await?;
    Ok(rate)
}

/// Inserts each trade by a call of its own; the waiting ones share commands.
pub(crate) async fn put_each(batcher: Batcher<Flat>, trades: Vec<Flat>) -> Result<Samples> {
    by_writers(trades, move |trade| {
        let batcher = batcher.clone();
        async move { batcher.put(trade).await }
    })
    .await
}
