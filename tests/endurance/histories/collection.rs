//! A collection, its clients and its watchers.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use bucket_runtime::mongodb::Database;
use futures_util::{FutureExt, future::BoxFuture};
use rand::{SeedableRng, rngs::StdRng};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
};

use super::{
    client::{Client, GROWING, KEYS, SHRINKING},
    list::List,
    watcher::{Last, Watcher},
};
use crate::{
    Result,
    check::{
        history::{self, ReadOrder},
        linear,
    },
    history::{Call, History, Way},
    items::{Book, CountedBook, Mark, Numbered, Numbers, Seconds, UniqueNumbered, Windows},
    load::Load,
};

/// How many clients a collection has.
const CLIENTS: usize = 8;

pub(super) struct Collection {
    name: &'static str,
    order: ReadOrder,
    load: Arc<Load>,
    clients: JoinSet<()>,
    watchers: JoinSet<()>,
    /// Writes and reads a last item of each key.
    finish: BoxFuture<'static, Result<()>>,
}

/// How many operations were judged, and what was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) operations: usize,
    anomalies: usize,
    contradictions: usize,
    by_call: BTreeMap<&'static str, usize>,
}

/// The databases and the pace of all clients.
struct Setup<'s> {
    /// One per driver's client.
    dbs: &'s [Database],
    is_sharded: bool,
    rng: StdRng,
    pace: Duration,
}

impl Collection {
    pub(super) async fn start_all(
        dbs: &[Database],
        is_sharded: bool,
        seed: u64,
        pace: Duration,
    ) -> Result<Vec<Self>> {
        let mut setup = Setup {
            dbs,
            is_sharded,
            rng: StdRng::seed_from_u64(seed),
            pace,
        };
        Ok(vec![
            Self::of_buckets::<Seconds>("seconds", &mut setup).await?,
            Self::of_buckets::<Windows>("windows", &mut setup).await?,
            Self::of_buckets::<Numbered>("numbered", &mut setup).await?,
            Self::of_buckets::<UniqueNumbered>("unique numbered", &mut setup).await?,
            Self::of_parents::<Book>("parents", &mut setup).await?,
            Self::of_parents::<CountedBook>("parents with a total", &mut setup).await?,
        ])
    }

    async fn of_buckets<T: Mark>(name: &'static str, setup: &mut Setup<'_>) -> Result<Self> {
        if setup.is_sharded {
            let collection = setup.dbs[0].collection::<T>(name);
            T::create_collection_in(collection).sharded_hashed().await?;
        }
        let mut handles = Vec::new();
        for (nth, db) in setup.dbs.iter().enumerate() {
            let collection = db.collection::<T>(name);
            handles.push(T::buckets_in(collection).combine(nth == 0).await?);
        }
        Self::start(name, handles, setup).await
    }

    async fn of_parents<T: Numbers>(name: &'static str, setup: &mut Setup<'_>) -> Result<Self> {
        let parents = setup.dbs[0].collection::<T>(name);
        let extras_name = format!("extras of {name}");
        if setup.is_sharded {
            let extras = setup.dbs[0].collection(&extras_name);
            let created = T::create_collections_in(parents.clone(), extras);
            created.sharded_hashed().await?;
        }
        parents.insert_many((0..KEYS).map(T::empty)).await?;
        let mut handles = Vec::new();
        for db in setup.dbs {
            let (parents, extras) = (db.collection::<T>(name), db.collection(&extras_name));
            handles.push(T::outliers_in(parents, extras).await?);
        }
        Self::start(name, handles, setup).await
    }

    /// Starts the watchers, and once they have begun, the clients. The first handle waits for a primary.
    async fn start<L: List>(
        name: &'static str,
        handles: Vec<L>,
        setup: &mut Setup<'_>,
    ) -> Result<Self> {
        let load = Arc::new(Load::new(setup.pace));
        let (mut watchers, mut lasts) = (JoinSet::new(), Vec::new());
        for key in 0..KEYS {
            let (last, receiver) = watch::channel(None);
            lasts.push(last);
            let is_watched = key == GROWING || L::SHOWS_REMOVALS && key == SHRINKING;
            if !is_watched {
                continue;
            }
            let watcher = Watcher {
                id: CLIENTS + 1 + key as usize,
                list: handles[0].clone(),
                key,
                load: Arc::clone(&load),
                rng: StdRng::from_rng(&mut setup.rng),
                last: receiver,
            };
            let (begun, has_begun) = oneshot::channel();
            watchers.spawn(watcher.run(begun));
            has_begun.await?;
        }
        let mut client = |id: usize, nth: usize| Client {
            id,
            list: handles[nth].clone(),
            db: setup.dbs[nth].clone(),
            load: Arc::clone(&load),
            rng: StdRng::from_rng(&mut setup.rng),
            seen: BTreeMap::new(),
        };
        let finish = finish(client(CLIENTS, 0), lasts).boxed();
        let mut clients = JoinSet::new();
        for id in 0..CLIENTS {
            clients.spawn(client(id, id % handles.len()).run());
        }
        Ok(Self {
            name,
            order: L::ORDER,
            load,
            clients,
            watchers,
            finish,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Makes the clients stop after their current call.
    pub(super) fn end(&self) {
        self.load.end();
    }

    /// Waits for all tasks; two judges judge the history, and what is wrong is printed.
    pub(super) async fn findings(self) -> Result<Findings> {
        self.clients.join_all().await;
        self.finish.await?;
        self.watchers.join_all().await;
        let history = self.load.log.history();
        let anomalies = history::history(&history, self.order);
        for anomaly in &anomalies {
            println!("    {anomaly}");
        }
        let contradictions = linear::contradictions(&history, self.order);
        for (key, items) in &contradictions {
            println!(
                "    key {key}: no order of the calls explains what they tell of the items {items:?}"
            );
        }
        Ok(Findings::new(
            &history,
            anomalies.len(),
            contradictions.len(),
        ))
    }
}

/// Appends a last item to each key, tells the watchers, and reads the key.
async fn finish<L: List>(mut client: Client<L>, lasts: Vec<watch::Sender<Last>>) -> Result<()> {
    for (key, last) in (0..).zip(&lasts) {
        let added = client.add_surely(key).await;
        last.send_replace(Some(added));
        client.read(key).await?;
    }
    Ok(())
}

impl Findings {
    fn new(history: &History, anomalies: usize, contradictions: usize) -> Self {
        let mut by_call = BTreeMap::new();
        for operation in &history.operations {
            let call = match &operation.call {
                Call::Add(items) if items.len() == 1 => "added one",
                Call::Add(_) => "added many",
                Call::Upsert(..) => "upserted",
                Call::Edit(..) => "edited",
                Call::Remove(_) => "removed",
                Call::Read(read) => match read.way {
                    Way::AtOnce => "read at once",
                    Way::ByToken => "read by token",
                    Way::OnePage => "read one page",
                    Way::Watch => "watched",
                },
                Call::Watch(_) => "watched",
            };
            *by_call.entry(call).or_default() += 1;
        }
        Self {
            operations: history.operations.len(),
            anomalies,
            contradictions,
            by_call,
        }
    }

    /// How much the two judges found.
    pub(super) fn wrong(&self) -> usize {
        self.anomalies + self.contradictions
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.anomalies += other.anomalies;
        self.contradictions += other.contradictions;
        for (call, count) in &other.by_call {
            *self.by_call.entry(call).or_default() += count;
        }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operations,
            anomalies,
            contradictions,
            by_call,
        } = self;
        write!(
            f,
            "{operations} operations, {anomalies} anomalies, {contradictions} contradictions ("
        )?;
        for (nth, (call, count)) in by_call.iter().enumerate() {
            let comma = if nth == 0 { "" } else { ", " };
            write!(f, "{comma}{call} {count}")?;
        }
        f.write_str(")")
    }
}
