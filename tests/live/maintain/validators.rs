//! Validators: the server refuses what would break G2 or a read, whoever writes it, and accepts
//! everything that this library writes.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Collection, Database,
        bson::{DateTime, Document, doc},
        error::{Error as DriverError, ErrorKind, WriteFailure},
        options::{CreateCollectionOptions, UpdateModifications},
    },
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Live, dense_buckets, documents, items, number},
    ops,
    tasks::JoinSet,
};

/// Too large for a signed 64-bit integer, so it is stored as a decimal.
const LARGE: u64 = u64::MAX - 7;

trait Sale: Bucket<Key = (String, u64)> + Clone + std::fmt::Debug {
    fn new(customer: u64, n: i64) -> Self;
    fn n(&self) -> i64;
}

macro_rules! sales {
    ($($name:ident($($bucket:tt)*))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "sales", capacity = 4, items = "history", $($bucket)*)]
        struct $name {
            shop_name: String,
            customer: u64,
            #[bucket(max)]
            at: DateTime,
            #[bucket(sum, min)]
            price: Option<f64>,
            #[bucket(sum)]
            n: i64,
        }

        impl Sale for $name {
            fn new(customer: u64, n: i64) -> Self {
                let millis = DateTime::now().timestamp_millis() - n * 700_000;
                Self {
                    shop_name: "Oslo_1".to_owned(),
                    customer,
                    at: DateTime::from_millis(millis),
                    price: (n % 3 > 0).then_some(n as f64 / 2.0),
                    n,
                }
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

sales! {
    Timed(id = "{shop_name}_{customer}_{at}", expire_after = "90d")
    Numbered(id = "{shop_name}_{customer}_{#}", count = "length")
    Windowed(id = "{shop_name}_{customer}_{at/1h}", expire_after = "90d", window = "hour")
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "plain", id = "{key}_{at}", capacity = 3)]
struct Plain {
    key: i64,
    at: DateTime,
    n: i32,
}

fn plain(n: i32) -> Plain {
    let at = DateTime::from_millis(1_698_321_600_000);
    Plain { key: 1, at, n }
}

async fn created<T: Bucket>(db: &Database) -> Buckets<T> {
    T::create_collection(db).await.unwrap();
    T::buckets(db).await.unwrap()
}

/// Every way in which the library writes buckets.
async fn every_write_passes<T: Sale>(db: &Database) {
    db.drop().await.unwrap();
    let sales = created::<T>(db).await;
    let alone = T::buckets(db).combine(false).await.unwrap();
    for n in 0..10 {
        sales.append(&T::new(1, n)).await.unwrap();
        alone.append(&T::new(LARGE, n)).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for n in 10..210 {
        let handle = if n % 5 == 0 { &alone } else { &sales }.clone();
        let customer = [1, 2, LARGE][n as usize % 3];
        tasks.spawn(async move { handle.append(&T::new(customer, n)).await });
    }
    for result in tasks.join_all().await {
        result.unwrap();
    }
    let many = (0..300).map(|n| T::new(n % 9, n as i64));
    sales.append_many(many).await.unwrap();

    let mut session = db.client().start_session().await.unwrap();
    for in_transaction in [false, true] {
        if in_transaction {
            session.start_transaction().await.unwrap();
        }
        for n in 0..6 {
            let append = sales.append(&T::new(3, n)).session(&mut session);
            append.await.unwrap();
        }
    }
    session.commit_transaction().await.unwrap();

    let flat = db.collection::<Document>("flat");
    let documents = (0..60).map(|n| {
        let at = DateTime::from_millis(DateTime::now().timestamp_millis() - n * 700_000);
        let customer = 100 + n % 4;
        doc! { "shopName": "Oslo_1", "customer": customer, "at": at, "price": 1.5, "n": n }
    });
    flat.insert_many(documents).await.unwrap();
    let order = doc! { "customer": 1, "at": 1 };
    (ops(&sales).import_flat(&flat).sort(order).await).unwrap();

    let stored = dense_buckets(&sales).await.into_values().flatten();
    let counts = stored.map(|bucket| number(bucket.get(T::SPEC.count)));
    assert_eq!(counts.sum::<i64>(), 20 + 200 + 300 + 12 + 60);
    let of_three = items(&sales, ("Oslo_1", &3)).await;
    assert!(of_three.iter().filter(|sale| sale.n() < 6).count() >= 12);
}

#[bucket_testkit::test]
async fn no_write_of_the_library_is_refused(db: Live) {
    every_write_passes::<Timed>(&db).await;
    every_write_passes::<Numbered>(&db).await;
    every_write_passes::<Windowed>(&db).await;
}

/// DocumentValidationFailure.
fn is_refusal(error: &DriverError) -> bool {
    match &*error.kind {
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.code == 121,
        _ => false,
    }
}

async fn assert_refused(
    buckets: &Collection<Document>,
    id: &str,
    update: impl Into<UpdateModifications>,
) {
    let before = documents(buckets).await;
    let update = update.into();
    let said = format!("{update:?}");
    let error = buckets.update_one(doc! { "_id": id }, update).await;
    let error = error.expect_err(&said);
    assert!(is_refusal(&error), "{said}: {error}");
    assert_eq!(documents(buckets).await, before, "{said}");
}

async fn assert_taken(buckets: &Collection<Document>, id: &str, update: Document) {
    let said = update.to_string();
    let updated = buckets.update_one(doc! { "_id": id }, update).await;
    assert_eq!(updated.expect(&said).modified_count, 1, "{said}");
}

fn push(n: i64) -> Document {
    doc! { "at": DateTime::now(), "price": 1.0, "n": n }
}

/// An update that appends by hand, and keeps the rollups correct.
fn append(n: i64) -> Document {
    doc! {
        "$push": { "history": push(n) },
        "$inc": {
            "count": 1,
            "rollup.at.count": 1,
            "rollup.price.count": 1,
            "rollup.n.count": 1,
            "rollup.n.sum": n,
        },
    }
}

#[bucket_testkit::test]
async fn what_would_break_a_bucket_is_refused_from_any_writer(db: Live) {
    let sales = created::<Windowed>(&db).await;
    let at = DateTime::now();
    let sale = |n| Windowed {
        at,
        ..Windowed::new(12, n)
    };
    for n in 0..6 {
        sales.append(&sale(n)).await.unwrap();
    }
    let raw = sales.collection();
    let stored = documents(raw).await;
    let [full, open] = [0, 1].map(|n: usize| stored[n].get_str("_id").unwrap());
    assert_eq!(number(stored[0].get("count")), 4);

    // G2: one element too many, a count that differs from the length, or no count.
    assert_refused(raw, full, append(9)).await;
    for count in [1, 3, 5] {
        assert_refused(raw, open, doc! { "$set": { "count": count } }).await;
    }
    assert_refused(raw, open, doc! { "$push": { "history": push(9) } }).await;
    assert_refused(raw, open, doc! { "$pop": { "history": 1 } }).await;
    for field in [
        "count", "history", "shopName", "customer", "hour", "newest", "rollup", "rollup.n",
    ] {
        assert_refused(raw, open, doc! { "$unset": { field: "" } }).await;
    }
    for field in ["count", "history", "customer", "hour", "newest", "rollup"] {
        assert_refused(raw, open, doc! { "$set": { field: "text" } }).await;
    }
    assert_refused(raw, open, doc! { "$set": { "shopName": 1 } }).await;
    // An append that forgets a rollup.
    let mut forgetful = append(9);
    let inc = forgetful.get_document_mut("$inc").unwrap();
    inc.remove("rollup.price.count").unwrap();
    assert_refused(raw, open, forgetful).await;
    assert_refused(raw, open, doc! { "$set": { "sealed": null } }).await;
    assert_refused(raw, open, doc! { "$set": { "sealed": "another" } }).await;

    let mut document = stored[1].clone();
    document.insert("_id", 7);
    let error = raw.insert_one(document).await.unwrap_err();
    assert!(is_refusal(&error), "{error}");
    assert_eq!(documents(raw).await, stored);

    // The validator accepts what breaks nothing: an append by hand, numbers of other types, a seal.
    assert_taken(raw, open, append(9)).await;
    let other = doc! { "$set": { "customer": 12.0, "note": "x" } };
    assert_taken(raw, open, other).await;
    assert_taken(raw, open, doc! { "$set": { "sealed": open } }).await;
    sales.append(&sale(10)).await.unwrap();
    assert_eq!(items(&sales, ("Oslo_1", &12)).await.len(), 8);
    assert_eq!(documents(raw).await.len(), 3);
}

#[bucket_testkit::test]
async fn the_manuals_upsert_passes(db: Live) {
    let plains = created::<Plain>(&db).await;
    for n in 0..7 {
        let at = DateTime::from_millis(1_698_321_600_000 + n * 1000);
        let filter = doc! { "_id": { "$regex": "^1_" }, "count": { "$lt": 3 } };
        let id = format!("1_{}", at.timestamp_millis() / 1000);
        let update = doc! {
            "$push": { "items": { "at": at, "n": n } },
            "$inc": { "count": 1 },
            // The shell writes a double.
            "$setOnInsert": { "_id": id, "key": 1.0 },
        };
        let upsert = plains.collection().update_one(filter, update).upsert(true);
        upsert.await.unwrap();
    }
    plains.append(&plain(7)).await.unwrap();
    let stored = items(&plains, &1).await;
    assert!(stored.iter().map(|plain| plain.n).eq(0..8), "{stored:?}");
}

/// The collection's validator on the server.
async fn validator(db: &Database, name: &str) -> Option<Document> {
    let found = db.list_collections().filter(doc! { "name": name }).await;
    let mut found: Vec<_> = found.unwrap().try_collect().await.unwrap();
    found.pop().and_then(|found| found.options.validator)
}

#[bucket_testkit::test]
async fn a_collection_that_is_there_gets_the_validator_and_its_buckets_go_on(db: Live) {
    // A bucket without rollups and without the time of the newest item, as older versions of the struct
    // wrote it.
    let sale = Timed::new(5, 0);
    let seconds = sale.at.timestamp_millis() / 1000;
    let id = format!("Oslo%5F1_5_{seconds}");
    let old = doc! {
        "_id": &id, "shopName": "Oslo_1", "customer": 5, "count": 1, "history": [push(0)],
    };
    let raw = db.collection::<Document>("sales");
    raw.insert_one(old).await.unwrap();

    let sales = created::<Timed>(&db).await;
    assert_eq!(validator(&db, "sales").await, Some(Timed::validator()));
    for n in 0..10 {
        sales.append(&Timed::new(5, n)).await.unwrap();
    }
    let stored = documents(&raw).await;
    assert_eq!(stored.len(), 3, "{stored:?}");
    let old = raw.find_one(doc! { "_id": &id }).await.unwrap().unwrap();
    assert_eq!(number(old.get("count")), 4, "{old}");
    let mut ids = stored.iter().map(|bucket| bucket.get_str("_id").unwrap());
    let new = ids.find(|found| *found != id).unwrap();
    assert_refused(&raw, new, doc! { "$set": { "count": 9 } }).await;
}

#[bucket_testkit::test]
async fn it_is_made_once_by_whoever_comes_first(db: Live) {
    let mut tasks = JoinSet::new();
    for n in 0..8 {
        let db = db.clone();
        tasks.spawn(async move {
            let plains = created::<Plain>(&db).await;
            plains.append(&plain(n)).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(validator(&db, "plain").await, Some(Plain::validator()));
    let plains = Plain::buckets(&db).await.unwrap();
    assert_eq!(items(&plains, &1).await.len(), 8);
    dense_buckets(&plains).await;
}

#[bucket_testkit::test]
async fn another_validator_stays_and_the_error_says_what_replaces_it(db: Live) {
    let theirs = doc! { "note": { "$ne": "bad" } };
    let create = db.create_collection("plain").validator(theirs.clone());
    create.await.unwrap();
    let error = Plain::create_collection(&db).await.unwrap_err();
    assert!(error.is_validator_conflict(), "{error}");
    let validator_text = Plain::validator().to_string();
    let command = format!(
        r#"db.runCommand({{collMod: "plain", validationLevel: "moderate", validator: {validator_text}}})"#
    );
    assert!(error.to_string().contains(&command), "{error}");
    assert_eq!(validator(&db, "plain").await, Some(theirs));

    let change =
        doc! { "collMod": "plain", "validationLevel": "moderate", "validator": Plain::validator() };
    db.run_command(change).await.unwrap();
    Plain::create_collection(&db).await.unwrap();

    // A view with that name is not a collection.
    db.collection::<Plain>("plain").drop().await.unwrap();
    let create = db.create_collection("plain").view_on("others".to_owned());
    create.await.unwrap();
    let error = Plain::create_collection(&db).await.unwrap_err();
    assert!(!error.is_validator_conflict(), "{error}");
}

#[bucket_testkit::test]
async fn options_of_the_driver_are_handed_on(db: Live) {
    let zstd = doc! { "wiredTiger": { "configString": "block_compressor=zstd" } };
    let options = CreateCollectionOptions::builder()
        .storage_engine(zstd.clone())
        .validator(doc! { "replaced": true })
        .build();
    let create = Plain::create_collection_in(db.collection::<Plain>("named"));
    create.options(options).await.unwrap();
    let found = db.list_collections().await.unwrap();
    let found: Vec<_> = found.try_collect().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "named");
    assert_eq!(found[0].options.storage_engine, Some(zstd));
    assert_eq!(found[0].options.validator, Some(Plain::validator()));
}
