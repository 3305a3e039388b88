//! A collection under load, and the verdict on it.

use std::sync::Arc;

use bucket_runtime::{Buckets, Outlier, Outliers, mongodb::Database};
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
    setup::{Setup, extras_of},
    stored::{StoredBucket, StoredParent, at_rest},
    writers::{self, BULK},
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

type Judge = fn(Database, String, History) -> BoxFuture<'static, Result<Verdict>>;

pub(crate) struct Workload {
    name: String,
    load: Arc<Load>,
    /// The writers that have not been started.
    waiting: Vec<BoxFuture<'static, ()>>,
    writers: JoinSet<()>,
    judge: Judge,
}

impl Workload {
    /// All workloads, each on its own collection. No writer starts before the last collection is there, since on a
    /// busy cluster that takes long.
    pub(crate) async fn start_all(setup: &Setup) -> Result<Vec<Self>> {
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
        for (name, count) in [("outliers", 1), ("outliers in bulk", BULK)] {
            all.push(Self::of_outliers(name, setup, count).await?);
        }
        for workload in &mut all {
            for writer in workload.waiting.drain(..) {
                workload.writers.spawn(writer);
            }
        }
        Ok(all)
    }

    async fn of_buckets<T: Mark>(ordinal: &str, setup: &Setup, how: How) -> Result<Self> {
        let name = format!("{ordinal} {how:?}");
        let combines = how != How::Singly;
        let handles = setup.buckets::<T>(&name, [combines; 2]).await?;
        let repeats = matches!(how, How::Repeated | How::RepeatedInBulk);
        let write = |buckets: Buckets<T>, writer, load| match how {
            How::InBulk | How::RepeatedInBulk => {
                writers::append_many(buckets, writer, load, repeats).boxed()
            }
            _ => writers::add(buckets, writer, load, 1, repeats).boxed(),
        };
        let judge: Judge = |db, name, history| judge::<T>(db, name, history).boxed();
        Ok(Self::new(name, setup, &handles, write, judge))
    }

    async fn of_outliers(name: &str, setup: &Setup, count: usize) -> Result<Self> {
        let handles = setup.parents::<Book>(name, HOT..KEYS + 1).await?;
        let write = |books: Outliers<Book>, writer, load| {
            writers::add(books, writer, load, count, false).boxed()
        };
        let judge: Judge = |db, name, history| judge_outliers(db, name, history).boxed();
        Ok(Self::new(name.to_owned(), setup, &handles, write, judge))
    }

    /// The writers share the handles.
    fn new<L: Clone>(
        name: String,
        setup: &Setup,
        handles: &[L],
        write: impl Fn(L, usize, Arc<Load>) -> BoxFuture<'static, ()>,
        judge: Judge,
    ) -> Self {
        let load = Arc::new(Load::new(setup.pace));
        let writers = (0..WRITERS).zip(handles.iter().cycle());
        let writers = writers.map(|(nth, handle)| write(handle.clone(), nth, Arc::clone(&load)));
        Self {
            name,
            waiting: writers.collect(),
            load,
            writers: JoinSet::new(),
            judge,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Makes the writers stop after their current call.
    pub(crate) fn end(&self) {
        self.load.end();
    }

    /// Waits for the writers, and compares what they saw with what is stored.
    pub(crate) async fn verdict(self, db: &Database) -> Result<Verdict> {
        self.writers.join_all().await;
        (self.judge)(db.clone(), self.name, self.load.log.history()).await
    }
}

async fn judge<T: Mark>(db: Database, name: String, history: History) -> Result<Verdict> {
    let stored = at_rest(&db, &name).await?;
    let bucket = |bucket| StoredBucket::of(bucket, &T::SPEC);
    let stored = Vec::from_iter(stored.iter().map(bucket));
    Ok(check::buckets(&history, &stored, T::FORMAT))
}

async fn judge_outliers(db: Database, name: String, history: History) -> Result<Verdict> {
    let spec = &Book::SPEC;
    let pages = at_rest(&db, &extras_of(&name)).await?;
    let page = |page| StoredBucket::of_extras(page, spec);
    let pages = Vec::from_iter(pages.iter().map(page));
    let parents = at_rest(&db, &name).await?;
    let parent = |parent| StoredParent::of(parent, spec);
    let parents = Vec::from_iter(parents.iter().map(parent));
    let (threshold, capacity) = (THRESHOLD, EXTRAS_CAPACITY);
    Ok(check::outliers(
        &history, &parents, &pages, threshold, capacity,
    ))
}
