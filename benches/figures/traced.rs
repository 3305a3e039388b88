//! What spans cost an append.

use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn};
use bucket_runtime::Bucket;
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
    trade::{Trade, of_one_key},
};

pub(crate) const THEME: Theme = Theme {
    name: "traced",
    figures: &[&CPU],
    measure: |bench| Box::pin(measure(bench)),
};

static CPU: Figure = Figure::new(
    "append_traced_cpu",
    Unit::Micros,
    "CPU time of both sides per append by one writer, with a subscriber that reads each span's fields, against none",
)
.to_reach(1.02);

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
    let appends = bench.pick(2000, 200);
    let contestants = [true, false].map(|is_on| {
        let bench = bench.clone();
        Contestant::new(move |_| append(bench.clone(), appends, is_on))
    });
    let [traced, silent] = in_turn(bench.pick(30, 3), contestants).await?;
    bench.report.figure(&CPU, &traced, &silent);
    Ok(())
}

async fn append(bench: Bench, appends: usize, is_on: bool) -> Result<Samples> {
    let collection = bench.db.collection::<Trade>(&bench.fresh("traced"));
    let trades = Trade::buckets_in(collection).await?;
    let all: Vec<Trade> = of_one_key(0..appends).into_iter().map(Into::into).collect();
    let cpu = Cpu::of(&bench).await?;
    let (before, fields) = (cpu.seconds(), FIELDS.load(Relaxed));
    IS_ON.store(is_on, Relaxed);
    for trade in &all {
        trades.append(trade).await?;
    }
    IS_ON.store(false, Relaxed);
    let micros = (cpu.seconds() - before) * 1e6 / appends as f64;
    let read = FIELDS.load(Relaxed) - fields;
    match is_on == (read > appends) {
        true => Ok(vec![micros]),
        false => Err(format!("{read} fields were read").into()),
    }
}
