//! One schedule: a seed's run of a few handles that append to two keys.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{
    __simulated::install,
    Buckets, Outliers,
    bson::Document,
    mongodb::{Client, Database, options::ClientOptions},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    caller,
    driver::Driver,
    handle::{
        CAPACITY, Capacity, Daily, Family, FamilyCounted, FamilyOnce, FamilyOnceCounted, Handle,
        Numbered, NumberedOnce, Timed, TimedOnce,
    },
    import::Import,
    judge::{self, WRITER},
    maintenance::Splits,
    migration::Migrations,
    network::Network,
    undone::Safeguard,
    world::{Recorded, Told, World},
    writer::{append, called, load},
};

/// What a schedule showed.
#[derive(Debug)]
pub struct Outcome {
    /// The guarantee that was broken, and how.
    pub failure: Option<String>,
    /// How many commands were sent.
    pub commands: u64,
    /// The schedule as text, if it was asked for.
    pub trace: Vec<String>,
    /// What the server has carried out, if it was asked for.
    pub record: Vec<Recorded>,
    /// The buckets at the end.
    pub documents: Vec<Document>,
    /// The parents at the end.
    pub parents: Vec<Document>,
}

/// What a schedule keeps besides its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// Its text.
    Trace,
    /// What a server of this wire version has carried out. Then no election rolls writes back, so that another one can
    /// do the same.
    Record(i32),
}

/// What moves items beside the writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// An import of a flat collection.
    Flat,
    /// An import of archived buckets.
    Archive,
    Migration,
}

/// How long a process stands still: longer than the server keeps a transaction.
const STANDSTILL: Duration = Duration::from_secs(61);

/// A thread that runs schedules. Its client sends nothing, but hands out sessions.
pub struct Simulator {
    client: Client,
    /// Whether the capacity may change.
    changes: bool,
    // The client's tasks live here, and are never woken again.
    _runtime: Runtime,
}

impl Simulator {
    /// A simulator for this thread.
    pub fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let client = runtime.block_on(async {
            // Behind a load balancer the driver watches no servers.
            let options = ClientOptions::parse("mongodb://127.0.0.1:1/?loadBalanced=true");
            let options = options.await.expect("options");
            let client = Client::with_options(options).expect("a client");
            sleep(Duration::from_millis(20)).await;
            client
        });
        Self {
            client,
            changes: true,
            _runtime: runtime,
        }
    }

    /// Leaves the capacity as it is.
    pub fn without_changes(self) -> Self {
        let changes = false;
        Self { changes, ..self }
    }

    /// Runs the schedule of a seed.
    pub fn run(&self, seed: u64, undone: Option<Safeguard>, keep: Keep) -> Outcome {
        let mut world = World::new(seed, CAPACITY.into(), undone);
        world.trace = (keep == Keep::Trace).then(Vec::new);
        if let Keep::Record(wire_version) = keep {
            (world.record, world.wire_version) = (Some(Vec::new()), wire_version);
        }
        let network = Network::new(world);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("a runtime");
        let driver = Driver::new(network.clone());
        install(Some(Arc::new(driver.clone())));
        let kinds = match undone.is_some_and(Safeguard::is_of_buckets) {
            true => 5,
            false => 9,
        };
        let kind = network.world().below(kinds);
        let is_in_order = runtime.block_on(async {
            match kind {
                0 => self.write::<Buckets<Numbered>>(&driver).await,
                1 => self.write::<Buckets<NumberedOnce>>(&driver).await,
                2 => self.write::<Buckets<Timed>>(&driver).await,
                3 => self.write::<Buckets<TimedOnce>>(&driver).await,
                4 => self.write::<Buckets<Daily>>(&driver).await,
                5 => self.write::<Outliers<Family>>(&driver).await,
                6 => self.write::<Outliers<FamilyOnce>>(&driver).await,
                7 => self.write::<Outliers<FamilyCounted>>(&driver).await,
                _ => self.write::<Outliers<FamilyOnceCounted>>(&driver).await,
            }
        });
        drop(runtime);
        install(None);
        let mut world = network.world();
        let failure = world.failure.take();
        Outcome {
            failure: failure.or_else(|| judge::end(&world, is_in_order)),
            commands: world.commands,
            trace: world.trace.take().unwrap_or_default(),
            record: world.record.take().unwrap_or_default(),
            documents: world.primary.store.all(),
            parents: world.primary.parents.all(),
        }
    }

    /// Two or three handles with four writers, one of whom may load; the process of one handle may end or stand still.
    /// Two writers may have the same items, and some write in sessions or in transactions of theirs. The capacity may
    /// change meanwhile, items be imported or migrated, and a parent be split. Returns whether a read gives each
    /// writer's items in their order.
    async fn write<H: Handle>(&self, driver: &Driver) -> bool {
        let network = &driver.network;
        let [
            rings,
            handles,
            loads,
            stops,
            shares,
            changes,
            transfers,
            splits,
        ] = [2, 2, 2, 4, 2, 4, 8, 2].map(|below| network.world().below(below));
        // A safeguard is undone where it is needed.
        let undone = network.world().undone;
        let is_of_change = undone.is_some_and(Safeguard::is_of_change);
        let rings = match undone {
            Some(Safeguard::RingGuard) => 1,
            _ => rings as u32,
        };
        let all = [Transfer::Flat, Transfer::Archive, Transfer::Migration];
        let transfer = match undone {
            Some(safeguard) => safeguard.transfer(),
            None => all.get(transfers as usize).copied(),
        };
        let transfer = transfer.filter(|_| H::IS_OF_BUCKETS && !is_of_change);
        let changes = H::IS_OF_BUCKETS && self.changes && (changes == 0 || is_of_change);
        let changes = changes && matches!(transfer, None | Some(Transfer::Flat));
        network.world().changes_capacity = changes;
        let (handles, loads) = (2 + handles, loads == 0);
        // Loads should wait for changes. If they do not, the last change still brings order.
        let is_unguarded = changes && (loads || transfer.is_some());
        network.world().is_unguarded = is_unguarded;
        let migrates = transfer == Some(Transfer::Migration);
        // While the migrations wait for the writers, none of these stands still.
        let stops = stops == 0 && !migrates;
        let shares = H::IS_UNIQUE && shares == 0;
        let splits = match splits {
            0 => Splits::<H>::of_grown(driver, &self.client).await,
            _ => None,
        };
        let mut opened = Vec::new();
        for n in 0..handles {
            let db = self.client.database(&format!("h{n}"));
            let combine = network.world().below(2) == 1;
            opened.push(H::open(&db, combine, rings).await);
        }
        let import = match transfer {
            Some(Transfer::Flat) => Some(Import::<H>::of_flat(driver, &self.client, rings).await),
            Some(Transfer::Archive) => {
                Some(Import::<H>::of_archive(driver, &self.client, rings).await)
            }
            _ => None,
        };
        network.world().has_events = migrates;
        network.world().is_rough = true;
        let mut writers = JoinSet::new();
        for (writer, (process, handle)) in (0..4).zip(opened.iter().enumerate().cycle()) {
            let (handle, network) = (handle.clone(), network.clone());
            let (is_shared, first) = match writer {
                0 | 1 if shares => (true, 0),
                _ => (false, writer * WRITER),
            };
            let way = network.world().below(6);
            let session = match way {
                0 | 1 => self.client.start_session().await.ok(),
                _ => None,
            };
            match session {
                session if loads && writer == 3 => {
                    writers.spawn(load(handle, network, first, session))
                }
                Some(session) if way == 0 && !is_shared => {
                    let (driver, process) = (driver.clone(), format!("h{process}"));
                    writers.spawn(caller::append(handle, driver, process, session, first))
                }
                session => writers.spawn(append(handle, network, first, is_shared, session)),
            };
        }
        if let Some(splits) = &splits {
            splits.begin(&mut writers, &opened[0]);
        }
        if stops {
            writers.spawn(stop(network.clone(), "h0"));
        }
        if changes {
            for name in ["c0", "c1"] {
                let (network, db) = (network.clone(), self.client.database(name));
                writers.spawn(change_capacity::<H>(network, db));
            }
            if network.world().below(3) == 0 {
                writers.spawn(stop(network.clone(), "c0"));
            }
        }
        if let Some(import) = &import {
            import.begin(&mut writers);
        }
        let migrations = migrates.then(|| Migrations::begin::<H>(network, &self.client));
        join(&mut writers).await;
        if let Some(migrations) = migrations {
            migrations.finish::<H>().await;
        }
        // Until all commands have arrived.
        sleep(Duration::from_secs(60)).await;
        network.world().is_rough = false;
        if changes {
            self.finish_change::<H>(network).await;
        }
        if let Some(import) = import {
            import.finish().await;
        }
        if let Some(splits) = splits {
            splits.finish().await;
        }
        H::is_in_order() && !shares && !is_unguarded && transfer != Some(Transfer::Archive)
    }

    /// Whatever has become of the changes before, one that nothing disturbs brings the collection to its capacity.
    async fn finish_change<H: Handle>(&self, network: &Network) {
        let db = self.client.database("c2");
        let capacity = some_capacity(network);
        let changed = H::change_capacity(&db, capacity, false).await;
        let mut world = network.world();
        world.note(|| format!("last change to {capacity:?}: {changed:?}"));
        match changed {
            Ok(progress) if progress.left.is_empty() => {
                world.changes_capacity = false;
                world.is_unguarded = false;
                world.judge();
            }
            other => world.fail(format!("an undisturbed change of capacity: {other:?}")),
        }
    }
}

/// Waits for all of these calls.
pub(crate) async fn join(calls: &mut JoinSet<()>) {
    while let Some(done) = calls.join_next().await {
        if let Err(panic) = done {
            std::panic::resume_unwind(panic.into_panic());
        }
    }
}

/// Before what happens once in a schedule.
pub(crate) async fn random_pause(network: &Network) {
    let pause = network.world().below(150_000);
    sleep(Duration::from_micros(pause)).await;
}

fn some_capacity(network: &Network) -> Capacity {
    let capacities = [Capacity::Narrow, Capacity::First, Capacity::Wide];
    capacities[network.world().below(3) as usize]
}

/// Changes the capacity once, and again after an error. The caller may drop the call.
async fn change_capacity<H: Handle>(network: Network, db: Database) {
    random_pause(&network).await;
    let capacity = some_capacity(&network);
    for _ in 0..2 {
        let repack = network.world().below(2) == 0;
        let changed = called(&network, H::change_capacity(&db, capacity, repack)).await;
        let is_done = changed.told() == Told::Done;
        (network.world()).note(|| format!("capacity changed to {capacity:?}: {:?}", changed.0));
        if is_done {
            return;
        }
    }
}

/// The process of a handle ends, or stands still for a minute.
pub(crate) async fn stop(network: Network, handle: &str) {
    random_pause(&network).await;
    let mut world = network.world();
    let until = (world.below(2) == 0).then(|| Instant::now() + STANDSTILL);
    let what = until.map_or("ends", |_| "stands still for a minute");
    world.note(|| format!("the process of {handle} {what}"));
    world.stopped.insert(handle.to_owned(), until);
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}
