//! A collection under load, and the verdict on it.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{Outlier, mongodb::Database};
use futures_util::future::BoxFuture;
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
    /// One at a time, each in a command of its own.
    Singly,
    /// One at a time, travelling together.
    Combined,
    InBulk,
    /// One at a time, each again and again until it is acknowledged.
    Repeated,
    RepeatedInBulk,
}

pub(crate) struct Workload {
    name: String,
    load: Arc<Load>,
    writers: JoinSet<()>,
    judge: fn(Database, String, History) -> BoxFuture<'static, Result<Verdict>>,
}

impl Workload {
    /// All of them, each on a collection of its own. The writers share the handles of these clients.
    pub(crate) async fn start_all(dbs: &[Database], pace: Duration) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for how in [How::Singly, How::Combined, How::InBulk] {
            all.push(Self::of_buckets::<Seconds>("seconds", dbs, how, pace).await?);
            all.push(Self::of_buckets::<Millis>("millis", dbs, how, pace).await?);
            all.push(Self::of_buckets::<Windows>("windows", dbs, how, pace).await?);
            all.push(Self::of_buckets::<Numbered>("numbered", dbs, how, pace).await?);
        }
        for how in [How::Repeated, How::RepeatedInBulk] {
            all.push(Self::of_buckets::<UniqueSeconds>("unique seconds", dbs, how, pace).await?);
            all.push(Self::of_buckets::<UniqueNumbered>("unique numbered", dbs, how, pace).await?);
        }
        all.push(Self::of_outliers(dbs, How::Singly, pace).await?);
        all.push(Self::of_outliers(dbs, How::InBulk, pace).await?);
        Ok(all)
    }

    async fn of_buckets<T: Mark>(
        ordinal: &str,
        dbs: &[Database],
        how: How,
        pace: Duration,
    ) -> Result<Self> {
        let name = format!("{ordinal} {}", how.name());
        let load = Arc::new(Load::new(pace));
        let mut writers = JoinSet::new();
        for (nth, db) in dbs.iter().enumerate() {
            let collection = db.collection::<T>(&name);
            let buckets = T::buckets_in(collection)
                .combine(how != How::Singly)
                .await?;
            for writer in (nth..WRITERS).step_by(dbs.len()) {
                let (buckets, load) = (buckets.clone(), Arc::clone(&load));
                match how {
                    How::Singly | How::Combined => {
                        writers.spawn(writers::append(buckets, writer, load))
                    }
                    How::InBulk => writers.spawn(writers::append_many(buckets, writer, load)),
                    How::Repeated => {
                        writers.spawn(writers::append_until_stored(buckets, writer, load))
                    }
                    How::RepeatedInBulk => {
                        writers.spawn(writers::append_many_until_stored(buckets, writer, load))
                    }
                };
            }
        }
        Ok(Self {
            name,
            load,
            writers,
            judge: |db, name, history| Box::pin(judge::<T>(db, name, history)),
        })
    }

    async fn of_outliers(dbs: &[Database], how: How, pace: Duration) -> Result<Self> {
        let name = format!("outliers {}", how.name());
        let load = Arc::new(Load::new(pace));
        let empty = |id| Book {
            id,
            buyers: Vec::new(),
        };
        let parents = dbs[0].collection::<Book>(&name);
        parents.insert_many((HOT..=KEYS).map(empty)).await?;
        let mut writers = JoinSet::new();
        for (nth, db) in dbs.iter().enumerate() {
            let parents = db.collection::<Book>(&name);
            let books = Book::outliers_in(parents, db.collection(&extras(&name))).await?;
            for writer in (nth..WRITERS).step_by(dbs.len()) {
                let (books, load) = (books.clone(), Arc::clone(&load));
                match how {
                    How::InBulk => writers.spawn(writers::push_many(books, writer, load)),
                    _ => writers.spawn(writers::push(books, writer, load)),
                };
            }
        }
        Ok(Self {
            name,
            load,
            writers,
            judge: |db, name, history| Box::pin(judge_outliers(db, name, history)),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Has the writers stop after the call that they are at.
    pub(crate) fn end(&self) {
        self.load.end();
    }

    /// Waits for the writers, and compares what they saw with what is stored.
    pub(crate) async fn verdict(self, db: &Database) -> Result<Verdict> {
        self.writers.join_all().await;
        (self.judge)(db.clone(), self.name, self.load.history()).await
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
