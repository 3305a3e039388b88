//! Calls that change the capacity, of which two run at once beside the writers.

use bucket_runtime::mongodb::{Client, Database};

use crate::{
    handle::{Capacity, Handle},
    network::Network,
    schedule::random_pause,
    tasks::JoinSet,
    world::Told,
    writer::called,
};

/// Changes of the capacity.
pub(crate) struct Changes {
    network: Network,
    client: Client,
}

impl Changes {
    pub(crate) fn new(network: &Network, client: &Client) -> Self {
        let (network, client) = (network.clone(), client.clone());
        Self { network, client }
    }

    /// Begins two changes. The process of one may end or stand still.
    pub(crate) fn begin<H: Handle>(&self, calls: &mut JoinSet<()>) {
        for name in ["c0", "c1"] {
            let (network, db) = (self.network.clone(), self.client.database(name));
            calls.spawn(change::<H>(network, db));
        }
        if self.network.world().happens(3) {
            self.network.world().stop_later("c0");
        }
    }

    /// Whatever has become of the changes before, one that nothing disturbs brings the collection to its capacity.
    pub(crate) async fn finish<H: Handle>(self) {
        let db = self.client.database("c2");
        let capacity = some_capacity(&self.network);
        let changed = H::change_capacity(&db, capacity).await;
        let mut world = self.network.world();
        world.note(|| format!("last change to {capacity:?}: {changed:?}"));
        match changed {
            Ok(()) => {
                world.is_unguarded = false;
                world.judge();
            }
            Err(error) => world.fail(format!("an undisturbed change of capacity: {error:?}")),
        }
    }
}

/// Changes the capacity once, and again after an error. The caller may drop the call.
async fn change<H: Handle>(network: Network, db: Database) {
    random_pause(&network).await;
    let capacity = some_capacity(&network);
    for _ in 0..2 {
        let changed = called(&network, db.name(), H::change_capacity(&db, capacity)).await;
        let is_done = changed.told() == Told::Done;
        (network.world()).note(|| format!("capacity changed to {capacity:?}: {:?}", changed.0));
        if is_done {
            return;
        }
    }
}

fn some_capacity(network: &Network) -> Capacity {
    let capacities = [Capacity::Narrow, Capacity::First, Capacity::Wide];
    capacities[network.world().below(3) as usize]
}
