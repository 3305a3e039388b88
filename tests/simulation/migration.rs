//! Migrations of all buckets, of which two run at once while writers append.

use std::{future::ready, time::Duration};

use bucket_runtime::mongodb::Client;
use tokio::{sync::watch, time::sleep};

use crate::{
    handle::Handle, judge::stored, network::Network, schedule::random_pause, tasks::JoinSet,
    undone::Safeguard, world::Told, writer::called,
};

/// How long after the last call of a writer its commands may still arrive.
const LATEST: Duration = Duration::from_secs(5);

/// Migrations that follow the writers.
pub(crate) struct Migrations {
    network: Network,
    client: Client,
    are_writers_done: watch::Sender<bool>,
    calls: JoinSet<()>,
}

impl Migrations {
    /// Begins two migrations, each of which is called again after an error. A process may end or stand still.
    pub(crate) fn begin<H: Handle>(network: &Network, client: &Client) -> Self {
        let (are_writers_done, done) = watch::channel(false);
        let mut calls = JoinSet::new();
        for name in ["m0", "m1"] {
            let (network, db) = (network.clone(), client.database(name));
            let done = done.clone();
            calls.spawn(async move {
                random_pause(&network).await;
                for _ in 0..3 {
                    let mut done = done.clone();
                    let until = async move { drop(done.wait_for(|done| *done).await) };
                    let migrated = called(&network, db.name(), H::migrate(&db, until)).await;
                    network
                        .world()
                        .note(|| format!("migrated: {:?}", migrated.0));
                    if migrated.told() == Told::Done {
                        compare(&network);
                        return;
                    }
                }
            });
        }
        // Without a stop, nothing needs this safeguard.
        let needs_stop = network.world().undone == Some(Safeguard::FirstItems);
        if network.world().happens(3) || needs_stop {
            network.world().stop_later("m0");
        }
        Self {
            network: network.clone(),
            client: client.clone(),
            are_writers_done,
            calls,
        }
    }

    /// Tells the migrations that the writers are done. Whatever has become of them, one that nothing disturbs moves
    /// what is left.
    pub(crate) async fn finish<H: Handle>(self) {
        sleep(LATEST).await;
        self.are_writers_done.send_replace(true);
        self.calls.join_all().await;
        self.network.world().end_faults();
        let db = self.client.database("m2");
        let migrated = H::migrate(&db, ready(())).await;
        let mut world = self.network.world();
        world.note(|| format!("last migration: {migrated:?}"));
        if let Err(error) = migrated
            // One before has moved all.
            && !error.is_key_taken()
        {
            world.fail(format!("an undisturbed migration: {error:?}"));
        }
        drop(world);
        compare(&self.network);
    }
}

/// Both collections hold the same items.
fn compare(network: &Network) {
    let mut world = network.world();
    let [old, new] = [&world.primary.store, &world.primary.migrated].map(stored);
    if old != new {
        world.fail(format!("G1: {old:?} were migrated, and {new:?} are there"));
    }
}
