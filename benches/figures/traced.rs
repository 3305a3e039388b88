//! The cost of spans for an append.

use std::{
    fmt::Debug,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, cpu_seconds_of_threads, in_turn};
use bucket_runtime::{Bucket, Buckets};
use tracing::{
    Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt as _},
    registry::Registry,
};

use crate::{
    bench::{Bench, Theme},
    cpu::Cpu,
    trade::{Trade, trade},
};

pub(crate) const THEME: Theme = Theme {
    name: "traced",
    figures: &[&CPU, &CLIENT_CPU],
    measure: |bench| Box::pin(measure(bench)),
};

static CPU: Figure = Figure::new(
    "append_traced_cpu",
    Unit::Micros,
    "CPU time of both sides per append by one writer, with a subscriber that reads each span's fields, against none; the server's is the same",
)
.to_reach(1.02);

static CLIENT_CPU: Figure = Figure::new(
    "append_traced_client_cpu",
    Unit::Micros,
    "the same, the client's alone",
);

/// How many appends make a sample.
const BLOCK: usize = 250;

/// Whether the subscriber wants anything at the moment.
static IS_ON: AtomicBool = AtomicBool::new(false);
static FIELDS: AtomicUsize = AtomicUsize::new(0);

/// Reads the fields of all spans.
struct Reader;

impl<S: Subscriber> Layer<S> for Reader {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match metadata.target() {
            "bucket_runtime" => Interest::sometimes(),
            _ => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        IS_ON.load(Relaxed) && metadata.target() == "bucket_runtime"
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        attributes.record(&mut Count);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut Count);
    }
}

struct Count;

impl Visit for Count {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {
        FIELDS.fetch_add(1, Relaxed);
    }
}

async fn measure(bench: Bench) -> Result<()> {
    tracing::subscriber::set_global_default(Registry::default().with(Reader))?;
    let collection = bench.db.collection::<Trade>(&bench.fresh("traced"));
    let trades = Trade::buckets_in(collection).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let contestants = [true, false].map(|is_traced| {
        let (trades, next) = (trades.clone(), next.clone());
        Contestant::new(move |_| append(trades.clone(), next.fetch_add(1, Relaxed), is_traced))
    });
    let cpu = Cpu::of(&bench).await?;
    let before = cpu.of_server();
    let clients = in_turn(bench.pick(200, 3), contestants).await?;
    // The server gets the same commands with spans and without, and its clock is too coarse for a block.
    let appends = next.load(Relaxed) * BLOCK;
    let server = (cpu.of_server() - before) * 1e6 / appends as f64;
    let both = |client: &Samples| client.iter().map(|micros| micros + server).collect();
    let [traced, silent] = &clients;
    bench.report.figure(&CPU, &both(traced), &both(silent));
    bench.report.figure(&CLIENT_CPU, traced, silent);
    Ok(())
}

/// Appends a block of trades of one customer.
async fn append(trades: Buckets<Trade>, customer: usize, is_traced: bool) -> Result<Samples> {
    let all = (0..BLOCK).map(|nth| trade(customer as i64, nth).into());
    let all: Vec<Trade> = all.collect();
    let (before, fields) = (cpu_seconds_of_threads(process::id()), FIELDS.load(Relaxed));
    IS_ON.store(is_traced, Relaxed);
    for trade in &all {
        trades.append(trade).await?;
    }
    IS_ON.store(false, Relaxed);
    let seconds = cpu_seconds_of_threads(process::id())
        .zip(before)
        .map(|(now, before)| now - before);
    let read = FIELDS.load(Relaxed) - fields;
    match is_traced == (read > BLOCK) {
        true => Ok(vec![seconds.unwrap_or(f64::NAN) * 1e6 / BLOCK as f64]),
        false => Err(format!("{read} fields were read").into()),
    }
}
