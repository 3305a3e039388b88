//! `#[bucket(unique)]`: an append is safe to repeat. However often and in whichever way an item is
//! sent, it is stored once (G1), and later calls say that it was already there.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_runtime::{
    Appended::{AlreadyThere, Stored},
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc, oid::ObjectId},
    },
};
use rand::seq::SliceRandom;

use crate::support::{
    database::{Live, dense_buckets, fresh, items, number},
    ops,
    tasks::JoinSet,
};

pub(crate) trait Order: for<'k> Bucket<Key = (i64,)> + Clone + Debug {
    fn new(customer: i64, order: String, at: i64) -> Self;
}

macro_rules! orders {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "orders", id = $id, capacity = $capacity)]
        pub(crate) struct $name {
            customer: i64,
            at: DateTime,
            #[bucket(unique)]
            pub(crate) order: String,
        }

        impl Order for $name {
            fn new(customer: i64, order: String, at: i64) -> Self {
                Self { customer, at: DateTime::from_millis(at), order }
            }
        }
    )+};
}

orders! {
    Seconds1("{customer}_{at}", 1)
    Seconds7("{customer}_{at}", 7)
    Windows7("{customer}_{at/1m}", 7)
    Numbered1("{customer}_{#}", 1)
    Numbered7("{customer}_{#}", 7)
}

pub(crate) const CUSTOMERS: i64 = 3;

/// The item of a number: an order of one of the customers, about one per second.
pub(crate) fn order<T: Order>(n: i64) -> T {
    let at = 1_698_321_600_000 + n * 997;
    T::new(n % CUSTOMERS, format!("order {n}"), at)
}

/// How often each order is stored. It checks G2 and G3 first.
pub(crate) async fn stored<T: Order>(orders: &Buckets<T>) -> BTreeMap<String, usize> {
    let mut stored = BTreeMap::new();
    for bucket in dense_buckets(orders).await.into_values().flatten() {
        let customer = number(bucket.get("customer"));
        for item in bucket.get_array("items").unwrap() {
            let order = item.as_document().unwrap().get_str("order").unwrap();
            let n: i64 = order["order ".len()..].parse().unwrap();
            assert_eq!(n % CUSTOMERS, customer, "G4");
            *stored.entry(order.to_owned()).or_default() += 1;
        }
    }
    stored
}

pub(crate) async fn assert_each_once<T: Order>(orders: &Buckets<T>, items: i64) {
    let each_once = (0..items).map(|n| (format!("order {n}"), 1));
    assert_eq!(stored(orders).await, each_once.collect(), "G1");
}

/// 32 tasks send the same items, each in its own order: one at a time or several at once, every fourth
/// task in loads. Exactly one of the calls for an item says that it stored it.
async fn race<T: Order>(db: &Database, combine: bool) {
    const ITEMS: i64 = 40;
    let orders = fresh::<T>(db).await;
    let mut opened = Vec::new();
    for _ in 0..3 {
        opened.push(T::buckets(db).combine(combine).await.unwrap());
    }
    let mut senders = JoinSet::new();
    for sender in 0..32 {
        let orders = opened[sender % 3].clone();
        senders.spawn(async move {
            let mut numbers: Vec<_> = (0..ITEMS).collect();
            numbers.shuffle(&mut rand::rng());
            let mut stored = 0;
            if sender % 4 == 0 {
                let load = numbers.into_iter().map(order::<T>).collect::<Vec<_>>();
                stored += orders.append_many(load).await.unwrap();
            } else {
                for n in numbers {
                    match orders.append(&order::<T>(n)).await.unwrap() {
                        Stored => stored += 1,
                        AlreadyThere => {}
                    }
                }
            }
            stored
        });
    }
    let said: u64 = senders.join_all().await.into_iter().sum();
    assert_eq!(said, ITEMS as u64, "one call for each item stored it");
    assert_each_once(&orders, ITEMS).await;
}

macro_rules! races {
    ($($test:ident: $name:ident;)+) => {$(
        #[bucket_testkit::test(multi_thread)]
        async fn $test(db: Live) {
            race::<$name>(&db, true).await;
            race::<$name>(&db, false).await;
        }
    )+};
}

races! {
    g1_seconds_1: Seconds1;
    g1_seconds_7: Seconds7;
    g1_windows_7: Windows7;
    g1_numbered_1: Numbered1;
    g1_numbered_7: Numbered7;
}

/// One item many times in one load, in one bucket and across several.
async fn twins_in_a_load<T: Order>(db: &Database) {
    let orders = fresh::<T>(db).await;
    let mut numbers: Vec<_> = (0..60).chain(0..60).chain([0, 0, 0, 59]).collect();
    numbers.shuffle(&mut rand::rng());
    let load = numbers.iter().map(|n| order::<T>(*n)).collect::<Vec<_>>();
    assert_eq!(orders.append_many(load.clone()).await.unwrap(), 60);
    assert_each_once(&orders, 60).await;
    assert_eq!(orders.append_many(load).await.unwrap(), 0);
    let more = (40..100).map(order::<T>).collect::<Vec<_>>();
    assert_eq!(orders.append_many(more).await.unwrap(), 40);
    assert_each_once(&orders, 100).await;
}

#[bucket_testkit::test]
async fn g1_twins_in_a_load_are_stored_once(db: Live) {
    twins_in_a_load::<Seconds7>(&db).await;
    twins_in_a_load::<Windows7>(&db).await;
    twins_in_a_load::<Numbered7>(&db).await;
    twins_in_a_load::<Numbered1>(&db).await;
}

/// Two keys may have items with the same identity.
#[bucket_testkit::test]
async fn an_identity_is_one_of_its_key(db: Live) {
    let orders = fresh::<Numbered7>(&db).await;
    for customer in 0..3 {
        let order = Numbered7::new(customer, "first".to_owned(), 0);
        assert_eq!(orders.append(&order).await.unwrap(), Stored);
        assert_eq!(orders.append(&order).await.unwrap(), AlreadyThere);
    }
}

/// In a transaction a refusal would abort it, so the append looks the item up first.
#[bucket_testkit::test]
async fn g1_in_a_transaction_an_item_that_is_there_is_left_out_and_aborts_nothing(db: Live) {
    let orders = fresh::<Seconds7>(&db).await;
    for n in 0..20 {
        orders.append(&order(n)).await.unwrap();
    }
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 10..30 {
        let appended = orders.append(&order(n)).session(&mut session).await;
        let expected = if n < 20 { AlreadyThere } else { Stored };
        assert_eq!(appended.unwrap(), expected);
    }
    let again = orders.append(&order(29)).session(&mut session).await;
    assert_eq!(again.unwrap(), AlreadyThere);
    // A load leaves out what is there, and the twin of its own item, and does not count them.
    let load = [28, 31, 30, 30, 0, 32].map(order);
    let load = orders.append_many(load).session(&mut session);
    assert_eq!(load.await.unwrap(), 3);
    session.commit_transaction().await.unwrap();
    assert_each_once(&orders, 33).await;
}

/// Items in another program's bucket count, whichever numeric type their identity has.
#[bucket_testkit::test]
async fn a_number_is_one_identity_in_any_type(db: Live) {
    #[derive(Bucket)]
    #[bucket(collection = "orders", id = "{customer}_{#}", capacity = 3)]
    struct Counted {
        customer: i64,
        #[bucket(unique)]
        number: i32,
    }
    let orders = Counted::buckets(&db).await.unwrap();
    let bucket = doc! {
        "_id": "1_0000000000", "customer": 1_i64, "count": 3,
        "items": [{ "number": 1.0 }, { "number": 2_i64 }, { "number": 3 }],
    };
    let raw = db.collection::<Document>("orders");
    raw.insert_one(bucket).await.unwrap();
    for (number, expected) in [
        (1, AlreadyThere),
        (2, AlreadyThere),
        (3, AlreadyThere),
        (4, Stored),
    ] {
        let customer = 1;
        let appended = orders.append(&Counted { customer, number }).await;
        assert_eq!(appended.unwrap(), expected, "{number}");
    }
}

/// The index cannot be created over repeated identities, and opening says so.
#[bucket_testkit::test]
async fn a_collection_with_twins_does_not_open(db: Live) {
    let raw = db.collection::<Document>("orders");
    let bucket = |id: &str| {
        doc! { "_id": id, "customer": 1_i64, "count": 7, "items": vec![doc! { "order": "a" }; 7] }
    };
    let buckets = [bucket("1_0000000000"), bucket("1_0000000001")];
    raw.insert_many(buckets).await.unwrap();
    let error = Numbered7::buckets(&db).await.unwrap_err();
    assert!(error.is_not_unique(), "{error}");
    let second = raw.delete_one(doc! { "_id": "1_0000000001" });
    assert_eq!(second.await.unwrap().deleted_count, 1);
    Numbered7::buckets(&db).await.unwrap();

    // An index that only has our index's name is refused.
    raw.drop().await.unwrap();
    let index = doc! { "createIndexes": "orders", "indexes": [
        { "key": { "items.order": 1 }, "name": "bucket_unique", "unique": true },
    ] };
    db.run_command(index).await.unwrap();
    let error = Numbered7::buckets(&db).await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
    assert!(error.to_string().contains("bucket_unique"), "{error}");
}

/// The second transaction of the import, which writes 1,000 buckets, begins with an open bucket, which holds the first
/// of its items. (`load/import_flat/told.rs` repeats items of former transactions, and of the same.)
#[bucket_testkit::test]
async fn g1_import_flat_stores_each_once_beside_an_open_bucket(db: Live) {
    let orders = fresh::<Numbered7>(&db).await;
    let flat = db.collection::<Document>("flat");
    let row = |n: i64| {
        let order = format!("order {n}");
        doc! { "_id": ObjectId::new(), "customer": 0, "at": DateTime::MIN, "order": order }
    };
    let numbers = (0..6999).chain([0, 6998]).chain(6999..7010);
    flat.insert_many(numbers.map(row)).await.unwrap();
    let imported = ops(&orders).import_flat(&flat).await.unwrap();
    assert_eq!((imported.found, imported.stored), (7012, 7010));
    assert_eq!(imported.left_out, 2);
    // Each where it is first.
    let stored = items(&orders, &0).await;
    let in_order = (0..7010).map(|n| format!("order {n}"));
    assert!(stored.into_iter().map(|item| item.order).eq(in_order));
}
