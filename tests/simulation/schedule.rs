//! One schedule: a seed's run of a few handles that append to two keys.

use std::{pin::pin, sync::Arc, time::Duration};

use bucket_core::server::wire::simulated::install;
use bucket_runtime::{
    Buckets, Outliers,
    bson::Document,
    mongodb::{Client, options::ClientOptions},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::{sleep, timeout},
};

use crate::{
    caller,
    choices::Choices,
    disturbances::Disturbances,
    driver::Driver,
    handle::{
        CAPACITY, Daily, Family, FamilyCounted, FamilyOnce, FamilyOnceCounted, Handle, Numbered,
        NumberedOnce, Timed, TimedOnce,
    },
    judge::{self, WRITER},
    migration::Migrations,
    network::Network,
    scenario::Scenario,
    tasks::JoinSet,
    undone::Safeguard,
    watching::Watching,
    world::{Recorded, World},
    writer::{FOR_EVER, append, load},
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
    /// What was chosen.
    pub choices: Vec<u64>,
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

/// How long faults happen: longer than most schedules take.
const ROUGH_TIME: Duration = Duration::from_secs(600);

/// A thread that runs schedules. Its client sends nothing, but hands out sessions.
pub struct Simulator {
    client: Client,
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
            _runtime: runtime,
        }
    }

    /// Runs a schedule.
    pub fn run(
        &self,
        choices: impl Into<Choices>,
        undone: Option<Safeguard>,
        keep: Keep,
    ) -> Outcome {
        let mut world = World::new(choices.into(), CAPACITY.into(), undone);
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
        let kind = match undone {
            Some(it) if it.is_of_buckets() => network.world().below(5),
            Some(it) if it.is_of_unique_parents() => 6 + 2 * network.world().below(2),
            _ => network.world().below(9),
        };
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
            choices: world.take_choices(),
        }
    }

    /// Two or three handles with four writers, beside whom other things happen. Returns whether a read gives each
    /// writer's items in their order.
    async fn write<H: Handle>(&self, driver: &Driver) -> bool {
        let network = &driver.network;
        let scenario = Scenario::draw::<H>(&mut network.world());
        {
            let mut world = network.world();
            world.changes_capacity = scenario.changes;
            world.is_unguarded = scenario.is_unguarded();
        }
        let disturbances = Disturbances::<H>::prepare(&scenario, driver, &self.client).await;
        let mut handles = Vec::new();
        for n in 0..scenario.handles {
            let db = self.client.database(&format!("h{n}"));
            let combine = network.world().happens(2);
            handles.push(H::open(&db, combine).await);
        }
        {
            let mut world = network.world();
            world.has_events = scenario.migrates() || scenario.watches;
            world.refuses_edits = scenario.migrates();
        }
        let is_exact = H::IS_OF_BUCKETS && scenario.is_plain();
        let watching = match scenario.watches {
            true => Some(Watching::<H>::new(network, &self.client, is_exact).await),
            false => None,
        };
        network.world().is_rough = true;
        let mut calls = JoinSet::new();
        self.begin_writers(&scenario, driver, &handles, &mut calls)
            .await;
        disturbances.begin(&mut calls, &handles[0]);
        if let Some(watching) = &watching {
            watching.begin(&mut calls);
        }
        let migrations =
            (scenario.migrates()).then(|| Migrations::begin::<H>(network, &self.client));
        end(network, calls.join_all()).await;
        if let Some(migrations) = migrations {
            migrations.finish::<H>().await;
        }
        // Until all commands have arrived.
        sleep(Duration::from_secs(60)).await;
        network.world().end_faults();
        let is_in_order = scenario.is_in_order::<H>() && disturbances.keep_order();
        disturbances.finish(&handles).await;
        if let Some(watching) = watching {
            watching.finish().await;
        }
        is_in_order
    }

    /// Four writers, one of whom may load. Two may have the same items, and some write in sessions or in transactions of
    /// theirs.
    async fn begin_writers<H: Handle>(
        &self,
        scenario: &Scenario,
        driver: &Driver,
        handles: &[H],
        calls: &mut JoinSet<()>,
    ) {
        for (writer, (process, handle)) in (0..4).zip(handles.iter().enumerate().cycle()) {
            let (handle, network) = (handle.clone(), driver.network.clone());
            let (is_shared, first) = match writer {
                0 | 1 if scenario.shares => (true, 0),
                _ => (false, writer * WRITER),
            };
            let way = network.world().below(6);
            let session = match way {
                1 | 2 => self.client.start_session().await.ok(),
                _ => None,
            };
            match session {
                session if scenario.loads && writer == 3 => {
                    calls.spawn(load(handle, network, first, session))
                }
                Some(session) if way == 1 && !is_shared => {
                    let (driver, process) = (driver.clone(), format!("h{process}"));
                    calls.spawn(caller::append(handle, driver, process, session, first))
                }
                session => calls.spawn(append(handle, network, first, is_shared, session)),
            }
        }
    }
}

/// Waits for all calls. From some time on no fault happens any more: then each has to end, but those whose processes
/// have ended.
async fn end(network: &Network, calls: impl Future) {
    let mut calls = pin!(calls);
    if timeout(ROUGH_TIME, &mut calls).await.is_err() {
        network.world().end_faults();
        // A writer whose process has ended waits for each of its calls.
        if timeout(100 * FOR_EVER, calls).await.is_err() {
            let mut world = network.world();
            world.fail("G6: a call does not end, though faults have".to_owned());
        }
    }
}

/// Before what happens once in a schedule.
pub(crate) async fn random_pause(network: &Network) {
    let pause = network.world().next_pause();
    sleep(pause).await;
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}
