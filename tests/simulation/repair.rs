//! Verifications beside the writers, and repairs of what another program has damaged, of which two run at once.

use bucket_runtime::{
    bson::{Document, doc},
    mongodb::{Client, Database},
};

use crate::{
    driver::Driver,
    handle::{CAPACITY, Handle},
    judge::buckets,
    network::Network,
    schedule::random_pause,
    tasks::JoinSet,
    world::World,
    writer::called,
};

/// What looks at all documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// Verifications of what only the writers have written.
    Verify,
    /// Repairs of what another program has damaged.
    Repair,
}

/// What another program does to a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Damage {
    /// A bucket seems to be full.
    Count,
    /// A bucket is sealed by another text than its id.
    Seal,
    /// A sum is another one.
    Rollup,
    /// A parent with extras has no flag.
    Flag,
    /// A parent's total is another one.
    Total,
}

/// Repairs of one kind of damage.
pub(crate) struct Repairs {
    driver: Driver,
    client: Client,
    damage: Damage,
}

impl Repairs {
    pub(crate) fn new<H: Handle>(driver: &Driver, client: &Client) -> Self {
        let kinds: &[_] = match (H::IS_OF_BUCKETS, H::IS_UNIQUE) {
            (true, _) => &[Damage::Count, Damage::Seal, Damage::Rollup],
            // Nobody sees an identity that is in extras without a flag.
            (false, true) => &[Damage::Count, Damage::Seal, Damage::Total],
            (false, false) => &[Damage::Count, Damage::Seal, Damage::Total, Damage::Flag],
        };
        let damage = {
            let mut world = driver.network.world();
            match world.undone {
                // The safeguard of repairs is needed here.
                Some(_) => Damage::Count,
                None => kinds[world.below(kinds.len() as u64) as usize],
            }
        };
        let (driver, client) = (driver.clone(), client.clone());
        Self {
            driver,
            client,
            damage,
        }
    }

    /// Whether writers still store their items in order. Without its flag a parent may take items again.
    pub(crate) fn keep_order(&self) -> bool {
        self.damage != Damage::Flag
    }

    /// Damages two documents at most, and begins two repairs, or what rebuilds the rollups, each of which is called
    /// again. A process may end or stand still.
    pub(crate) fn begin<H: Handle>(&self, calls: &mut JoinSet<()>) {
        let network = &self.driver.network;
        calls.spawn(self.damage.happen(self.driver.clone()));
        for name in ["r0", "r1"] {
            let (network, db) = (network.clone(), self.client.database(name));
            let rebuilds = self.damage == Damage::Rollup && network.world().happens(2);
            calls.spawn(async move {
                for _ in 0..2 {
                    random_pause(&network).await;
                    let repaired = match rebuilds {
                        true => called(&network, db.name(), H::rebuild_rollups(&db)).await,
                        false => called(&network, db.name(), H::repair(&db)).await,
                    };
                    network
                        .world()
                        .note(|| format!("repaired: {:?}", repaired.0));
                }
            });
        }
        if network.world().happens(3) {
            network.world().stop_later("r0");
        }
    }

    /// Whatever has become of the repairs before, one that nothing disturbs leaves nothing to repair.
    pub(crate) async fn finish<H: Handle>(self) {
        let repaired = H::repair(&self.client.database("r2")).await;
        let mut world = self.driver.network.world();
        world.note(|| format!("last repair: {repaired:?}"));
        match repaired {
            Ok(left) if only_known(&world, &left) => {
                world.has_damage = false;
                world.judge();
            }
            other => world.fail(format!("an undisturbed repair: {other:?}")),
        }
    }
}

impl Damage {
    /// Happens to one document, and to another one later.
    async fn happen(self, driver: Driver) {
        for _ in 0..2 {
            random_pause(&driver.network).await;
            let command = self.of_one(&mut driver.network.world());
            if let Some(command) = command {
                driver.network.world().has_damage = true;
                // Nobody waits for it.
                drop(driver.deliver(Driver::foreign(command)).await);
            }
        }
    }

    /// The command that damages some document, if there is one.
    fn of_one(self, world: &mut World) -> Option<Document> {
        let is_of_parents = matches!(self, Self::Flag | Self::Total);
        let (collection, store) = match is_of_parents {
            true => ("parents", &world.primary.parents),
            false => ("buckets", &world.primary.store),
        };
        let is_one = |document: &Document| match self {
            Self::Count | Self::Seal => document.get_array("items").is_ok(),
            Self::Rollup => document.contains_key("rollup"),
            Self::Flag => document.get_bool("has_extras") == Ok(true),
            Self::Total => document.contains_key("total"),
        };
        let all = buckets(store).filter(|document| is_one(document));
        let ids = Vec::from_iter(all.map(|document| document.get("_id").cloned()));
        let at = world.below(ids.len() as u64) as usize;
        let id = ids.get(at)?;
        let update = match self {
            Self::Count => doc! { "$set": { "count": CAPACITY as i32 } },
            Self::Seal => doc! { "$set": { "sealed": "elsewhere" } },
            Self::Rollup => doc! { "$inc": { "rollup.changes.sum": 5_i64 } },
            Self::Flag => doc! { "$unset": { "has_extras": "" } },
            Self::Total => doc! { "$inc": { "total": 5_i64 } },
        };
        let statement = doc! { "q": { "_id": id }, "u": update };
        Some(doc! { "update": collection, "updates": [statement] })
    }
}

/// Verifies three times, beside the writers. What it finds must have been there.
pub(crate) async fn verify<H: Handle>(network: Network, db: Database) {
    for _ in 0..3 {
        random_pause(&network).await;
        let term = network.world().term;
        let verified = called(&network, db.name(), H::verify(&db)).await;
        let mut world = network.world();
        world.note(|| format!("verified: {:?}", verified.0));
        // What was read of one primary need not go with what was read of another.
        if let Some(Ok(found)) = verified.0
            && world.term == term
            && !only_known(&world, &found)
        {
            world.fail(format!("a verification finds what is not there: {found:?}"));
        }
    }
}

/// Whether these problems are only those that faults leave: numbers whose buckets no majority had.
pub(crate) fn only_known(world: &World, found: &[String]) -> bool {
    let is_known = |problem: &String| problem.starts_with("Gap") && world.has_lost_buckets;
    found.iter().all(is_known)
}
