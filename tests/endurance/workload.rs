//! A collection under load, and the verdict on it.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{Outlier, mongodb::Database};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::task::JoinSet;

use crate::{
    Result,
    check::{self, Verdict},
    history::History,
    items::{
        Book, EXTRAS_CAPACITY, Mark, Millis, Numbered, Seconds, THRESHOLD, UniqueNumbered,
        UniqueSeconds, Windows,
    },
    load::{HOT, KEYS, Load},
    stored::{StoredBucket, StoredParent, at_rest},
    writers,
};

/// How many tasks write to each collection.
const WRITERS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// One item at a time, each in its own command.
    Singly,
    /// One item at a time, combined with those of other writers.
    Combined,
    InBulk,
    /// One item at a time, each sent again until it is acknowledged.
    Repeated,
    RepeatedInBulk,
}

/// The databases of all workloads, and their pace.
pub(crate) struct Setup {
    /// One database per client; the writers share their handles.
    pub(crate) dbs: Vec<Database>,
    /// Whether the keys are spread over shards.
    pub(crate) is_sharded: bool,
    /// How long a writer pauses after a call, on average.
    pub(crate) pace: Duration,
}

pub(crate) struct Workload {
    name: String,
    load: Arc<Load>,
    /// The writers that have not been started.
    writers: Vec<BoxFuture<'static, ()>>,
    tasks: JoinSet<()>,
    judge: fn(Database, String, History) -> BoxFuture<'static, Result<Verdict>>,
}

impl Workload {
    /// All workloads, each on its own collection, ready to start.
    pub(crate) async fn prepare_all(setup: &Setup) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for how in [How::Singly, How::Combined, How::InBulk] {
            all.push(Self::of_buckets::<Seconds>("seconds", setup, how).await?);
            all.push(Self::of_buckets::<Millis>("millis", setup, how).await?);
            all.push(Self::of_buckets::<Windows>("windows", setup, how).await?);
            all.push(Self::of_buckets::<Numbered>("numbered", setup, how).await?);
        }
        for how in [How::Repeated, How::RepeatedInBulk] {
            all.push(Self::of_buckets::<UniqueSeconds>("unique seconds", setup, how).await?);
            all.push(Self::of_buckets::<UniqueNumbered>("unique numbered", setup, how).await?);
        }
        all.push(Self::of_outliers(setup, How::Singly).await?);
        all.push(Self::of_outliers(setup, How::InBulk).await?);
        Ok(all)
    }

    async fn of_buckets<T: Mark>(ordinal: &str, setup: &Setup, how: How) -> Result<Self> {
        let Setup {
            dbs,
            is_sharded,
            pace,
        } = setup;
        let name = format!("{ordinal} {}", how.name());
        if *is_sharded {
            let collection = dbs[0].collection::<T>(&name);
            T::create_collection_in(collection).sharded_hashed().await?;
        }
        let load = Arc::new(Load::new(*pace));
        let mut writers = Vec::new();
        for (nth, db) in dbs.iter().enumerate() {
            let collection = db.collection::<T>(&name);
            let buckets = T::buckets_in(collection)
                .combine(how != How::Singly)
                .await?;
            for writer in (nth..WRITERS).step_by(dbs.len()) {
                let (buckets, load) = (buckets.clone(), Arc::clone(&load));
                writers.push(match how {
                    How::Singly | How::Combined => writers::append(buckets, writer, load).boxed(),
                    How::InBulk => writers::append_many(buckets, writer, load).boxed(),
                    How::Repeated => writers::append_until_stored(buckets, writer, load).boxed(),
                    How::RepeatedInBulk => {
                        writers::append_many_until_stored(buckets, writer, load).boxed()
                    }
                });
            }
        }
        Ok(Self {
            name,
            load,
            writers,
            tasks: JoinSet::new(),
            judge: |db, name, history| Box::pin(judge::<T>(db, name, history)),
        })
    }

    async fn of_outliers(setup: &Setup, how: How) -> Result<Self> {
        let Setup {
            dbs,
            is_sharded,
            pace,
        } = setup;
        let name = format!("outliers {}", how.name());
        let parents = dbs[0].collection::<Book>(&name);
        if *is_sharded {
            let extras = dbs[0].collection(&extras(&name));
            Book::create_collections_in(parents.clone(), extras)
                .sharded_hashed()
                .await?;
        }
        let load = Arc::new(Load::new(*pace));
        let empty = |id| Book {
            id,
            buyers: Vec::new(),
        };
        parents.insert_many((HOT..=KEYS).map(empty)).await?;
        let mut writers = Vec::new();
        for (nth, db) in dbs.iter().enumerate() {
            let parents = db.collection::<Book>(&name);
            let books = Book::outliers_in(parents, db.collection(&extras(&name))).await?;
            for writer in (nth..WRITERS).step_by(dbs.len()) {
                let (books, load) = (books.clone(), Arc::clone(&load));
                writers.push(match how {
                    How::InBulk => writers::push_many(books, writer, load).boxed(),
                    _ => writers::push(books, writer, load).boxed(),
                });
            }
        }
        Ok(Self {
            name,
            load,
            writers,
            tasks: JoinSet::new(),
            judge: |db, name, history| Box::pin(judge_outliers(db, name, history)),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn start(&mut self) {
        for writer in self.writers.drain(..) {
            self.tasks.spawn(writer);
        }
    }

    /// Makes the writers stop after their current call.
    pub(crate) fn end(&self) {
        self.load.end();
    }

    /// Waits for the writers, and compares what they saw with what is stored.
    pub(crate) async fn verdict(self, db: &Database) -> Result<Verdict> {
        self.tasks.join_all().await;
        (self.judge)(db.clone(), self.name, self.load.log.history()).await
    }
}

impl How {
    fn name(self) -> &'static str {
        match self {
            Self::Singly => "singly",
            Self::Combined => "combined",
            Self::InBulk => "in bulk",
            Self::Repeated => "repeated",
            Self::RepeatedInBulk => "repeated in bulk",
        }
    }
}

async fn judge<T: Mark>(db: Database, name: String, history: History) -> Result<Verdict> {
    let stored = at_rest(&db, &name).await?;
    let stored: Vec<_> = stored
        .iter()
        .map(|bucket| StoredBucket::of(bucket, &T::SPEC))
        .collect();
    Ok(check::buckets(&history, &stored, T::FORMAT))
}

async fn judge_outliers(db: Database, name: String, history: History) -> Result<Verdict> {
    let spec = &Book::SPEC;
    let pages = at_rest(&db, &extras(&name)).await?;
    let pages: Vec<_> = pages
        .iter()
        .map(|page| StoredBucket::of_extras(page, spec))
        .collect();
    let parents = at_rest(&db, &name).await?;
    let parents: Vec<_> = parents
        .iter()
        .map(|parent| StoredParent::of(parent, spec))
        .collect();
    Ok(check::outliers(
        &history,
        &parents,
        &pages,
        THRESHOLD,
        EXTRAS_CAPACITY,
    ))
}

fn extras(name: &str) -> String {
    format!("extras of {name}")
}
