//! A client whose calls and commands are observed.

use std::{error::Error, ops::Deref, sync::LazyLock};

use bucket_runtime::{
    Bucket,
    mongodb::{Client, Database, options::ClientOptions, otel::OpentelemetryOptions},
};
use bucket_testkit::{Fixture, Server, Test};
use opentelemetry::{KeyValue, trace::TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use serde::{Deserialize, Serialize};
use tracing_subscriber::{layer::SubscriberExt, registry::Registry};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucket)]
#[bucket(collection = "marks", id = "{key}_{#}", capacity = 10)]
pub(crate) struct Mark {
    pub(crate) key: i64,
    pub(crate) n: i64,
}

/// Everything that this process tells OpenTelemetry.
pub(crate) struct Observed {
    pub(crate) spans: InMemorySpanExporter,
    tracers: SdkTracerProvider,
}

pub(crate) static OBSERVED: LazyLock<Observed> = LazyLock::new(|| {
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone());
    let tracers = tracers.build();
    let ours = tracing_opentelemetry::layer().with_tracer(tracers.tracer("bucket_runtime"));
    tracing::subscriber::set_global_default(Registry::default().with(ours)).unwrap();
    Observed { spans, tracers }
});

/// An empty database for one test, whose client tells of its commands.
pub(crate) struct ObservedDatabase(Database);

impl Fixture for ObservedDatabase {
    async fn set_up(test: &Test) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let server = Server::shared().await?;
        let mut options = ClientOptions::parse(server.uri()).await?;
        let tracing = OpentelemetryOptions::builder().enabled(true);
        options.tracing = Some(tracing.tracer_provider(OBSERVED.tracers.clone()).build());
        let client = Client::with_options(options)?;
        Ok(Self(client.database(test.database())))
    }
}

impl Deref for ObservedDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.0
    }
}

/// The text of an attribute, if it is there.
pub(crate) fn attribute<'a>(
    attributes: impl IntoIterator<Item = &'a KeyValue>,
    name: &str,
) -> Option<String> {
    let mut attributes = attributes.into_iter();
    let found = attributes.find(|attribute| attribute.key.as_str() == name);
    found.map(|attribute| attribute.value.to_string())
}
