//! With the feature `metrics`: what OpenTelemetry's meters measure of each call.

use std::{
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use opentelemetry::{
    KeyValue, global,
    metrics::{Counter, Histogram},
};

use super::counted::CountedCall;
use crate::{Error, error::code_of};

/// The limits, in seconds, that OpenTelemetry's conventions advise for the duration.
const SECONDS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Made for the first call, by the provider that is the global one at that moment.
static METERS: LazyLock<Meters> = LazyLock::new(Meters::new);

/// Whether calls are measured: a benchmark compares that with calls that are not.
#[cfg(feature = "__pure")]
pub static METERS_ON: AtomicBool = AtomicBool::new(true);

pub(super) fn are_on() -> bool {
    #[cfg(feature = "__pure")]
    return METERS_ON.load(Relaxed);
    #[cfg(not(feature = "__pure"))]
    true
}

struct Meters {
    duration: Histogram<f64>,
    items: Counter<u64>,
    tries: Counter<u64>,
    doubts: Counter<u64>,
}

/// The beginning of a call, and its answer.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    answer: OnceLock<MeasuredAnswer>,
    is_measured: AtomicBool,
}

/// When the caller of a call gets an answer, and of which kind.
#[derive(Debug)]
struct MeasuredAnswer {
    seconds: f64,
    error_type: Option<String>,
    code: Option<i32>,
    is_in_doubt: bool,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            begin: Instant::now(),
            answer: OnceLock::new(),
            is_measured: AtomicBool::new(false),
        }
    }

    /// Notes the answer, which for a stream is its beginning.
    pub(super) fn note_answer(&self, error: Option<&Error>) {
        self.answer.get_or_init(|| MeasuredAnswer {
            seconds: self.begin.elapsed().as_secs_f64(),
            error_type: error.map(Error::type_name),
            code: error.and_then(Error::driver).and_then(code_of),
            is_in_doubt: error.is_some_and(Error::is_maybe_stored),
        });
    }

    /// The answer of a call that has ended.
    fn answer(&self) -> &MeasuredAnswer {
        self.answer.get_or_init(|| MeasuredAnswer {
            seconds: self.begin.elapsed().as_secs_f64(),
            error_type: Some("Dropped".to_owned()),
            code: None,
            is_in_doubt: false,
        })
    }
}

impl Meters {
    fn new() -> Self {
        let meter = global::meter("bucket_runtime");
        let counter = |name, unit, text| {
            let counter = meter.u64_counter(name).with_unit(unit);
            counter.with_description(text).build()
        };
        Self {
            duration: meter
                .f64_histogram("db.client.operation.duration")
                .with_unit("s")
                .with_description("Duration of database client operations.")
                .with_boundaries(SECONDS.to_vec())
                .build(),
            items: counter(
                "bucket.client.items",
                "{item}",
                "Items stored, changed, removed or given.",
            ),
            tries: counter(
                "bucket.client.tries",
                "{try}",
                "Calls, and what they did again.",
            ),
            doubts: counter(
                "bucket.client.doubts",
                "{call}",
                "Calls whose write may be stored although they failed.",
            ),
        }
    }
}

/// Measures a call, once, when all that it returned has ended.
pub(super) fn measure(call: &CountedCall) {
    if call.clock.is_measured.swap(true, Relaxed) {
        return;
    }
    let answer = call.clock.answer();
    let mut attributes = attributes(call);
    METERS.items.add(call.items.load(Relaxed), &attributes);
    METERS
        .tries
        .add(1 + call.repeats.load(Relaxed), &attributes);
    if answer.is_in_doubt {
        METERS.doubts.add(1, &attributes);
    }
    if let Some(error) = &answer.error_type {
        attributes.push(KeyValue::new("error.type", error.clone()));
    }
    if let Some(code) = answer.code {
        attributes.push(KeyValue::new("db.response.status_code", code.to_string()));
    }
    METERS.duration.record(answer.seconds, &attributes);
}

fn attributes(call: &CountedCall) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(8);
    attributes.push(KeyValue::new("db.system.name", "mongodb"));
    attributes.push(KeyValue::new("db.operation.name", call.name));
    if let Some(collection) = call.collection.get() {
        attributes.push(KeyValue::new("db.namespace", collection.db.clone()));
        attributes.push(KeyValue::new("db.collection.name", collection.coll.clone()));
    }
    if let Some((host, port)) = call.server() {
        attributes.push(KeyValue::new("server.address", host));
        attributes.extend(port.map(|port| KeyValue::new("server.port", i64::from(port))));
    }
    attributes
}
