//! The cost of spans and of metrics for an append.

use std::{
    fmt::Debug,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, cpu_seconds_of_threads, in_turn};
use bucket_runtime::{Bucket, Buckets, pure::METERS_ON};
use opentelemetry::global;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
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
    figures: &[&CPU, &CLIENT_CPU, &METERED_CPU, &METERED_CLIENT_CPU],
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

static METERED_CPU: Figure = Figure::new(
    "append_metered_cpu",
    Unit::Micros,
    "CPU time of both sides per append by one writer, with OpenTelemetry's meters, against none; the server's is the same",
)
.to_reach(1.01);

static METERED_CLIENT_CPU: Figure = Figure::new(
    "append_metered_client_cpu",
    Unit::Micros,
    "the same, the client's alone",
);

/// Who looks at a block of appends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Observer {
    Subscriber,
    Meters,
    Nobody,
}

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
    global::set_meter_provider(
        SdkMeterProvider::builder()
            .with_periodic_exporter(InMemoryMetricExporter::default())
            .build(),
    );
    METERS_ON.store(false, Relaxed);
    let collection = bench.db.collection::<Trade>(&bench.fresh("traced"));
    let trades = Trade::buckets_in(collection).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let observers = [Observer::Subscriber, Observer::Meters, Observer::Nobody];
    let contestants = observers.map(|observer| {
        let (trades, next) = (trades.clone(), next.clone());
        Contestant::new(move |_| append(trades.clone(), next.fetch_add(1, Relaxed), observer))
    });
    let cpu = Cpu::of(&bench).await?;
    let before = cpu.of_server();
    let clients = in_turn(bench.pick(200, 3), contestants).await?;
    // The server gets the same commands with spans and without, and its clock is too coarse for a block.
    let appends = next.load(Relaxed) * BLOCK;
    let server = (cpu.of_server() - before) * 1e6 / appends as f64;
    let both = |client: &Samples| client.iter().map(|micros| micros + server).collect();
    let [traced, metered, silent] = &clients;
    bench.report.figure(&CPU, &both(traced), &both(silent));
    bench.report.figure(&CLIENT_CPU, traced, silent);
    bench
        .report
        .figure(&METERED_CPU, &both(metered), &both(silent));
    bench.report.figure(&METERED_CLIENT_CPU, metered, silent);
    Ok(())
}

/// Appends a block of trades of one customer.
async fn append(trades: Buckets<Trade>, customer: usize, observer: Observer) -> Result<Samples> {
    let all = (0..BLOCK).map(|nth| trade(customer as i64, nth).into());
    let all: Vec<Trade> = all.collect();
    let (before, fields) = (cpu_seconds_of_threads(process::id()), FIELDS.load(Relaxed));
    IS_ON.store(observer == Observer::Subscriber, Relaxed);
    METERS_ON.store(observer == Observer::Meters, Relaxed);
    for trade in &all {
        trades.append(trade).await?;
    }
    IS_ON.store(false, Relaxed);
    METERS_ON.store(false, Relaxed);
    let seconds = cpu_seconds_of_threads(process::id())
        .zip(before)
        .map(|(now, before)| now - before);
    let read = FIELDS.load(Relaxed) - fields;
    match (observer == Observer::Subscriber) == (read > BLOCK) {
        true => Ok(vec![seconds.unwrap_or(f64::NAN) * 1e6 / BLOCK as f64]),
        false => Err(format!("{read} fields were read").into()),
    }
}
