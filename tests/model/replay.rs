//! The model matches the runtime: the runtime is held before each command, the commands are let through
//! one by one, and each must be the one that the model sends next. After each, the server's documents equal
//! those of the model. The order is random, or one of those that together take each step of a small system.

use bucket_runtime::{
    Bucket,
    mongodb::{
        Database,
        bson::{DateTime, Document},
    },
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    cover::Cover,
    gate::Gate,
    server::{Item, Statement},
    stored,
    system::{Config, System},
    systems::{appends, config},
    writer::Call,
};

/// How many random orders are replayed for each system.
const RUNS: u64 = 15;

macro_rules! readings {
    ($($name:ident($id:literal, $capacity:literal $(, $text:ident)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "buckets", id = $id, capacity = $capacity)]
        struct $name {
            sensor: i64,
            at: DateTime,
            n: i64,
            $($text: String,)?
        }

        impl Reading for $name {
            fn new(item: Item) -> Self {
                let at = DateTime::from_millis(i64::from(item % 2) * 1000);
                Self { sensor: 1, at, n: item.into(), $($text: String::new(),)? }
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
    NumberedText("{sensor}_{#}", 2, text)
    TimedText("{sensor}_{at}", 2, text)
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

/// The orders in which writers take their steps.
enum Orders {
    /// Random ones, from a seed that is the number of the order.
    Random(Box<StdRng>),
    /// Those that together take each step.
    All(Cover),
}

impl Orders {
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

fn random() -> Orders {
    Orders::Random(Box::new(StdRng::seed_from_u64(0)))
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
        if config.has_empty {
            stored::insert_empty(&db).await;
        }
        while let Some(n) = orders.next(&system) {
            let expected = system.command(n, config);
            let sent = writers[n].next.as_ref().map_or_else(Vec::new, names_of);
            assert_eq!(sent, names(&expected), "writer {n}, order {number}");
            writers[n].let_through().await;
            system = system.after_command(n, config);
            let stored = stored::of_server(&db).await;
            let of_model = stored::of_model(&system);
            assert_eq!(stored, of_model, "order {number}, {expected:?}");
        }
        assert!(writers.iter().all(|writer| writer.next.is_none()));
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
        Statement::Remove { .. } => "remove",
    };
    statements.iter().map(name).collect()
}

/// The model's name of a command that the runtime sends.
fn names_of(command: &Document) -> Vec<&'static str> {
    let Ok(statements) = command.get_array("updates") else {
        return Vec::new();
    };
    let name = |statement: &Document| {
        let part = |name| statement.get_document(name).ok();
        let (filter, update) = (part("q"), part("u"));
        let by_id = filter.is_some_and(|filter| filter.get_str("_id").is_ok());
        let upserts = statement.get_bool("upsert").unwrap_or(false);
        let of_inserted = update.is_some_and(|update| update.contains_key("$setOnInsert"));
        let matches_nothing = |filter: &Document| {
            (filter.get_document("sealed")).is_ok_and(|sealed| sealed.contains_key("$lt"))
        };
        let seals = |update: &Document| {
            (update.get_document("$set")).is_ok_and(|set| set.contains_key("sealed"))
        };
        if update.is_some_and(seals) {
            return "seal";
        }
        if filter.is_some_and(matches_nothing) {
            return "insert_bucket";
        }
        match (upserts, of_inserted) {
            (true, true) if by_id => "append_to_id_or_be_refused",
            (true, true) => "append_or_open",
            (true, false) => "append_to_id",
            (false, _) => "append_to_open",
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
                let config = key_of(three(), $capacity, $by_time);
                replay(stringify!($test), &config, random(), append::<$name>).await;
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
                    let all = Orders::All(Cover::new(&config));
                    replay(name, &config, all, append::<$name>).await;
                }
            )+
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

fn three() -> Vec<Vec<Call>> {
    vec![
        appends(0, &[1; 4]),
        appends(1, &[1; 3]),
        appends(2, &[1; 3]),
    ]
}

fn key_of(writers: Vec<Vec<Call>>, capacity: u8, by_time: bool) -> Config {
    let mut config = config("key", capacity, writers);
    config.by_time = by_time;
    config
}

#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn appends_behind_an_empty_bucket() {
    let writers = vec![appends(0, &[1; 4]), appends(1, &[1; 3])];
    let mut config = key_of(writers, 2, false);
    config.has_empty = true;
    replay("empty", &config, random(), append::<Numbered2>).await;
    config.by_time = true;
    replay("empty_timed", &config, random(), append::<Timed2>).await;
}

/// The compiler does not know the size of these items, so the runtime counts bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 6)]
async fn appends_of_unbounded_items() {
    let mut config = key_of(three(), 2, false);
    config.counts_bytes = true;
    replay("unbounded", &config, random(), append::<NumberedText>).await;
    config.by_time = true;
    replay("unbounded_timed", &config, random(), append::<TimedText>).await;
}
