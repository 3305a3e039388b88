//! Imports of a flat collection, or of archived buckets, of which two run at once, beside the writers.

use std::sync::Arc;

use bucket_runtime::{
    Result,
    bson::{Bson, Document, doc},
    mongodb::{Client, Database},
};

use crate::{
    driver::Driver,
    handle::{Handle, IMPORTED, flat_items},
    judge::{WRITER, items},
    network::Network,
    schedule::random_pause,
    tasks::JoinSet,
    world::Told,
    writer::{called, tell},
};

/// The number of the first imported item, which no writer has.
const FIRST: i64 = 9 * WRITER;

/// What is imported, and the handles that do it.
pub(crate) struct Import<H> {
    network: Network,
    source: Arc<Source>,
    handles: Vec<(Database, H)>,
}

enum Source {
    /// How many documents the flat collection holds.
    Flat(u64),
    Archive(Vec<Line>),
}

/// An archived bucket.
struct Line {
    text: String,
    /// The numbers of its items.
    items: Vec<i64>,
}

impl<H: Handle> Import<H> {
    /// Stores a flat collection, or lists that a view unwinds.
    pub(crate) async fn of_flat(driver: &Driver, client: &Client) -> Self {
        let flat = flat_items(FIRST, H::IS_UNIQUE);
        let source = Source::Flat(flat.len() as u64);
        let is_view = driver.network.world().happens(2);
        let (name, documents) = match is_view {
            true => ("lists", lists(&flat)),
            false => ("flat", flat),
        };
        driver
            .set_up(doc! { "insert": name, "documents": documents })
            .await;
        if is_view {
            driver.set_up(view()).await;
        }
        Self::of(source, driver, client).await
    }

    /// Archives buckets, and deletes all or some of them.
    pub(crate) async fn of_archive(driver: &Driver, client: &Client) -> Self {
        let db = client.database("archive");
        let handle = H::open(&db, false).await;
        let flat = flat_items(FIRST, false);
        let number = |item: &Document, name| item.get_i64(name).ok();
        let items = flat.iter();
        let items = items.filter_map(|item| Some((number(item, "sensor")?, number(item, "n")?)));
        let failed = handle.load(items.collect(), None).await;
        assert!(failed.is_empty());
        let mut buckets = driver.network.world().primary.store.all();
        buckets.sort_by_key(|bucket| bucket.get_str("_id").map(str::to_owned).ok());
        let lines = Vec::from_iter(buckets.iter().map(Line::of));
        let mut deleted = doc! { "sensor": { "$gte": IMPORTED } };
        if driver.network.world().happens(2) {
            deleted.insert("_id", doc! { "$gt": buckets[0].get("_id") });
        }
        let deletes = [doc! { "q": deleted, "limit": 0 }].to_vec();
        driver
            .set_up(doc! { "delete": "buckets", "deletes": deletes })
            .await;
        Self::of(Source::Archive(lines), driver, client).await
    }

    async fn of(source: Source, driver: &Driver, client: &Client) -> Self {
        let network = driver.network.clone();
        let mut handles = Vec::new();
        for name in ["i0", "i1", "i2"] {
            let db = client.database(name);
            let handle = H::open(&db, false).await;
            handles.push((db, handle));
        }
        let mut world = network.world();
        // Now and then a writer has an imported key.
        world.intruder = world.happens(3).then_some(0);
        drop(world);
        Self {
            network,
            source: source.into(),
            handles,
        }
    }

    /// Begins two imports, each of which is called again. A process may end or stand still.
    pub(crate) fn begin(&self, calls: &mut JoinSet<()>) {
        for (db, handle) in &self.handles[..2] {
            let (db, handle) = (db.clone(), handle.clone());
            let (network, source) = (self.network.clone(), self.source.clone());
            calls.spawn(async move {
                random_pause(&network).await;
                // Of an error, too, some transactions have stored their items.
                source.tell(&network, Told::Maybe);
                for _ in 0..2 {
                    let import = source.import(&network, &handle, &db);
                    let imported = called(&network, db.name(), import).await;
                    network
                        .world()
                        .note(|| format!("imported: {:?}", imported.0));
                    if let Some(Ok(stored)) = imported.0 {
                        stored
                            .into_iter()
                            .for_each(|n| tell(&network, n, Told::Done));
                    }
                }
            });
        }
        if self.network.world().happens(3) {
            self.network.world().stop_later("i0");
        }
    }

    /// Whatever has become of the imports before, one that nothing disturbs stores what is left, if anything is.
    pub(crate) async fn finish(self) {
        let (db, handle) = &self.handles[2];
        // The capacity may have changed.
        let reopened = handle.reopen().await;
        let handle = reopened.as_ref().unwrap_or(handle);
        let imported = self.source.import(&self.network, handle, db).await;
        let mut world = self.network.world();
        world.note(|| format!("last import: {imported:?}"));
        let has_intruder = world.intruder.is_some();
        drop(world);
        match imported {
            Ok(stored) => {
                if !has_intruder && stored.len() < self.source.items().len() {
                    let mut world = self.network.world();
                    world.fail(format!("an undisturbed import refuses lines: {stored:?}"));
                }
                (stored.into_iter()).for_each(|n| tell(&self.network, n, Told::Done));
            }
            // A writer has begun the key, or an import before has stored all.
            Err(error) if error.is_key_taken() && has_intruder => {}
            Err(error) if error.is_key_taken() => self.source.tell(&self.network, Told::Done),
            Err(error) => {
                let mut world = self.network.world();
                world.fail(format!("an undisturbed import: {error:?}"));
            }
        }
    }
}

/// Lists of these documents, each with an id.
fn lists(flat: &[Document]) -> Vec<Document> {
    let lists = flat.chunks(4).zip(0..);
    let lists = lists.map(|(list, id)| doc! { "_id": id, "list": list });
    lists.collect()
}

/// The command that creates a view of all elements of the lists. Those of a list share its id.
fn view() -> Document {
    let field = |name| (String::from(name), Bson::from(format!("$list.{name}")));
    let fields = Document::from_iter(["sensor", "n", "at", "changes"].map(field));
    let pipeline = vec![doc! { "$unwind": "$list" }, doc! { "$project": fields }];
    doc! { "create": "flat", "viewOn": "lists", "pipeline": pipeline }
}

impl Source {
    /// Imports once; the numbers of the items that are then stored.
    async fn import<H: Handle>(
        &self,
        network: &Network,
        handle: &H,
        db: &Database,
    ) -> Result<Vec<i64>> {
        match self {
            Self::Flat(found) => {
                let progress = handle.import_flat(db).await?;
                let taken = progress.stored + progress.left_out + progress.unreadable;
                if (progress.found, taken) != (*found, *found) {
                    let mut world = network.world();
                    world.fail(format!("an import of {found} items ends with {progress:?}"));
                }
                Ok(self.items())
            }
            Self::Archive(lines) => {
                let texts = lines.iter().map(|line| line.text.clone());
                let imported = handle.import_lines(texts.collect()).await?;
                let told = imported.buckets + imported.already_there + imported.refused_lines;
                if told != lines.len() as u64 {
                    let mut world = network.world();
                    world.fail(format!("an import of {} lines: {imported:?}", lines.len()));
                }
                let is_refused = |n: usize| {
                    let mut refused = imported.refused.iter();
                    refused.any(|refused| refused.line == n as u64 + 1)
                };
                let taken = lines.iter().enumerate().filter(|(n, _)| !is_refused(*n));
                Ok(taken.flat_map(|(_, line)| line.items.clone()).collect())
            }
        }
    }

    /// The numbers of all items.
    fn items(&self) -> Vec<i64> {
        match self {
            Self::Flat(_) => (flat_items(FIRST, false).iter())
                .filter_map(|item| item.get_i64("n").ok())
                .collect(),
            Self::Archive(lines) => lines.iter().flat_map(|line| line.items.clone()).collect(),
        }
    }

    fn tell(&self, network: &Network, told: Told) {
        self.items()
            .into_iter()
            .for_each(|n| tell(network, n, told));
    }
}

impl Line {
    fn of(bucket: &Document) -> Self {
        Self {
            text: Bson::from(bucket).into_canonical_extjson().to_string(),
            items: items(bucket).into_iter().map(|(n, _)| n).collect(),
        }
    }
}
