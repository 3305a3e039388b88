//! A parent that another program has let grow beyond its threshold, and repairs that split it, of which two run at once
//! beside the writers.

use std::ops::Range;

use bucket_runtime::{bson::doc, mongodb::Client};

use crate::{
    driver::Driver,
    handle::{Handle, THRESHOLD},
    judge::WRITER,
    network::Network,
    repair::only_known,
    schedule::random_pause,
    tasks::JoinSet,
    world::Told,
    writer::{append_again, called, edit, tell},
};

/// The parent that has grown.
const GROWN_PARENT: i64 = 0;

/// The number of its first item, which no writer has.
const FIRST: i64 = 8 * WRITER;

/// Splits of the parent.
pub(crate) struct Splits {
    network: Network,
    client: Client,
    /// The numbers of the parent's items.
    numbers: Range<i64>,
}

impl Splits {
    /// Stores the parent, if items are in parents.
    pub(crate) async fn of_grown<H: Handle>(driver: &Driver, client: &Client) -> Option<Self> {
        let network = driver.network.clone();
        let items = THRESHOLD as i64 + 1 + network.world().below(4) as i64;
        let numbers = FIRST..FIRST + items;
        let parent = H::grown(GROWN_PARENT, numbers.clone())?;
        let insert = doc! { "insert": "parents", "documents": [parent] };
        network.world().has_grown = true;
        driver.set_up(insert).await;
        (numbers.clone()).for_each(|n| tell(&network, n, Told::Done));
        Some(Self {
            network,
            client: client.clone(),
            numbers,
        })
    }

    /// Begins two repairs, each of which is called again after an error. A process may end or stand still. Meanwhile
    /// the parent's items are edited, or pushed again if they are unique.
    pub(crate) fn begin<H: Handle>(&self, calls: &mut JoinSet<()>, writer: &H) {
        for name in ["p0", "p1"] {
            let (db, network) = (self.client.database(name), self.network.clone());
            calls.spawn(async move {
                random_pause(&network).await;
                for _ in 0..2 {
                    let split = called(&network, db.name(), H::repair(&db)).await;
                    network.world().note(|| format!("split: {:?}", split.0));
                    if split.told() == Told::Done {
                        return;
                    }
                }
            });
        }
        let [stops, repeats] = [3, 2].map(|cases| self.network.world().happens(cases));
        if stops {
            self.network.world().stop_later("p0");
        }
        let (writer, network) = (writer.clone(), self.network.clone());
        let items = self.numbers.clone().map(|n| (GROWN_PARENT, n));
        match H::IS_UNIQUE && repeats {
            true => calls.spawn(append_again(writer, network, items.collect())),
            false => calls.spawn(edit(writer, network, items.collect())),
        }
    }

    /// Whatever has become of the splits before, one that nothing disturbs leaves no parent that is too large.
    pub(crate) async fn finish<H: Handle>(self) {
        let split = H::repair(&self.client.database("p2")).await;
        let mut world = self.network.world();
        world.note(|| format!("last split: {split:?}"));
        match split {
            Ok(left) if only_known(&world, &left) => {
                world.has_grown = false;
                world.judge();
            }
            other => world.fail(format!("an undisturbed split: {other:?}")),
        }
    }
}
