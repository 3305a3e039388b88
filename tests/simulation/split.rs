//! A parent that another program has let grow beyond its threshold, or whose extras it has numbered in its own way, and
//! repairs that split it and take over its extras, of which two run at once beside the writers.

use std::ops::Range;

use bucket_runtime::{
    bson::{Bson, Document, doc, oid::ObjectId},
    mongodb::Client,
};

use crate::{
    driver::Driver,
    handle::{Handle, THRESHOLD},
    judge::{WRITER, buckets, of_parent},
    network::Network,
    repair::only_known,
    schedule::random_pause,
    tasks::JoinSet,
    undone::Safeguard,
    world::{Told, World},
    writer::{append_again, called, edit, tell},
};

/// The parent that has grown.
const GROWN_PARENT: i64 = 0;

/// The number of its first item, which no writer has.
const FIRST: i64 = 8 * WRITER;

/// Splits of the parent.
pub(crate) struct Splits<H> {
    network: Network,
    client: Client,
    /// The handle that reads it.
    reader: H,
    /// The numbers of the parent's items.
    numbers: Range<i64>,
}

impl<H: Handle> Splits<H> {
    /// Stores the parent, if items are in parents.
    pub(crate) async fn of_grown(driver: &Driver, client: &Client) -> Option<Self> {
        let network = driver.network.clone();
        let items = THRESHOLD as i64 + 1 + network.world().below(4) as i64;
        let numbers = FIRST..FIRST + items;
        let mut parent = H::grown(GROWN_PARENT, numbers.clone())?;
        let extras = take_extras(&mut network.world(), &mut parent);
        network.world().has_grown = true;
        if !extras.is_empty() {
            driver
                .set_up(doc! { "insert": "buckets", "documents": extras })
                .await;
        }
        driver
            .set_up(doc! { "insert": "parents", "documents": [parent] })
            .await;
        (numbers.clone()).for_each(|n| tell(&network, n, Told::Done));
        Some(Self {
            network,
            client: client.clone(),
            reader: H::open(&client.database("p3"), false).await,
            numbers,
        })
    }

    /// Begins two repairs, each of which is called again after an error. A process may end or stand still. Meanwhile
    /// the parent's items but the last are edited, or all pushed again if they are unique, and a read has to give the
    /// last, unless it is an error.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>, writer: &H) {
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
        let (mut items, last) = (Vec::from_iter(items), self.numbers.end - 1);
        if H::IS_UNIQUE && repeats {
            calls.spawn(append_again(writer, network, items));
        } else {
            items.pop();
            calls.spawn(edit(writer, network, items));
        }
        let (reader, network) = (self.reader.clone(), self.network.clone());
        calls.spawn(async move {
            for _ in 0..3 {
                random_pause(&network).await;
                let read = called(&network, &reader.process(), reader.read(GROWN_PARENT)).await;
                let mut world = network.world();
                world.note(|| format!("read: {:?}", read.0));
                if matches!(&read.0, Some(Ok(items)) if !items.contains(&last)) {
                    world.fail(format!("O1: a read lacks item {last}"));
                }
            }
        });
    }

    /// Whatever has become of the splits before, one that nothing disturbs leaves no parent that is too large, and no
    /// extras of another program; a read gives all items, and the last is stored with all its fields.
    pub(crate) async fn finish(self) {
        let split = H::repair(&self.client.database("p2")).await;
        let read = self.reader.read(GROWN_PARENT).await;
        let mut world = self.network.world();
        world.note(|| format!("last split: {split:?}, {read:?}"));
        let stored = of_parent(&world, GROWN_PARENT);
        let last = H::grown(GROWN_PARENT, self.numbers.end - 1..self.numbers.end);
        let last = last.and_then(|parent| parent.get_array("items").ok()?.first().cloned());
        let holds_last = |document: &Document| {
            let mut items = document.get_array("items").into_iter().flatten();
            items.any(|item| Some(item) == last.as_ref())
        };
        let all = [&world.primary.parents, &world.primary.store];
        let is_whole = all.into_iter().flat_map(buckets).any(holds_last);
        match (split, read) {
            (Ok(left), Ok(read)) if only_known(&world, &left) && read == stored && is_whole => {
                world.has_grown = false;
                world.judge();
            }
            other => world.fail(format!("an undisturbed split: {other:?} of {stored:?}")),
        }
    }
}

/// Now and then takes the last items out of the parent, for extras of another program, as the manual's commands write
/// them: under numbers, texts or object ids, or one that looks like ours.
fn take_extras(world: &mut World, parent: &mut Document) -> Vec<Document> {
    let has_extras = match world.undone {
        None => world.happens(2),
        Some(undone) => undone == Safeguard::OtherExtras,
    };
    let (Ok(items), true) = (parent.get_array_mut("items"), has_extras) else {
        return Vec::new();
    };
    let own = world.below(items.len() as u64) as usize;
    let taken = items.split_off(own);
    parent.insert("has_extras", true);
    let kind = world.below(4);
    let extras = (0_u8..).zip(taken.chunks(2)).map(|(n, items)| {
        let id = match kind {
            0 => Bson::Int32(n.into()),
            1 => format!("extras {n}").into(),
            2 => ObjectId::from_bytes([n; 12]).into(),
            _ => format!("{GROWN_PARENT}_first {n}").into(),
        };
        doc! { "_id": id, "sensor": GROWN_PARENT, "items": items }
    });
    extras.collect()
}
