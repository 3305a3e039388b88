//! A collection, its clients and its watchers.

use std::{collections::BTreeMap, sync::Arc};

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
    items::{Book, CountedBook, Mark, Numbered, Numbers, Seconds, UniqueNumbered, Windows},
    load::Load,
    setup::Setup,
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
}

/// The databases and the pace of all clients, and chance.
struct Seeded<'s> {
    common: &'s Setup,
    rng: StdRng,
}

impl Collection {
    pub(super) async fn start_all(common: &Setup, seed: u64) -> Result<Vec<Self>> {
        let rng = StdRng::seed_from_u64(seed);
        let mut setup = Seeded { common, rng };
        Ok(vec![
            Self::of_buckets::<Seconds>("seconds", &mut setup).await?,
            Self::of_buckets::<Windows>("windows", &mut setup).await?,
            Self::of_buckets::<Numbered>("numbered", &mut setup).await?,
            Self::of_buckets::<UniqueNumbered>("unique numbered", &mut setup).await?,
            Self::of_parents::<Book>("parents", &mut setup).await?,
            Self::of_parents::<CountedBook>("parents with a total", &mut setup).await?,
        ])
    }

    async fn of_buckets<T: Mark>(name: &'static str, setup: &mut Seeded<'_>) -> Result<Self> {
        let handles = setup.common.buckets::<T>(name, [true, false]).await?;
        Self::start(name, handles, setup).await
    }

    async fn of_parents<T: Numbers>(name: &'static str, setup: &mut Seeded<'_>) -> Result<Self> {
        let handles = setup.common.parents::<T>(name, 0..KEYS).await?;
        Self::start(name, handles, setup).await
    }

    /// Starts the watchers, and once they have begun, the clients. The first handle waits for a primary.
    async fn start<L: List>(
        name: &'static str,
        handles: Vec<L>,
        setup: &mut Seeded<'_>,
    ) -> Result<Self> {
        let load = Arc::new(Load::new(setup.common.pace));
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
            db: setup.common.dbs[nth].clone(),
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
            println!("    {anomaly:?}");
        }
        let contradictions = linear::contradictions(&history, self.order);
        for (key, items) in &contradictions {
            println!(
                "    key {key}: no order of the calls explains what they tell of the items {items:?}"
            );
        }
        Ok(Findings {
            operations: history.operations.len(),
            anomalies: anomalies.len(),
            contradictions: contradictions.len(),
        })
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
    /// How much the two judges found.
    pub(super) fn wrong(&self) -> usize {
        self.anomalies + self.contradictions
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.operations += other.operations;
        self.anomalies += other.anomalies;
        self.contradictions += other.contradictions;
    }
}
