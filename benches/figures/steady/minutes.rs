//! One busy key for six minutes, which is longer than the server keeps its history (five).
//!
//! Our writers and those of a flat collection take turns, so both meet the same disturbances. Beside them
//! a task appends now and then to a key of its own: while our writers are at work to the key that stands
//! before the busy one in the same collection, otherwise to one in a collection without a busy key.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bucket_benches::{Result, Samples, median};
use bucket_runtime::{
    Bucket, Buckets,
    bson::{Bson, Document, doc},
    mongodb::{
        Client,
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
};
use futures_util::future::BoxFuture;

use crate::{
    batcher::inserts,
    bench::Bench,
    cpu::Cpu,
    peers,
    trade::{Flat, trade},
    writers::for_a_while,
};

/// How long our writers write before the peer's take their turn.
const OURS: Duration = Duration::from_secs(13);
/// How long the peer's writers write.
const PEERS: Duration = Duration::from_secs(2);
/// How many turns make a minute.
pub(super) const TURNS_A_MINUTE: usize = 4;

const BUSY: i64 = 1;
/// The key before the busy one, in the order of the open index.
const COLD: i64 = 0;
/// The pause between two appends to the cold key.
const COLD_PAUSE: Duration = Duration::from_millis(50);

/// Who writes: each handle has a client of its own, and shares nothing with the others but the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writers {
    pub(super) handles: usize,
    pub(super) each: usize,
}

/// A turn of our writers or of the peer's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Items a second.
    pub(super) rate: f64,
    /// CPU time of the server for each item, in microseconds.
    pub(super) server_cpu: f64,
    /// CPU time of this process for each item, in microseconds.
    pub(super) client_cpu: f64,
    /// Refusals because of a duplicate key, for each item.
    pub(super) duplicates: f64,
    /// Entries that the server's cursors skipped, for each item.
    pub(super) skipped: f64,
    /// An append to the cold key, in microseconds.
    pub(super) cold: f64,
}

/// The turns of both, in order.
pub(super) struct Turns {
    pub(super) ours: Vec<Turn>,
    pub(super) peers: Vec<Turn>,
}

type Write = Arc<dyn Fn(usize, Flat) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// Measures so many minutes; a quick run has only its first turns.
pub(super) async fn minutes<T>(bench: &Bench, writers: Writers, turns: usize) -> Result<Turns>
where
    T: Bucket + From<Flat>,
{
    let watch = Watch::new(bench).await?;
    let (busy, alone) = (bench.fresh("append"), bench.fresh("alone"));
    let ours = ours::<T>(bench, &busy, writers.handles, &watch).await?;
    let beside = ours[0].clone();
    let alone = T::buckets_in(bench.db.collection::<Document>(&alone)).await?;
    let flat = peers::flat(&bench.db, &bench.fresh("flat")).await?;
    let append: Write = Arc::new(move |nth, trade| {
        let buckets = ours[nth % ours.len()].clone();
        Box::pin(async move { Ok(buckets.append(&trade.into()).await.map(drop)?) })
    });
    let batcher = inserts(&flat);
    let insert: Write = Arc::new(move |_, trade| {
        let batcher = batcher.clone();
        Box::pin(async move { batcher.put(trade).await })
    });
    let (next, next_flat) = (Arc::default(), Arc::default());
    let all = writers.handles * writers.each;
    let mut found = Turns {
        ours: Vec::new(),
        peers: Vec::new(),
    };
    let share = bench.pick(1, 10) as u32;
    for _ in 0..turns {
        let turn = watch.turn(all, &append, &next, &beside, OURS / share);
        found.ours.push(turn.await?);
        let turn = watch.turn(all, &insert, &next_flat, &alone, PEERS / share);
        found.peers.push(turn.await?);
    }
    Ok(found)
}

/// Handles of one collection, each with a client of its own.
async fn ours<T: Bucket>(
    bench: &Bench,
    name: &str,
    handles: usize,
    watch: &Watch,
) -> Result<Vec<Buckets<T>>> {
    let mut ours = Vec::new();
    for _ in 0..handles {
        let mut options = ClientOptions::parse(&bench.uri).await?;
        options.command_event_handler = Some(watch.counts_duplicates());
        let db = Client::with_options(options)?.database(bench.db.name());
        ours.push(T::buckets_in(db.collection::<Document>(name)).await?);
    }
    Ok(ours)
}

/// What is measured beside the number of items.
struct Watch {
    bench: Bench,
    cpu: Cpu,
    duplicates: Arc<AtomicU64>,
}

impl Watch {
    async fn new(bench: &Bench) -> Result<Self> {
        Ok(Self {
            bench: bench.clone(),
            cpu: Cpu::of(bench).await?,
            duplicates: Arc::default(),
        })
    }

    fn counts_duplicates(&self) -> EventHandler<CommandEvent> {
        let duplicates = Arc::clone(&self.duplicates);
        EventHandler::callback(move |event| {
            if let CommandEvent::Succeeded(event) = event {
                let refused = refused_as_duplicates(&event.reply);
                duplicates.fetch_add(refused as u64, Ordering::Relaxed);
            }
        })
    }

    /// Entries that cursors have passed since the server started.
    async fn skipped(&self) -> Result<f64> {
        let status = self.bench.db.run_command(doc! { "serverStatus": 1 });
        let status = status.await?;
        let cursors = (status.get_document("wiredTiger")?).get_document("cursor")?;
        let skipped = ["next", "prev"].map(|way| {
            match cursors.get(format!(
                "Total number of entries skipped by cursor {way} calls"
            )) {
                Some(Bson::Int32(entries)) => f64::from(*entries),
                Some(Bson::Int64(entries)) => *entries as f64,
                _ => f64::NAN,
            }
        });
        Ok(skipped.iter().sum())
    }

    async fn turn<T: Bucket + From<Flat>>(
        &self,
        writers: usize,
        write: &Write,
        next: &Arc<AtomicUsize>,
        cold: &Buckets<T>,
        duration: Duration,
    ) -> Result<Turn> {
        let skipped = self.skipped().await?;
        let duplicates = self.duplicates.load(Ordering::Relaxed);
        let (server, client) = (self.cpu.of_server(), self.cpu.of_client());
        let (started, first) = (Instant::now(), next.load(Ordering::Relaxed));
        let cold = cold.clone();
        let cold = tokio::spawn(async move { append_to_cold_key(&cold, first, duration).await });
        let (write, next) = (Arc::clone(write), Arc::clone(next));
        let times = for_a_while(duration, writers, move |writer| {
            write(writer, trade(BUSY, next.fetch_add(1, Ordering::Relaxed)))
        });
        let items = times.await?.len() as f64;
        let rate = items / started.elapsed().as_secs_f64();
        let duplicates = self.duplicates.load(Ordering::Relaxed) - duplicates;
        Ok(Turn {
            rate,
            server_cpu: (self.cpu.of_server() - server) / items * 1e6,
            client_cpu: (self.cpu.of_client() - client) / items * 1e6,
            duplicates: duplicates as f64 / items,
            skipped: (self.skipped().await? - skipped) / items,
            cold: median(&cold.await??),
        })
    }
}

/// The statements that a reply refuses because of a duplicate key (11000). `update` lists refused statements
/// alone, `bulkWrite` (from 8.0 on) all of them.
fn refused_as_duplicates(reply: &Document) -> usize {
    let updates = reply.get_array("writeErrors").ok();
    let bulk_write = reply.get_document("cursor").ok();
    let bulk_write = bulk_write.and_then(|cursor| cursor.get_array("firstBatch").ok());
    let statements = updates.into_iter().chain(bulk_write).flatten();
    let codes = statements.filter_map(|statement| statement.as_document()?.get_i32("code").ok());
    codes.filter(|code| *code == 11000).count()
}

/// The times of appends to the cold key, in microseconds.
async fn append_to_cold_key<T: Bucket + From<Flat>>(
    buckets: &Buckets<T>,
    first: usize,
    duration: Duration,
) -> Result<Samples> {
    let (mut times, started) = (Samples::new(), Instant::now());
    for nth in first.. {
        if started.elapsed() >= duration {
            break;
        }
        let item = T::from(trade(COLD, nth));
        let called = Instant::now();
        buckets.append(&item).await?;
        times.push(called.elapsed().as_secs_f64() * 1e6);
        tokio::time::sleep(COLD_PAUSE).await;
    }
    Ok(times)
}
