//! Collects the spans that end in a test.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::Debug,
    sync::{Arc, LazyLock, Mutex},
};

use tracing::{
    Dispatch, Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::Registry,
};

/// The fields of a span.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) name: &'static str,
    pub(super) fields: BTreeMap<&'static str, String>,
    pub(super) events: Vec<String>,
    /// The fields that are text, and not numbers.
    pub(super) texts: BTreeSet<&'static str>,
}

impl Told {
    pub(super) fn number(&self, field: &str) -> usize {
        let text = self.fields.get(field);
        text.map_or(0, |text| text.parse().unwrap())
    }
}

/// The spans of one test.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans(Arc<Mutex<State>>);

/// While a process has a single subscriber, tracing-core 0.1 asks the thread that meets a span first, which switches
/// the span off for all threads if it has none. So there are two.
static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Registry::default()));

#[derive(Debug, Default)]
struct State {
    open: HashMap<u64, Told>,
    ended: Vec<Told>,
}

impl Spans {
    /// Collects the spans of this thread, and so those of a test with a runtime of one thread.
    pub(super) fn collect() -> (Self, DefaultGuard) {
        LazyLock::force(&SECOND);
        let spans = Self::default();
        let subscriber = Registry::default().with(spans.clone());
        let guard = tracing::subscriber::set_default(subscriber);
        (spans, guard)
    }

    /// The spans that have ended since the last call.
    pub(super) fn take(&self) -> Vec<Told> {
        std::mem::take(&mut self.0.lock().unwrap().ended)
    }

    /// Whether no span has ended since the last call.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().ended.is_empty()
    }

    /// The only span that has ended since the last call.
    pub(super) fn one(&self) -> Told {
        let mut ended = self.take();
        assert_eq!(ended.len(), 1, "{ended:?}");
        ended.remove(0)
    }
}

impl<S: Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.target() == "bucket_runtime" {
            let mut told = Told {
                name: metadata.name(),
                ..Told::default()
            };
            attributes.record(&mut told);
            self.0.lock().unwrap().open.insert(id.into_u64(), told);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(told) = self.0.lock().unwrap().open.get_mut(&id.into_u64()) {
            values.record(told);
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Some(parent) = event.parent() else { return };
        if let Some(told) = self.0.lock().unwrap().open.get_mut(&parent.into_u64()) {
            let mut of_event = Told::default();
            event.record(&mut of_event);
            let (level, message) = (event.metadata().level(), &of_event.fields["message"]);
            told.events.push(format!("{level} {message}"));
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut state = self.0.lock().unwrap();
        if let Some(told) = state.open.remove(&id.into_u64()) {
            state.ended.push(told);
        }
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.texts.insert(field.name());
        self.fields.insert(field.name(), value.to_owned());
    }
}
