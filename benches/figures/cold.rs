//! Data that is eight times the server's cache: the newest page of keys that have not been read for long.
//!
//! The server has a cache of its own of 0.25 GB, the least that it takes. The operating system may keep the files in
//! memory, so a disk is not necessarily read.

use std::{sync::Arc, time::Instant};

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn, split};
use bucket_runtime::{
    Bucket, Buckets,
    bson::{Bson, DateTime, Document, doc},
    mongodb::{Collection, IndexModel},
};
use bucket_testkit::Server;
use futures_util::{StreamExt as _, TryStreamExt as _, future::BoxFuture, stream};
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::{
    bench::{Bench, Theme, expect},
    cpu::Cpu,
    trade::customer_at_random,
    writers::timed_by,
};

pub(crate) const THEME: Theme = Theme {
    name: "cold",
    figures: &[&TEN[0], &TEN[1], &TEN[2], &FIFTY[0], &FIFTY[1], &FIFTY[2]],
    measure: |bench| Box::pin(measure(bench)),
};

macro_rules! rows {
    ($static:ident: $capacity:literal) => {
        static $static: [Figure; 3] = [
            Figure::new(
                concat!("cold_newest_", $capacity),
                Unit::Micros,
                concat!("the newest ten items of a random key, 2 GB in messages of 500 bytes of 40,000 keys, a server cache of 0.25 GB, capacity ", $capacity, ", against a flat indexed collection"),
            )
            .to_reach(0.5),
            Figure::new(
                concat!("cold_newest_", $capacity, "_cpu"),
                Unit::Micros,
                concat!("the newest ten items of a random key beyond the server's cache, capacity ", $capacity, ", against a flat collection: CPU time of the server"),
            ),
            Figure::new(
                concat!("cold_newest_", $capacity, "_read"),
                Unit::Megabytes,
                concat!("the newest ten items of a random key beyond the server's cache, capacity ", $capacity, ", against a flat collection: read into the cache"),
            ),
        ];
    };
}
rows!(TEN: "10");
rows!(FIFTY: "50");

/// Messages of threads. They come in waves: in each, every thread gets ten, and in the last one one to ten.
macro_rules! messages {
    ($($name:ident: $capacity:literal;)+) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Bucket)]
        #[bucket(collection = "messages", id = "{thread}_{at}", capacity = $capacity)]
        struct $name {
            thread: i64,
            at: DateTime,
            author: i32,
            text: String,
        }

        impl From<Message> for $name {
            fn from(message: Message) -> Self {
                let Message { thread, at, author, text } = message;
                Self { thread, at, author, text }
            }
        }
    )+};
}
messages! {
    Message10: 10;
    Message50: 50;
}

/// A message as a document of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Message {
    thread: i64,
    at: DateTime,
    author: i32,
    text: String,
}

const SMALL_CACHE: [&str; 2] = ["--wiredTigerCacheSizeGB", "0.25"];

const WAVES: usize = 10;
const PAGE: usize = 10;
const TEXT: usize = 420;

/// Prime, so that the threads come in an order that looks random.
const STEP: usize = 15_485_863;

async fn measure(bench: Bench) -> Result<()> {
    // The compiler cannot tell that this future may move to another thread.
    let started = spawn_blocking(|| Handle::current().block_on(Server::start_with(&SMALL_CACHE)));
    let server = started.await??;
    if !server.is_throw_away() {
        println!("  skipped: it needs a server with a small cache, which this one may not have");
        return Ok(());
    }
    let threads = bench.pick(40_000, 2000);
    let bench = Bench::new(&server, bench.report.clone()).await?;
    let source: Arc<str> = (0..1 << 16)
        .map(|nth| char::from(b'a' + customer_at_random(nth, 26) as u8))
        .collect::<String>()
        .into();
    let cpu = Cpu::of(&bench).await?;
    let started = Instant::now();
    let contestants = [
        read(
            &bench,
            cpu,
            threads,
            ours(load::<Message10>(&bench, threads, &source).await?),
        ),
        read(
            &bench,
            cpu,
            threads,
            ours(load::<Message50>(&bench, threads, &source).await?),
        ),
        read(
            &bench,
            cpu,
            threads,
            flat(insert(&bench, threads, &source).await?),
        ),
    ];
    println!("  loaded in {:.0} s", started.elapsed().as_secs_f64());
    let samples = in_turn(bench.pick(12, 3), contestants).await?;
    let [ten, fifty, flat] = &samples.map(|samples| split::<3>(&samples));
    for (figures, ours) in [(&TEN, ten), (&FIFTY, fifty)] {
        for (nth, figure) in figures.iter().enumerate() {
            bench.report.figure(figure, &ours[nth], &flat[nth]);
        }
    }
    Ok(())
}

/// The messages of a wave, thread by thread.
fn wave(
    wave: usize,
    threads: usize,
    source: &Arc<str>,
) -> impl Iterator<Item = Message> + Send + use<> {
    let source = Arc::clone(source);
    (0..threads).flat_map(move |nth| {
        let thread = (nth * STEP + wave) % threads;
        let last = if wave + 1 == WAVES {
            1 + thread % PAGE
        } else {
            PAGE
        };
        let source = Arc::clone(&source);
        (0..last).map(move |nth| message(thread, wave * PAGE + nth, &source))
    })
}

fn message(thread: usize, nth: usize, source: &str) -> Message {
    let number = thread * 1000 + nth;
    let start = customer_at_random(number, source.len() - TEXT) as usize;
    Message {
        thread: thread as i64,
        at: DateTime::from_millis(1_698_300_000_000 + (nth * 60_000 + thread % 60_000) as i64),
        author: customer_at_random(number, 1_000_000) as i32,
        text: source[start..start + TEXT].to_owned(),
    }
}

async fn load<T>(bench: &Bench, threads: usize, source: &Arc<str>) -> Result<Buckets<T>>
where
    T: Bucket + From<Message>,
{
    let collection = bench.db.collection::<Document>(&bench.fresh("messages"));
    let buckets = T::buckets_in(collection).await?;
    for nth in 0..WAVES {
        let stored = buckets.append_many(wave(nth, threads, source).map(T::from));
        stored.await.map_err(|error| error.to_string())?;
    }
    Ok(buckets)
}

/// The messages of a wave come mixed: that is what a table of all threads looks like.
async fn insert(bench: &Bench, threads: usize, source: &Arc<str>) -> Result<Collection<Message>> {
    let flat = bench.db.collection::<Message>(&bench.fresh("flat"));
    let index = IndexModel::builder().keys(doc! { "thread": 1, "at": 1 });
    flat.create_index(index.build()).await?;
    for nth in 0..WAVES {
        let messages: Vec<_> = wave(nth, threads, source).collect();
        let mixed = (0..PAGE).flat_map(|first| messages.iter().skip(first).step_by(PAGE).cloned());
        let parts = Vec::from_iter(mixed);
        let parts = stream::iter(parts.chunks(10_000).map(<[_]>::to_vec).collect::<Vec<_>>());
        let inserted = parts.map(|part| {
            let flat = flat.clone();
            async move { flat.insert_many(&part).ordered(false).await.map(drop) }
        });
        inserted.buffer_unordered(4).try_collect::<()>().await?;
    }
    Ok(flat)
}

type Read = Box<dyn Fn(i64) -> BoxFuture<'static, Result<usize>> + Send + Sync>;

fn ours<T: Bucket<Key = (i64,)>>(buckets: Buckets<T>) -> Read {
    Box::new(move |thread| {
        let buckets = buckets.clone();
        Box::pin(async move {
            let page = buckets.items(&thread).newest_first();
            Ok(page.page_of_items(PAGE as u64).await?.items.len())
        })
    })
}

fn flat(messages: Collection<Message>) -> Read {
    Box::new(move |thread| {
        let messages = messages.clone();
        Box::pin(async move {
            let newest = messages
                .find(doc! { "thread": thread })
                .sort(doc! { "at": -1 });
            let page: Vec<_> = newest.limit(PAGE as i64).await?.try_collect().await?;
            Ok(page.len())
        })
    })
}

/// Reads the newest page of random threads, other ones in each round: microseconds and the server's for each, and the
/// megabytes that it reads into its cache.
fn read(bench: &Bench, cpu: Cpu, threads: usize, read: Read) -> Contestant {
    let (bench, read, calls) = (bench.clone(), Arc::new(read), bench.pick(300, 50));
    Contestant::new(move |round| {
        let (bench, read) = (bench.clone(), Arc::clone(&read));
        async move {
            let nth = round * calls..(round + 1) * calls;
            let inputs = Vec::from_iter(nth.map(|nth| customer_at_random(nth, threads)));
            let ([before, _], read_before) = (cpu.of_threads(), read_into_cache(&bench).await?);
            let (_, times) = timed_by(1, inputs, move |thread| {
                let page = read(thread);
                async move { expect(page.await?, PAGE) }
            })
            .await?;
            let ([after, _], read_after) = (cpu.of_threads(), read_into_cache(&bench).await?);
            let each = |all: f64| all / calls as f64;
            Ok(vec![
                each(times.iter().sum()),
                each((after - before) * 1e6),
                each((read_after - read_before) / 1e6),
            ])
        }
    })
}

/// The bytes that the server has read into its cache since it started.
async fn read_into_cache(bench: &Bench) -> Result<f64> {
    let status = bench.db.run_command(doc! { "serverStatus": 1 }).await?;
    let cache = status.get_document("wiredTiger")?.get_document("cache")?;
    match cache.get("bytes read into cache") {
        Some(Bson::Int32(bytes)) => Ok(f64::from(*bytes)),
        Some(Bson::Int64(bytes)) => Ok(*bytes as f64),
        Some(Bson::Double(bytes)) => Ok(*bytes),
        _ => Err("serverStatus does not tell what was read".into()),
    }
}
