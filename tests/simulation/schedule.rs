//! One schedule: a seed's run of a few handles that append to two keys.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{
    __simulated::install,
    Bucket, Buckets,
    bson::{DateTime, Document},
    mongodb::{Client, options::ClientOptions},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    driver::Driver,
    judge::{self, WRITER},
    network::Network,
    undone::Safeguard,
    world::{Recorded, Told, World},
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
    /// The documents at the end.
    pub documents: Vec<Document>,
}

/// What a schedule keeps besides its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nothing.
    Nothing,
    /// Its text.
    Trace,
    /// What the server has carried out. Then no election rolls writes back, so that another server can do the same.
    Record,
}

const CAPACITY: u32 = 3;

/// How long callers of a crashed handle wait: longer than all else.
const FOR_EVER: Duration = Duration::from_secs(1 << 20);

macro_rules! readings {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "buckets", id = $id, capacity = 3, items = "items")]
        struct $name {
            sensor: i64,
            at: DateTime,
            n: i64,
        }

        impl Reading for $name {


            fn new(sensor: i64, n: i64) -> Self {
                Self { sensor, at: DateTime::from_millis(n % 2 * 1000), n }
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

trait Reading: Bucket + Clone + Send + Sync {
    fn new(sensor: i64, n: i64) -> Self;
    fn n(&self) -> i64;
}

readings! {
    Numbered("{sensor}_{#}")
    Timed("{sensor}_{at}")
}

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

    /// Runs the schedule of a seed.
    pub fn run(&self, seed: u64, undone: Option<Safeguard>, keep: Keep) -> Outcome {
        let mut world = World::new(seed, CAPACITY.into(), undone);
        world.trace = (keep == Keep::Trace).then(Vec::new);
        world.record = (keep == Keep::Record).then(Vec::new);
        let network = Network::new(world);
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("a runtime");
        install(Some(Arc::new(Driver::new(network.clone()))));
        let is_numbered = network.world().below(2) == 0;
        runtime.block_on(async {
            match is_numbered {
                true => self.write::<Numbered>(&network).await,
                false => self.write::<Timed>(&network).await,
            }
        });
        drop(runtime);
        install(None);
        let mut world = network.world();
        let failure = world.failure.take();
        Outcome {
            failure: failure.or_else(|| judge::end(&world, is_numbered)),
            commands: world.commands,
            trace: world.trace.take().unwrap_or_default(),
            record: world.record.take().unwrap_or_default(),
            documents: world.primary.store.documents.clone(),
        }
    }

    /// Two or three handles with four writers, one of whom may load; one handle may crash.
    async fn write<T: Reading>(&self, network: &Network) {
        let (rings, handles, loads, crashes) = {
            let mut world = network.world();
            let rings = [0, 1][world.below(2) as usize];
            (
                rings,
                2 + world.below(2),
                world.below(2) == 0,
                world.below(4) == 0,
            )
        };
        let mut opened = Vec::new();
        for n in 0..handles {
            let db = self.client.database(&format!("h{n}"));
            let combine = network.world().below(2) == 1;
            let buckets = T::buckets(&db).combine(combine).__ring_after(rings).await;
            opened.push(buckets.expect("an opened collection"));
        }
        network.world().is_rough = true;
        let mut writers = JoinSet::new();
        for (writer, buckets) in (0..4).zip(opened.iter().cycle()) {
            let (buckets, network) = (buckets.clone(), network.clone());
            match loads && writer == 3 {
                true => writers.spawn(load::<T>(buckets, network, writer * WRITER)),
                false => writers.spawn(append::<T>(buckets, network, writer * WRITER)),
            };
        }
        if crashes {
            let network = network.clone();
            writers.spawn(async move {
                let after = network.world().below(150_000);
                sleep(Duration::from_micros(after)).await;
                let mut world = network.world();
                world.note(|| "h0 crashes".to_owned());
                world.crashed.insert("h0".to_owned());
            });
        }
        while let Some(done) = writers.join_next().await {
            if let Err(panic) = done {
                std::panic::resume_unwind(panic.into_panic());
            }
        }
        // Until all commands have arrived.
        sleep(Duration::from_secs(60)).await;
    }
}

/// Appends three items, one after the other. Now and then the caller drops a call.
async fn append<T: Reading>(buckets: Buckets<T>, network: Network, first: i64) {
    for item in first..first + 3 {
        let (sensor, is_impatient) = {
            let mut world = network.world();
            (i64::from(world.below(4) == 0), world.below(12) == 0)
        };
        let patience = match is_impatient {
            true => Duration::from_millis(15),
            false => FOR_EVER,
        };
        let item = T::new(sensor, item);
        let told = match timeout(patience, buckets.append(&item).into_future()).await {
            Ok(Ok(_)) => Told::Stored,
            Ok(Err(error)) if !error.is_maybe_stored() => Told::Failed,
            _ => Told::Maybe,
        };
        tell(&network, item.n(), told);
    }
}

/// Loads eight items of both keys.
async fn load<T: Reading>(buckets: Buckets<T>, network: Network, first: i64) {
    let items = (first..first + 8).map(|n| T::new(i64::from(network.world().below(4) == 0), n));
    let items: Vec<T> = items.collect();
    let loaded = timeout(FOR_EVER, buckets.append_many(items.clone()).into_future()).await;
    let failed = match &loaded {
        Ok(Ok(_)) => &[],
        Ok(Err(error)) => error.failed(),
        Err(_) => {
            items
                .iter()
                .for_each(|item| tell(&network, item.n(), Told::Maybe));
            return;
        }
    };
    for item in items.iter().map(Reading::n) {
        let failed = failed.iter().find(|failed| failed.item.n() == item);
        let told = match failed.map(|failed| failed.error.is_maybe_stored()) {
            None => Told::Stored,
            Some(true) => Told::Maybe,
            Some(false) => Told::Failed,
        };
        tell(&network, item, told);
    }
}

fn tell(network: &Network, item: i64, told: Told) {
    let mut world = network.world();
    world.note(|| format!("{item} {told:?}"));
    world.told.insert(item, told);
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}
