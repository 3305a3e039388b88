//! Types and functions that all themes share.

use std::{
    env, fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bucket_benches::{Environment, Figure, Report, Result};
use bucket_runtime::{
    Bucket, Buckets,
    bson::{DateTime, Document, doc},
    mongodb::{Client, Database},
};
use bucket_testkit::Server;
use futures_util::future::BoxFuture;

use crate::{line, trade::ByHand};

/// Related figures, and one chart.
pub(crate) struct Theme {
    pub(crate) name: &'static str,
    pub(crate) figures: &'static [&'static Figure],
    pub(crate) measure: fn(Bench) -> BoxFuture<'static, Result<()>>,
}

/// Figures at the capacities 10, 50 and 1,000, which their names and texts hold, with goals for the three if there are any.
macro_rules! at_capacities {
    ($name:ident: $unit:expr, $id:literal - $end:expr, $what:literal - $against:expr $(, to reach $ten:literal $fifty:literal $thousand:literal)?) => {
        static $name: [bucket_benches::Figure; 3] = [
            bucket_benches::Figure::new(
                concat!($id, "10", $end),
                $unit,
                concat!($what, "capacity 10", $against),
            )$(.to_reach($ten))?,
            bucket_benches::Figure::new(
                concat!($id, "50", $end),
                $unit,
                concat!($what, "capacity 50", $against),
            )$(.to_reach($fifty))?,
            bucket_benches::Figure::new(
                concat!($id, "1000", $end),
                $unit,
                concat!($what, "capacity 1,000", $against),
            )$(.to_reach($thousand))?,
        ];
    };
}
pub(crate) use at_capacities;

/// The server to measure on, and where the results go.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) uri: String,
    pub(crate) db: Database,
    pub(crate) report: Report,
    names: Arc<AtomicUsize>,
}

impl Bench {
    pub(crate) async fn new(server: &Server, report: Report) -> Result<Self> {
        // Several runs may share a user's own server.
        let name = format!("bucket_benches_{}", std::process::id());
        let uri = match report.options().delay {
            Some(delay) => line::to(server.uri(), delay).await?,
            None => server.uri().to_owned(),
        };
        Ok(Self {
            db: Client::with_uri_str(&uri).await?.database(&name),
            uri,
            report,
            names: Arc::default(),
        })
    }

    /// Whether the command line asks for any of these figures.
    pub(crate) fn wants(&self, figures: &[&Figure]) -> bool {
        figures.iter().any(|figure| self.report.wants(figure))
    }

    /// Chooses the number for a full or a quick run.
    pub(crate) fn pick(&self, full: usize, quick: usize) -> usize {
        self.report.options().pick(full, quick)
    }

    /// The name of a collection that does not exist yet.
    pub(crate) fn fresh(&self, what: &str) -> String {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        format!("{what}_{number}")
    }

    /// A new collection that holds these buckets.
    pub(crate) async fn holding<T: Bucket>(
        &self,
        what: &str,
        buckets: &[ByHand],
    ) -> Result<Buckets<T>> {
        let collection = self.db.collection::<Document>(&self.fresh(what));
        let ours = T::buckets_in(collection).await?;
        let by_hand = ours.collection().clone_with_type::<ByHand>();
        by_hand.insert_many(buckets).await?;
        Ok(ours)
    }

    /// The environment that the figures are measured in.
    pub(crate) async fn environment(&self) -> Result<Environment> {
        let build = self.db.run_command(doc! { "buildInfo": 1 }).await?;
        let date = DateTime::now().try_to_rfc3339_string()?;
        Ok(Environment {
            date: date.chars().take(10).collect(),
            server: build.get_str("version")?.to_owned(),
            driver: driver().unwrap_or_else(|| "unknown".to_owned()),
        })
    }
}

/// An error if another number of items was read, which takes another time.
pub(crate) fn expect(read: usize, all: usize) -> Result<()> {
    match read == all {
        true => Ok(()),
        false => Err(format!("{read} items were read instead of {all}").into()),
    }
}

/// The lines of the environment variable by which a process of this program is told its work; `None` if there is none
/// for this process.
pub(crate) fn told<const LINES: usize>(variable: &str) -> Option<[String; LINES]> {
    let text = env::var(variable).ok()?;
    let lines = text.split('\n').map(str::to_owned);
    lines.collect::<Vec<_>>().try_into().ok()
}

/// The driver's version, which is only in the lock file.
fn driver() -> Option<String> {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).ok()?;
    let (_, package) = lock.split_once("name = \"mongodb\"\nversion = \"")?;
    let (version, _) = package.split_once('"')?;
    Some(version.to_owned())
}
