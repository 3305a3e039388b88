//! With the feature `metrics`: what OpenTelemetry's meters measure of each call.

use std::{
    sync::{
        LazyLock,
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

struct Meters {
    duration: Histogram<f64>,
    items: Counter<u64>,
    tries: Counter<u64>,
    doubts: Counter<u64>,
}

/// The beginning of a call, and what was measured already.
#[derive(Debug)]
pub(super) struct Clock {
    begin: Instant,
    is_measured: AtomicBool,
    has_ended: AtomicBool,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            begin: Instant::now(),
            is_measured: AtomicBool::default(),
            has_ended: AtomicBool::default(),
        }
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

/// Measures the call when its caller gets the answer: for a stream that is its beginning.
pub(super) fn measure_answer(call: &CountedCall, error: Option<&Error>) {
    let mut attributes = attributes(call);
    if error.is_some_and(Error::is_maybe_stored) {
        METERS.doubts.add(1, &attributes);
    }
    if let Some(error) = error {
        attributes.push(KeyValue::new("error.type", error.type_name()));
        if let Some(code) = error.driver().and_then(code_of) {
            attributes.push(KeyValue::new("db.response.status_code", code.to_string()));
        }
    }
    measure_duration(call, &attributes);
}

/// Measures what the call has counted; once, when all that it returned has ended.
pub(super) fn measure_end(call: &CountedCall) {
    if call.clock.has_ended.swap(true, Relaxed) {
        return;
    }
    let mut attributes = attributes(call);
    METERS.items.add(call.items.load(Relaxed), &attributes);
    METERS
        .tries
        .add(1 + call.repeats.load(Relaxed), &attributes);
    if !call.clock.is_measured.load(Relaxed) {
        attributes.push(KeyValue::new("error.type", "Dropped"));
        measure_duration(call, &attributes);
    }
}

fn measure_duration(call: &CountedCall, attributes: &[KeyValue]) {
    call.clock.is_measured.store(true, Relaxed);
    let seconds = call.clock.begin.elapsed().as_secs_f64();
    METERS.duration.record(seconds, attributes);
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
