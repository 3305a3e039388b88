//! One schedule: a seed's run of a few handles that append to two keys.

use std::{sync::Arc, time::Duration};

use bucket_runtime::{
    __simulated::install,
    Bucket, Buckets, Filter,
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
    world::{History, Recorded, Told, World},
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

/// In milliseconds.
const DAY: i64 = 86_400_000;

/// How long callers of a crashed handle wait: longer than all else.
const FOR_EVER: Duration = Duration::from_secs(1 << 20);

macro_rules! readings {
    ($($name:ident($id:literal, $(#[$of_n:meta])? n, $(#[$of_changes:meta])? changes))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "buckets", id = $id, capacity = 3, items = "items")]
        struct $name {
            sensor: i64,
            at: DateTime,
            $(#[$of_n])?
            n: i64,
            $(#[$of_changes])?
            changes: i64,
        }

        impl Reading for $name {
            fn new(sensor: i64, n: i64) -> Self {
                Self { sensor, at: DateTime::from_millis(n % 2 * DAY), n, changes: 0 }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn of_number(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }

            fn is_in_order() -> bool {
                !$id.ends_with("{at}")
            }

            fn is_unique() -> bool {
                Self::SPEC.unique.is_some()
            }

            fn change(&mut self) {
                self.changes += 1;
            }
        }
    )+};
}

trait Reading: Bucket<Key = (i64,)> + Clone + Send + Sync {
    fn new(sensor: i64, n: i64) -> Self;
    fn n(&self) -> i64;
    fn of_number(n: i64) -> Filter<Self>;
    fn is_in_order() -> bool;
    fn is_unique() -> bool;
    fn change(&mut self);
}

readings! {
    Numbered("{sensor}_{#}", n, changes)
    NumberedOnce("{sensor}_{#}", #[bucket(unique)] n, changes)
    Timed("{sensor}_{at}", n, changes)
    TimedOnce("{sensor}_{at}", #[bucket(unique)] n, changes)
    Daily("{sensor}_{at/1d}", n, #[bucket(sum, max)] changes)
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
        let kind = network.world().below(5);
        let is_in_order = runtime.block_on(async {
            match kind {
                0 => self.write::<Numbered>(&network).await,
                1 => self.write::<NumberedOnce>(&network).await,
                2 => self.write::<Timed>(&network).await,
                3 => self.write::<TimedOnce>(&network).await,
                _ => self.write::<Daily>(&network).await,
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
            documents: world.primary.store.documents.clone(),
        }
    }

    /// Two or three handles with four writers, one of whom may load; one handle may crash. Two writers may have the
    /// same items. Returns whether a read gives each writer's items in their order.
    async fn write<T: Reading>(&self, network: &Network) -> bool {
        let [rings, handles, loads, crashes, shares] =
            [2, 2, 2, 4, 2].map(|below| network.world().below(below));
        let (rings, handles, loads) = (rings as u32, 2 + handles, loads == 0);
        let (crashes, shares) = (crashes == 0, T::is_unique() && shares == 0);
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
            let (is_shared, first) = match writer {
                0 | 1 if shares => (true, 0),
                _ => (false, writer * WRITER),
            };
            match loads && writer == 3 {
                true => writers.spawn(load::<T>(buckets, network, first)),
                false => writers.spawn(append::<T>(buckets, network, first, is_shared)),
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
        T::is_in_order() && !shares
    }
}

/// Appends three items, one after the other, and edits some of them. Now and then the caller drops a call. Unique
/// items are appended again if they may have been stored.
async fn append<T: Reading>(buckets: Buckets<T>, network: Network, first: i64, is_shared: bool) {
    let mut own = Vec::new();
    for n in first..first + 3 {
        let sensor = network.world().sensor(n);
        let item = T::new(sensor, n);
        let appended = called(&network, buckets.append(&item)).await.told();
        tell(&network, n, appended);
        if T::is_unique() && appended != Told::Done {
            let again = called(&network, buckets.append(&item)).await.told();
            tell(&network, n, again);
        }
        // Not one whose first call may still be on its way.
        own.extend((appended == Told::Done && !is_shared).then_some((sensor, n)));
        let (edits, removes, at) = {
            let mut world = network.world();
            let at = world.below(own.len() as u64) as usize;
            (world.below(3) == 0, world.below(2) == 0, at)
        };
        if edits && !own.is_empty() {
            match removes {
                true => remove(&buckets, &network, own.swap_remove(at)).await,
                false => update(&buckets, &network, own[at]).await,
            }
        }
    }
}

/// What has become of a call; `None` if its caller has not waited for it.
struct Called<R>(Option<bucket_runtime::Result<R>>);

impl<R> Called<R> {
    fn told(&self) -> Told {
        match &self.0 {
            Some(Ok(_)) => Told::Done,
            Some(Err(error)) if !error.is_maybe_stored() => Told::Failed,
            _ => Told::Maybe,
        }
    }
}

async fn called<R>(
    network: &Network,
    call: impl IntoFuture<Output = bucket_runtime::Result<R>>,
) -> Called<R> {
    let patience = match network.world().below(12) == 0 {
        true => Duration::from_millis(15),
        false => FOR_EVER,
    };
    Called(timeout(patience, call.into_future()).await.ok())
}

/// Removes an item that was acknowledged, and no call has removed.
async fn remove<T: Reading>(buckets: &Buckets<T>, network: &Network, (sensor, n): (i64, i64)) {
    let removed = called(network, buckets.remove_item(&sensor, T::of_number(n))).await;
    let mut world = network.world();
    world.note(|| format!("{n} removed: {:?}", removed.told()));
    if let Some(history) = world.told.get_mut(&n) {
        history.removed = removed.told();
    }
    if let Called(Some(Ok(None))) = removed {
        world.fail(|| format!("G1: item {n} was acknowledged, and a removal does not find it"));
    }
}

/// Changes an item that was acknowledged, and no call has removed.
async fn update<T: Reading>(buckets: &Buckets<T>, network: &Network, (sensor, n): (i64, i64)) {
    let updated = called(
        network,
        buckets.update_item(&sensor, T::of_number(n), T::change),
    )
    .await;
    let mut world = network.world();
    world.note(|| format!("{n} changed: {:?}", updated.told()));
    if let Some(history) = world.told.get_mut(&n) {
        history.changes.0 += i64::from(updated.told() == Told::Done);
        history.changes.1 += i64::from(updated.told() != Told::Failed);
    }
    if let Called(Some(Ok(None))) = updated {
        world.fail(|| format!("G1: item {n} was acknowledged, and a change does not find it"));
    }
}

/// Loads eight items of both keys.
async fn load<T: Reading>(buckets: Buckets<T>, network: Network, first: i64) {
    let items = (first..first + 8).map(|n| T::new(network.world().sensor(n), n));
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
            None => Told::Done,
            Some(true) => Told::Maybe,
            Some(false) => Told::Failed,
        };
        tell(&network, item, told);
    }
}

fn tell(network: &Network, item: i64, appended: Told) {
    let mut world = network.world();
    world.note(|| format!("{item} {appended:?}"));
    let new = || History {
        appended,
        removed: Told::Failed,
        changes: (0, 0),
    };
    let history = world.told.entry(item).or_insert_with(new);
    // What another call has done stays done.
    history.appended = history.appended.min(appended);
}

impl Default for Simulator {
    fn default() -> Self {
        Self::new()
    }
}
