//! The model matches the runtime: the runtime is held before each command, the commands are let through
//! one by one, and each must be the one that the model sends next. After each, the server's documents equal
//! those of the model. The order is random, or one of those that together take each step of a small system.

use bucket_runtime::{
    Appended, Bucket, Fields, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document},
    },
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};

use crate::{
    cover::Cover,
    edit::Change,
    gate::{Gate, Next},
    server::{Item, Statement, identity_of},
    stored,
    system::{Config, System},
    systems::{appends, config, edits, identified, inserts, pushes},
    writer::Call,
};

/// How many random orders are replayed for each system.
const RUNS: u64 = 15;

macro_rules! readings {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "buckets", id = $id, capacity = $capacity)]
        struct $name {
            sensor: i64,
            at: DateTime,
            n: i64,
        }

        impl Reading for $name {
            fn new(item: Item) -> Self {
                let at = DateTime::from_millis(i64::from(item % 2) * 1000);
                Self { sensor: 1, at, n: item.into() }
            }
        }
    )+};
}

trait Reading: Bucket {
    fn new(item: Item) -> Self;
}

readings! {
    Numbered1("{sensor}_{#}", 1)
    Numbered2("{sensor}_{#}", 2)
    Numbered3("{sensor}_{#}", 3)
    Timed1("{sensor}_{at}", 1)
    Timed2("{sensor}_{at}", 2)
    Timed3("{sensor}_{at}", 3)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "parents",
    extras = "buckets",
    reference = "parent",
    threshold = 2,
    extras_capacity = 2
)]
struct Parent {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items)]
    items: Vec<Number>,
}

/// A number whose size in bytes the compiler does not know, so that the runtime counts bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Number(i64);

/// A parent whose items have an identity, as in the model: each writer has one of each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "parents",
    extras = "buckets",
    reference = "parent",
    threshold = 2,
    extras_capacity = 2
)]
struct IdentifiedParent {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items, unique = identity)]
    items: Vec<Identified>,
}

/// An item, how often it was changed, and a text, so that the runtime counts bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Identified {
    identity: i64,
    n: i64,
    version: i64,
    text: String,
}

impl Identified {
    fn new(item: Item) -> Self {
        Self {
            identity: identity_of(item).into(),
            n: item.into(),
            version: 0,
            text: String::new(),
        }
    }
}

/// One writer's calls through its own handle. Returns for each call whether it was acknowledged.
async fn append<T: Reading>(db: Database, gate: Gate, calls: Vec<Call>) -> Vec<(Vec<Item>, bool)> {
    let buckets = T::buckets(&db).combine(false);
    let buckets = buckets.await.unwrap();
    gate.close();
    let mut done = Vec::new();
    for call in calls {
        if let Call::Append(items) = call {
            let acknowledged = buckets.append(&T::new(items[0])).await.is_ok();
            done.push((items, acknowledged));
        }
    }
    gate.over();
    done
}

async fn push(db: Database, gate: Gate, calls: Vec<Call>) -> Vec<(Vec<Item>, bool)> {
    let parents = Parent::outliers(&db).await.unwrap();
    gate.close();
    let mut done = Vec::new();
    for call in calls {
        let numbers = |items: &[Item]| items.iter().map(|item| Number((*item).into())).collect();
        if let Call::Push(items) = call {
            let pushed = parents.push_many(&1, numbers(&items)).await;
            done.push((items, pushed.is_ok()));
        } else if let Call::Insert(items) = call {
            let parent = Parent {
                id: 1,
                items: numbers(&items),
            };
            done.push((items, parents.insert(&parent).await.is_ok()));
        } else if call == Call::Delete {
            parents.delete(&1).await.unwrap();
        }
    }
    gate.over();
    done
}

async fn push_identified(db: Database, gate: Gate, calls: Vec<Call>) -> Vec<(Vec<Item>, bool)> {
    let parents = IdentifiedParent::outliers(&db).await.unwrap();
    gate.close();
    let mut done = Vec::new();
    for call in calls {
        let new = |items: &[Item]| items.iter().copied().map(Identified::new).collect();
        let with = |identity: u8| {
            let fields = IdentifiedParent::FIELDS.items.item();
            fields.identity.eq(i64::from(identity))
        };
        match call {
            Call::Push(items) if items.len() == 1 => {
                let answer = parents.push(&1, Identified::new(items[0])).await;
                done.push((items, answer.is_ok_and(|answer| answer == Appended::Stored)));
            }
            Call::Push(items) => {
                let stored = parents.push_many(&1, new(&items)).await;
                let all = stored.is_ok_and(|stored| stored == items.len() as u64);
                done.push((items, all));
            }
            Call::Insert(items) => {
                let items_of_parent = new(&items);
                let parent = IdentifiedParent {
                    id: 1,
                    items: items_of_parent,
                };
                done.push((items, parents.insert(&parent).await.is_ok()));
            }
            Call::Edit(identity, Change::Remove) => {
                parents.remove_item(&1, with(identity)).await.unwrap();
            }
            Call::Edit(identity, Change::Replace) => {
                let replace = |item: &mut Identified| item.version += 1;
                parents
                    .update_item(&1, with(identity), replace)
                    .await
                    .unwrap();
            }
            Call::Append(_) | Call::Remove(_) | Call::Delete => {}
        }
    }
    gate.over();
    done
}

/// The orders in which writers take their steps.
enum Orders {
    /// Random ones, from a seed that is the number of the order.
    Random(Box<StdRng>),
    /// Those that together take each step.
    All(Cover),
}

impl Orders {
    fn random() -> Self {
        Self::Random(Box::new(StdRng::seed_from_u64(0)))
    }

    fn all(config: &Config) -> Self {
        Self::All(Cover::new(config))
    }

    /// Begins the order with this number; returns whether there is one.
    fn begin(&mut self, number: u64) -> bool {
        match self {
            Self::Random(random) => {
                **random = StdRng::seed_from_u64(number);
                number < RUNS
            }
            Self::All(cover) => !cover.is_complete(),
        }
    }

    /// The writer that takes the next step, while there is one.
    fn next(&mut self, system: &System) -> Option<usize> {
        match self {
            Self::Random(random) => {
                let writers = 0..system.writers.len();
                let waiting: Vec<_> = writers.filter(|n| !system.writers[*n].is_over()).collect();
                (!waiting.is_empty()).then(|| waiting[random.random_range(0..waiting.len())])
            }
            Self::All(cover) => cover.step(system),
        }
    }
}

/// Replays orders of a system's steps; `begin` starts one of the runtime's writers.
async fn replay<F>(
    name: &str,
    config: &Config,
    mut orders: Orders,
    begin: impl Fn(Database, Gate, Vec<Call>) -> F,
) where
    F: Future<Output = Vec<(Vec<Item>, bool)>> + Send + 'static,
{
    let server = stored::server().await;
    let client = server.client().await.unwrap();
    let mut number = 0;
    while orders.begin(number) {
        let db = client.database(&format!("model_{}_{name}_{number}", std::process::id()));
        let (mut system, mut writers, mut tasks) = (System::new(config), Vec::new(), Vec::new());
        for calls in &config.writers {
            let (db, gate, mut writer) = Gate::new(server, db.name()).await;
            tasks.push(tokio::spawn(begin(db, gate, calls.clone())));
            writer.wait().await;
            writers.push(writer);
        }
        if config.deletes() {
            stored::insert_parent(&db).await;
        }
        if config.has_empty {
            stored::insert_empty(&db).await;
        }
        while let Some(n) = orders.next(&system) {
            let expected = system.command(n, config);
            assert_eq!(
                writers[n].next.name(),
                names(&expected),
                "writer {n}, order {number}"
            );
            writers[n].let_through().await;
            system = system.after_command(n, config);
            let stored = stored::of_server(&db, config).await;
            assert_eq!(
                stored,
                stored::of_model(&system, config),
                "order {number}, {expected:?}"
            );
        }
        assert!(writers.iter().all(|writer| writer.next == Next::Over));
        for task in tasks {
            for (items, acknowledged) in task.await.unwrap() {
                let all = items.iter().all(|item| system.is_acknowledged(*item));
                assert_eq!(acknowledged, all, "{items:?}, order {number}");
            }
        }
        db.drop().await.unwrap();
        number += 1;
    }
    if let Orders::All(cover) = orders {
        let (taken, all) = (cover.taken(), cover.len());
        println!("{name}: {taken} of {all} steps, in {number} orders");
    }
}

/// The names of the functions that build these statements; a read has none.
fn names(statements: &[Statement]) -> Vec<&'static str> {
    let name = |statement: &Statement| match statement {
        Statement::AppendOrOpen { .. } => "append_or_open",
        Statement::AppendToOpen { .. } => "append_to_open",
        Statement::AppendToId { .. } => "append_to_id",
        Statement::AppendToIdOrBeRefused { .. } => "append_to_id_or_be_refused",
        Statement::InsertBucket { .. } => "insert_bucket",
        Statement::Seal { .. } => "seal",
        Statement::PullExtras { .. } => "pull_extras",
        Statement::Push { .. } => "push",
        Statement::Flag { .. } => "flag",
        Statement::RemoveItem(_) => "remove_item",
        Statement::ReplaceItem(_) => "replace_item",
        Statement::Insert { .. } => "insert",
        Statement::Delete => "delete",
        Statement::DeleteExtras => "delete_extras",
    };
    statements.iter().map(name).collect()
}

/// The model's name of a command that the runtime sends.
pub(crate) fn names_of(command: &Document) -> Vec<&'static str> {
    if let Ok(pipeline) = command.get_array("update") {
        let text = format!("{pipeline:?}");
        return vec![match text.contains("$literal") {
            true => "replace_item",
            false => "remove_item",
        }];
    }
    if command.contains_key("remove") {
        return vec!["remove_item"];
    }
    if command.contains_key("insert") {
        return vec!["insert"];
    }
    if let Ok(collection) = command.get_str("delete") {
        return vec![match collection {
            "parents" => "delete",
            _ => "delete_extras",
        }];
    }
    let Ok(statements) = command.get_array("updates") else {
        return Vec::new();
    };
    let name = |statement: &Document| {
        let has = |part: &str, name: &str| {
            (statement.get_document(part)).is_ok_and(|part| part.contains_key(name))
        };
        let has_id = |query: &Document| query.get_str("_id").is_ok();
        let by_id = statement.get_document("q").is_ok_and(has_id);
        let upserts = statement.get_bool("upsert").unwrap_or(false);
        let matches_nothing = |query: &Document| {
            (query.get_document("sealed")).is_ok_and(|sealed| sealed.contains_key("$lt"))
        };
        let set = statement
            .get_document("u")
            .and_then(|update| update.get_document("$set"));
        if set.is_ok_and(|set| set.contains_key("sealed")) {
            return "seal";
        }
        if statement.get_document("q").is_ok_and(matches_nothing) {
            return "insert_bucket";
        }
        match (upserts, has("u", "$setOnInsert"), has("u", "$push")) {
            (true, true, _) if by_id => "append_to_id_or_be_refused",
            (true, true, _) => "append_or_open",
            (true, false, _) => "append_to_id",
            (false, _, false) => "flag",
            (false, _, true) if has("q", "$expr") => "push",
            (false, _, true) => "append_to_open",
        }
    };
    let documents = statements
        .iter()
        .filter_map(|statement| statement.as_document());
    documents.map(name).collect()
}

macro_rules! replays {
    ($($test:ident: $name:ident, $capacity:literal, $by_time:literal;)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 6)]
            async fn $test() {
                let writers = vec![appends(0, &[1; 4]), appends(1, &[1; 3]), appends(2, &[1; 3])];
                let config = key_of(writers, $capacity, $by_time);
                replay(stringify!($test), &config, Orders::random(), append::<$name>).await;
            }
        )+

        mod each_step {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 6)]
                #[ignore = "takes minutes; run it with `cargo test --package bucket-model -- --ignored --nocapture`"]
                async fn $test() {
                    let writers = vec![appends(0, &[1; 3]), appends(1, &[1; 3])];
                    let config = key_of(writers, $capacity, $by_time);
                    let name = concat!("each_step_", stringify!($test));
                    replay(name, &config, Orders::all(&config), append::<$name>).await;
                }
            )+

            #[tokio::test(flavor = "multi_thread", worker_threads = 6)]
            #[ignore = "takes minutes; run it with `cargo test --package bucket-model -- --ignored --nocapture`"]
            async fn pushes_to_a_parent() {
                let writers = vec![inserts(0, 1, &[2, 1]), pushes(1, &[1, 3, 1])];
                let config = parent_of(writers);
                replay("each_step_pushes", &config, Orders::all(&config), push).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 6)]
            #[ignore = "takes minutes; run it with `cargo test --package bucket-model -- --ignored --nocapture`"]
            async fn pushes_and_edits_of_identified_items() {
                let writers = vec![
                    inserts(0, 1, &[2]),
                    pushes(1, &[1, 2]),
                    edits(&[(1, Change::Remove)]),
                ];
                let config = identified(2, 2, writers);
                let orders = Orders::all(&config);
                replay("each_step_identified", &config, orders, push_identified).await;
            }
        }
    };
}

replays! {
    numbered_1: Numbered1, 1, false;
    numbered_2: Numbered2, 2, false;
    numbered_3: Numbered3, 3, false;
    timed_1: Timed1, 1, true;
    timed_2: Timed2, 2, true;
    timed_3: Timed3, 3, true;
}

fn key_of(writers: Vec<Vec<Call>>, capacity: u8, by_time: bool) -> Config {
    let mut config = config("key", capacity, writers);
    config.by_time = by_time;
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn appends_behind_an_empty_bucket() {
    for by_time in [false, true] {
        let writers = vec![appends(0, &[1; 4]), appends(1, &[1; 3])];
        let mut config = key_of(writers, 2, by_time);
        config.has_empty = true;
        match by_time {
            false => replay("empty", &config, Orders::random(), append::<Numbered2>).await,
            true => replay("empty_timed", &config, Orders::random(), append::<Timed2>).await,
        }
    }
}

fn parent_of(writers: Vec<Vec<Call>>) -> Config {
    let mut config = config("parent", 2, writers);
    config.rules.threshold = 2;
    config.has_parent = true;
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn pushes_to_a_parent() {
    let writers = vec![
        inserts(0, 4, &[2, 1]),
        pushes(1, &[1, 3, 1]),
        pushes(2, &[4, 1]),
    ];
    replay("pushes", &parent_of(writers), Orders::random(), push).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn pushes_to_a_parent_that_fills_up() {
    let writers = vec![
        inserts(0, 1, &[2, 1]),
        pushes(1, &[1, 1, 1, 2]),
        pushes(2, &[1, 1, 3]),
    ];
    let config = parent_of(writers);
    replay("fills_up", &config, Orders::random(), push).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn pushes_to_a_parent_that_is_deleted() {
    let deletes = vec![Call::Delete, Call::Delete];
    let writers = vec![pushes(0, &[3, 1, 1, 1]), pushes(1, &[1, 1, 2, 1]), deletes];
    let config = parent_of(writers);
    replay("deleted", &config, Orders::random(), push).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn pushes_and_edits_of_identified_items() {
    use Change::{Remove, Replace};
    let writers = vec![
        inserts(0, 1, &[2, 1]),
        pushes(1, &[1, 2, 2]),
        pushes(2, &[1, 1, 1, 2]),
        edits(&[
            (1, Replace),
            (0, Remove),
            (1, Remove),
            (2, Replace),
            (3, Replace),
        ]),
    ];
    let config = identified(2, 2, writers);
    let orders = Orders::random();
    replay("identified", &config, orders, push_identified).await;
}
