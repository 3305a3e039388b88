//! The memory of a client that appends, in a process of its own.

use std::{env, process::Command};

use bucket_benches::{Contestant, Figure, Result, Unit, in_turn, resident_memory};
use bucket_runtime::{
    Bucket,
    bson::Document,
    mongodb::{Client, Database},
};

use crate::{
    batcher::inserts,
    bench::{Bench, Theme, told},
    peers,
    trade::{Flat, Trade, trade},
    writers::by_writers,
};

pub(crate) const THEME: Theme = Theme {
    name: "resident",
    figures: &[&ONE_KEY, &MANY_KEYS],
    measure: |bench| Box::pin(measure(bench)),
};

static ONE_KEY: Figure = Figure::new(
    "resident_1_key",
    Unit::Megabytes,
    "memory of a process whose 32 writers have appended 100,000 items to one key, capacity 10, against one that inserted flat ones in batches",
);
static MANY_KEYS: Figure = Figure::new(
    "resident_100000_keys",
    Unit::Megabytes,
    "memory of a process whose 32 writers have appended 100,000 items to as many keys, capacity 10, against one that inserted flat ones in batches",
);

/// The variable that makes this program write and say how much memory it has then.
const VARIABLE: &str = "BUCKET_BENCHES_RESIDENT";

async fn measure(bench: Bench) -> Result<()> {
    let items = bench.pick(100_000, 5000);
    for (figure, keys) in [(&ONE_KEY, 1), (&MANY_KEYS, items)] {
        if bench.wants(&[figure]) {
            let contestants = ["append", "flat"].map(|what| contestant(&bench, what, items, keys));
            let [ours, flat] = in_turn(bench.pick(3, 1), contestants).await?;
            bench.report.figure(figure, &ours, &flat);
        }
    }
    Ok(())
}

fn contestant(bench: &Bench, what: &'static str, items: usize, keys: usize) -> Contestant {
    let bench = bench.clone();
    Contestant::new(move |_| {
        let bench = bench.clone();
        async move {
            let collection = bench.fresh("memory");
            let (uri, database) = (&bench.uri, bench.db.name());
            let text = format!("{what}\n{uri}\n{database}\n{collection}\n{items}\n{keys}");
            let mut process = Command::new(env::current_exe()?);
            process.env(VARIABLE, text);
            let output = tokio::task::spawn_blocking(move || process.output()).await??;
            bench.db.collection::<Document>(&collection).drop().await?;
            let megabytes = String::from_utf8(output.stdout)?.trim().parse();
            Ok(vec![megabytes.map_err(|error| {
                format!("a process has not told: {error}")
            })?])
        }
    })
}

/// The work of a process, passed as a text in its environment.
pub(crate) struct Writing {
    what: String,
    uri: String,
    database: String,
    collection: String,
    items: usize,
    keys: usize,
}

impl Writing {
    /// The work, if this process was started for it.
    pub(crate) fn of_this_process() -> Option<Self> {
        let [what, uri, database, collection, items, keys] = told(VARIABLE)?;
        Some(Self {
            what,
            uri,
            database,
            collection,
            items: items.parse().ok()?,
            keys: keys.parse().ok()?,
        })
    }

    /// Writes, and prints the memory of this process in megabytes.
    pub(crate) async fn carry_out(self) -> Result<()> {
        let client = Client::with_uri_str(&self.uri).await?;
        let db = client.database(&self.database);
        // Only numbers are prepared, so that the items take no memory that the writers do not need.
        let (keys, items) = (self.keys, Vec::from_iter(0..self.items));
        let item = move |nth: usize| trade((nth % keys) as i64, nth);
        match self.what.as_str() {
            "append" => append(&db, &self.collection, items, item).await?,
            _ => insert(&db, &self.collection, items, item).await?,
        }
        println!("{}", resident_memory().ok_or("this system does not tell")?);
        Ok(())
    }
}

async fn append(
    db: &Database,
    collection: &str,
    items: Vec<usize>,
    item: impl Fn(usize) -> Flat + Copy + Send + 'static,
) -> Result<()> {
    let buckets = Trade::buckets_in(db.collection::<Document>(collection)).await?;
    let appended = buckets.clone();
    by_writers(items, move |nth| {
        let buckets = appended.clone();
        async move { Ok(buckets.append(&item(nth).into()).await.map(drop)?) }
    })
    .await?;
    // The handle lives until the memory is looked at.
    std::mem::forget(buckets);
    Ok(())
}

async fn insert(
    db: &Database,
    collection: &str,
    items: Vec<usize>,
    item: impl Fn(usize) -> Flat + Copy + Send + 'static,
) -> Result<()> {
    let batcher = inserts(&peers::flat(db, collection).await?);
    by_writers(items, move |nth| {
        let batcher = batcher.clone();
        async move { batcher.put(item(nth)).await }
    })
    .await?;
    Ok(())
}
