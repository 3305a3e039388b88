//! Import: the items of a flat collection end up in buckets, once each, by key and in order, wherever
//! the import was interrupted.

mod beside_writers;
mod sources;
mod told;

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_ops::ImportProgress;
use bucket_runtime::{
    Bucket, Buckets, Key,
    mongodb::{
        Collection, Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::seq::SliceRandom;

use crate::support::{
    assert_sound,
    database::{
        Live, Record, Recorded, dense_buckets, documents, fresh, ids, items, number, server,
    },
    ops,
};

const URI: &str = "BUCKET_TESTS_IMPORT";

macro_rules! rides {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "rides", id = $id, capacity = $capacity)]
        struct $name {
            bike_id: i64,
            city: String,
            at: DateTime,
            kilometres: i64,
        }

        impl Ride for $name {
            fn new(bike_id: i64, city: &str, at: DateTime, kilometres: i64) -> Self {
                Self { bike_id, city: city.to_owned(), at, kilometres }
            }

            fn kilometres(&self) -> i64 {
                self.kilometres
            }
        }
    )+};
}

trait Ride: for<'k> Bucket<Key: Key<Ref<'k> = (&'k str, &'k i64)>> + Clone + PartialEq + Debug {
    fn new(bike_id: i64, city: &str, at: DateTime, kilometres: i64) -> Self;
    fn kilometres(&self) -> i64;
}

rides! {
    Seconds3("{city}-{bike_id}_{at}", 3)
    Seconds100("{city}-{bike_id}_{at}", 100)
    Millis1("{city}-{bike_id}_{at:millis}", 1)
    Windows3("{city}-{bike_id}_{at/5s}", 3)
    Numbered3("{city}-{bike_id}_{#}", 3)
    Numbered10("{city}-{bike_id}_{#}", 10)
}

/// A flat document, with a field that the struct does not have.
fn flat(n: i64, bike: i64, city: &str, millis: i64) -> Document {
    let bike = match n % 2 {
        0 => Bson::Int64(bike),
        _ => Bson::Int32(bike as i32),
    };
    doc! {
        "_id": n, "bikeId": bike, "city": city, "at": DateTime::from_millis(millis),
        "kilometres": n, "weather": "rain",
    }
}

/// Rides of five keys in random order, and the items that each key must end up with.
async fn fill(db: &Database, rides: i64) -> BTreeMap<(String, i64), Vec<i64>> {
    let collection = db.collection::<Document>("flat");
    collection.drop().await.unwrap();
    let mut by_key = BTreeMap::<(String, i64), Vec<(i64, i64)>>::new();
    let mut documents = Vec::new();
    for n in 0..rides {
        let keys = [
            ("Bern", 1),
            ("Bern", 12),
            ("Bern_1", 2),
            ("", -7),
            ("a-b", 1),
        ];
        let (city, bike) = keys[rand::random_range(0..keys.len())];
        let millis = rand::random_range(0..60) * 700 + 1_698_321_600_000;
        let of_key = by_key.entry((city.to_owned(), bike)).or_default();
        of_key.push((millis, n));
        documents.push(flat(n, bike, city, millis));
    }
    documents.shuffle(&mut rand::rng());
    collection.insert_many(documents).await.unwrap();
    let in_order = |(key, mut rides): (_, Vec<(i64, i64)>)| {
        rides.sort_unstable();
        (key, rides.into_iter().map(|(_, n)| n).collect())
    };
    by_key.into_iter().map(in_order).collect()
}

fn flat_of(db: &Database) -> Collection<Document> {
    db.collection("flat")
}

fn kilometres(bucket: &Document) -> Vec<i64> {
    let items = bucket.get_array("items").unwrap().iter();
    let of_item = |item: &Bson| number(item.as_document().unwrap().get("kilometres"));
    items.map(of_item).collect()
}

/// The items of each key are the expected ones: with numbers exactly in order, with times after sorting
/// the items of each moment.
async fn assert_imported<T: Ride>(
    buckets: &Buckets<T>,
    expected: &BTreeMap<(String, i64), Vec<i64>>,
) {
    dense_buckets(buckets).await;
    let mut left = documents(buckets.collection()).await.len();
    for ((city, bike), expected) in expected {
        let found = buckets.collection().find(buckets.filter((city, bike)));
        let found = found.sort(doc! { "_id": 1 }).await.unwrap();
        let found: Vec<_> = found.try_collect().await.unwrap();
        left -= found.len();
        let stored: Vec<_> = found.iter().flat_map(kilometres).collect();
        assert_eq!(&stored, expected, "{city:?}, {bike}");
        assert_eq!(items(buckets, (city, bike)).await.len(), expected.len());
    }
    assert_eq!(left, 0, "buckets of unknown keys");
}

async fn imports<T: Ride>(db: &Database) {
    let expected = fill(db, 700).await;
    let before = documents(&flat_of(db)).await;
    let buckets = fresh::<T>(db).await;
    let mut seen: Vec<ImportProgress> = Vec::new();
    let mut import_flat = ops(&buckets).import_flat(&flat_of(db));
    if T::SPEC.time.is_none() {
        import_flat = import_flat.sort(doc! { "at": 1 });
    }
    let done = import_flat.on_progress(|at| seen.push(at)).await.unwrap();
    assert_eq!((done.found, done.stored), (700, 700));
    assert_eq!(seen.first().map(|at| at.stored), Some(0));
    assert_eq!(seen.last(), Some(&done));
    assert_imported(&buckets, &expected).await;
    let after = documents(&flat_of(db)).await;
    assert!(after == before, "the flat collection has changed");
    let left = documents(&db.collection::<Document>("bucket_progress")).await;
    assert_eq!(left, [], "records of finished work are left");
}

#[bucket_testkit::test]
async fn a_flat_collection_is_imported_by_key_and_in_time_order(db: Live) {
    imports::<Seconds3>(&db).await;
    imports::<Seconds100>(&db).await;
    imports::<Millis1>(&db).await;
    imports::<Windows3>(&db).await;
    imports::<Numbered10>(&db).await;
}

/// Not a test: another process runs this import until it is killed.
#[bucket_testkit::test]
#[ignore = "a process that another test starts"]
async fn the_importing_process() {
    let Ok(name) = std::env::var(URI) else {
        return;
    };
    let db = server().await.database(&name).await.unwrap();
    let buckets = Windows3::buckets(&db).await.unwrap();
    let mut left = rand::random_range(2..4);
    let import_flat = ops(&buckets).import_flat(&flat_of(&db));
    let import_flat = import_flat.on_progress(move |_| {
        left -= 1;
        if left == 0 {
            std::process::abort();
        }
    });
    import_flat.await.unwrap();
}

async fn import_in_a_process_that_is_killed(db: &str) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let test = "load::import_flat::the_importing_process";
    command
        .args([test, "--exact", "--ignored"])
        .env(URI, db)
        .env("MONGODB_URI", server().await.uri());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await;
    let output = output.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), None, "{printed}");
}

/// Drops the future a moment after the second or third report, in the middle of some step.
async fn import_that_is_dropped(buckets: &Buckets<Windows3>, flat: &Collection<Document>) {
    let (reports, moment) = (rand::random_range(1..3), rand::random_range(0..30));
    let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let import_flat = ops(buckets).import_flat(flat).on_progress(move |at| {
        let _ = report.send(at.stored);
    });
    let dropped = async {
        for _ in 0..reports {
            reported.recv().await;
        }
        tokio::time::sleep(Duration::from_millis(moment)).await;
    };
    tokio::select! {
        biased;
        () = dropped => {}
        done = import_flat.into_future() => panic!("it has ended: {done:?}"),
    }
}

/// Each key has nine windows, and the import is dropped and killed in the middle of one, or between two.
#[bucket_testkit::test(multi_thread)]
async fn g6_an_import_that_is_dropped_and_killed_is_taken_up_where_it_was_left(db: Live) {
    let db = &*db;
    let expected = fill(db, 30_000).await;
    let buckets = fresh::<Windows3>(db).await;
    import_that_is_dropped(&buckets, &flat_of(db)).await;
    import_in_a_process_that_is_killed(db.name()).await;
    let before = ops(&buckets).import_flat(&flat_of(db)).dry_run(true).await;
    let before = before.unwrap().stored;
    assert!(before > 0, "no import was interrupted");
    let mut told = Vec::new();
    let import_flat = ops(&buckets).import_flat(&flat_of(db));
    let import_flat = import_flat.on_progress(|at| told.push(at.stored));
    let done = import_flat.await.unwrap();
    assert!(told[0] >= before, "the import started over");
    assert_eq!((done.found, done.stored), (30_000, 30_000));
    assert_imported(&buckets, &expected).await;
}

#[bucket_testkit::test]
async fn a_target_that_holds_one_of_the_keys_is_refused_before_anything_is_written(db: Live) {
    fill(&db, 100).await;
    let buckets = fresh::<Numbered3>(&db).await;
    // Keys with nearby ids do not matter.
    let at = DateTime::from_millis(0);
    for (city, bike) in [("Bern", 1212), ("Bern_", 1), ("Bern_1", 22), ("a", 1)] {
        let other = Numbered3::new(bike, city, at, 0);
        buckets.append(&other).await.unwrap();
    }
    let before = ids(&buckets).await;
    let flat = flat_of(&db);
    let planned = ops(&buckets).import_flat(&flat).dry_run(true).await;
    let planned = planned.unwrap();
    assert_eq!((planned.found, planned.stored), (100, 0));
    assert_eq!(ids(&buckets).await, before);
    ops(&buckets).import_flat(&flat).await.unwrap();

    let before = ids(&buckets).await;
    let refused = [
        ops(&buckets).import_flat(&flat).await,
        ops(&buckets).import_flat(&flat).dry_run(true).await,
    ];
    let said = "if an earlier call has ended, they are its own, and nothing is left to do";
    let [ended, planned] = refused.map(Result::unwrap_err);
    assert!(ended.to_string().contains(said), "{ended}");
    for error in [ended, planned] {
        assert!(error.is_key_taken(), "{error}");
        assert!(error.key().is_some(), "{error}");
    }
    assert_eq!(ids(&buckets).await, before);
    // An empty source has nothing to ask.
    flat.delete_many(doc! {}).await.unwrap();
    assert_eq!(ops(&buckets).import_flat(&flat).await.unwrap().found, 0);
}

/// Photos: six of them take all bytes of a bucket, which would take ten.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "photos",
    id = "{owner}_{#}",
    capacity = 10,
    max_bytes = 200_000
)]
struct Photo {
    owner: i64,
    n: i32,
    pixels: String,
}

/// A transaction begins with an open bucket that takes two more photos, and is sealed then.
#[bucket_testkit::test]
async fn large_items_fill_buckets_across_transactions(Recorded(db, record): Recorded) {
    let pixels = "#".repeat(27_000);
    let photos = (0..400).map(|n| doc! { "_id": n, "owner": 1_i64, "n": n, "pixels": &pixels });
    flat_of(&db).insert_many(photos).await.unwrap();
    let photos = Photo::buckets(&db).await.unwrap();
    record.take();
    ops(&photos).import_flat(&flat_of(&db)).await.unwrap();
    let writes = count_writes(&record);
    assert!(writes < 15, "{writes} for three transactions");
    let found = items(&photos, &1).await;
    assert!(found.iter().map(|photo| photo.n).eq(0..400));
    assert_eq!(documents(photos.collection()).await.len(), 67);
    assert_sound(&photos).await;
}

#[bucket_testkit::test]
async fn a_moment_that_takes_several_transactions_is_imported(Recorded(db, record): Recorded) {
    let rides = (0..2_500).map(|n| flat(n, 1, "Bern", 1_698_321_600_000));
    flat_of(&db).insert_many(rides).await.unwrap();
    let buckets = fresh::<Millis1>(&db).await;
    record.take();
    ops(&buckets).import_flat(&flat_of(&db)).await.unwrap();
    let writes = count_writes(&record);
    assert!(writes < 15, "{writes} for three transactions");
    let found = items(&buckets, ("Bern", &1)).await;
    assert!(found.iter().map(Ride::kilometres).eq(0..2_500));
}

fn count_writes(record: &Record) -> usize {
    let is_write = |name: &&String| ["insert", "update"].contains(&name.as_str());
    record.names().iter().filter(is_write).count()
}
