//! `upsert_item`: the item with this identity is replaced or appended, and never there twice.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets, Error, Filter, Identified, Key,
    Upserted::{self, Appended, Replaced},
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use bucket_testkit::{Fate, Proxy};
use futures_util::TryStreamExt;

use crate::support::{
    assert_refused, assert_sound,
    database::{Live, Recorded, documents, items, number, numbers_its_commands, server},
    fail_points::{fail, fail_no_more, failing_server},
    notes::moment,
    tasks::JoinSet,
};

pub(super) trait Order:
    for<'k> Identified<Key: Key<Ref<'k> = &'k i64>> + Clone + PartialEq + std::fmt::Debug
{
    fn new(customer: i64, order: i64, state: i32) -> Self;
    fn is(order: i64) -> Filter<Self>;
    fn order(&self) -> i64;
    fn state(&self) -> i32;
}

macro_rules! orders {
    ($($name:ident($($bucket:tt)*) $([$($kept:tt)*])?)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "orders", capacity = 3, $($bucket)*)]
        pub(super) struct $name {
            customer: i64,
            at: DateTime,
            #[bucket(unique)]
            pub(super) order: i64,
            $(#[bucket($($kept)*)])?
            state: i32,
            pub(super) note: String,
        }

        impl Order for $name {
            fn new(customer: i64, order: i64, state: i32) -> Self {
                Self { customer, at: moment(order), order, state, note: "n".repeat(state as usize % 9) }
            }

            fn is(order: i64) -> Filter<Self> {
                Self::FIELDS.order.eq(order)
            }

            fn order(&self) -> i64 {
                self.order
            }

            fn state(&self) -> i32 {
                self.state
            }
        }
    )+};
}

orders! {
    Seconds(id = "{customer}_{at}")
    Millis(id = "{customer}_{at:millis}", items = "history", count = "length")
    Numbered(id = "{customer}_{#}")
    Windows(id = "{customer}_{at/1m}")
    Sums(id = "{customer}_{#}") [sum, min, max]
    Dying(id = "{customer}_{at}", expire_after = "90d")
}

macro_rules! for_all_orders {
    ($call:ident($($argument:expr),*)) => {{
        $call::<Seconds>($($argument),*).await;
        $call::<Millis>($($argument),*).await;
        $call::<Numbered>($($argument),*).await;
        $call::<Windows>($($argument),*).await;
        $call::<Sums>($($argument),*).await;
        $call::<Dying>($($argument),*).await;
    }};
}

async fn created<T: Order>(db: &Database) -> Buckets<T> {
    let _ = db.collection::<Document>("orders").drop().await;
    T::create_collection(db).await.unwrap();
    T::buckets(db).await.unwrap()
}

/// The state of each order of both customers, with G2 and G3 checked.
async fn states<T: Order>(orders: &Buckets<T>) -> BTreeMap<(i64, i64), i32> {
    assert_sound(orders).await;
    let mut found = BTreeMap::new();
    for customer in [0, 1] {
        for item in items(orders, &customer).await {
            let before = found.insert((customer, item.order()), item.state());
            assert_eq!(before, None, "stored twice: {item:?}");
        }
    }
    for bucket in documents(orders.collection()).await {
        let stored = bucket.get_array(T::SPEC.items).unwrap();
        let count = number(bucket.get(T::SPEC.count));
        assert_eq!(count, stored.len() as i64, "G2: {bucket}");
    }
    found
}

async fn as_in_a_map<T: Order>(db: &Database) {
    let orders = created::<T>(db).await;
    let mut model = BTreeMap::new();
    for state in 0..80 {
        let (customer, order) = (rand::random_range(0..2), rand::random_range(0..14));
        let key = (customer, order);
        if rand::random_bool(0.2) {
            let gone = orders.remove_item(&customer, T::is(order)).await.unwrap();
            assert_eq!(gone.map(|item| item.state()), model.remove(&key));
        } else {
            let done = orders.upsert_item(&T::new(customer, order, state)).await;
            let before = model.insert(key, state);
            let expected = if before.is_some() { Replaced } else { Appended };
            assert_eq!(done.unwrap(), expected);
        }
    }
    assert_eq!(states(&orders).await, model);
    for ((customer, order), state) in model {
        let found = orders.items(&customer).filter(T::is(order));
        let found: Vec<T> = found.await.unwrap().try_collect().await.unwrap();
        assert_eq!(found, [T::new(customer, order, state)]);
    }
}

#[bucket_testkit::test]
async fn an_item_is_replaced_or_appended(db: Live) {
    for_all_orders!(as_in_a_map(&db));
}

/// Every identity is appended by exactly one of the racing calls.
async fn at_once<T: Order>(db: &Database) {
    let orders = created::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..6 {
        let orders = orders.clone();
        writers.spawn(async move {
            let mut appended = Vec::new();
            for order in 0..12 {
                let item = T::new(order % 2, order, writer);
                if orders.upsert_item(&item).await.unwrap() == Upserted::Appended {
                    appended.push(order);
                }
            }
            appended
        });
    }
    let mut appended = writers.join_all().await.concat();
    appended.sort_unstable();
    assert_eq!(appended, Vec::from_iter(0..12));
    assert_eq!(states(&orders).await.len(), 12);
    assert_eq!(orders.count(&0).await.unwrap(), 6);
}

#[bucket_testkit::test(multi_thread)]
async fn g1_racing_upserts_store_an_item_once(db: Live) {
    for_all_orders!(at_once(&db));
}

#[bucket_testkit::test]
async fn an_upsert_takes_one_round_trip(Recorded(db, record): Recorded) {
    let orders = Numbered::buckets(&db).await.unwrap();
    // The first command of several updates asks for its session's number, once.
    orders.upsert_item(&Numbered::new(0, 1, 1)).await.unwrap();
    record.take();
    let done = orders.upsert_item(&Numbered::new(0, 2, 1)).await.unwrap();
    assert_eq!((done, record.take().len()), (Appended, 1));
    let done = orders.upsert_item(&Numbered::new(0, 1, 2)).await.unwrap();
    assert_eq!((done, record.take().len()), (Replaced, 1));
    // Also if its bucket is full, and no bucket is open.
    orders.upsert_item(&Numbered::new(0, 3, 1)).await.unwrap();
    record.take();
    let done = orders.upsert_item(&Numbered::new(0, 2, 2)).await.unwrap();
    assert_eq!((done, record.take().len()), (Replaced, 1));
    let expected = [((0, 1), 2), ((0, 2), 2), ((0, 3), 1)];
    assert_eq!(states(&orders).await, BTreeMap::from(expected));
}

#[bucket_testkit::test]
async fn an_item_in_another_window_is_not_moved(db: Live) {
    let orders = created::<Windows>(&db).await;
    orders.upsert_item(&Windows::new(0, 1, 1)).await.unwrap();
    let mut late = Windows::new(0, 1, 2);
    late.at = moment(100);
    let error = orders.upsert_item(&late).await.unwrap_err();
    assert_refused(&error, Error::is_item_moved);
    assert_eq!(states(&orders).await, BTreeMap::from([((0, 1), 1)]));
}

async fn in_transactions<T: Order>(db: &Database) {
    let orders = created::<T>(db).await;
    orders.upsert_item(&T::new(0, 1, 1)).await.unwrap();
    let before = documents(orders.collection()).await;
    let mut session = db.client().start_session().await.unwrap();
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        for (order, expected) in [(1, Replaced), (2, Appended), (2, Replaced)] {
            let item = T::new(0, order, 5);
            let done = orders.upsert_item(&item).session(&mut session).await;
            assert_eq!(done.unwrap(), expected);
        }
        assert_eq!(documents(orders.collection()).await, before);
        match commit {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
    }
    let expected = [((0, 1), 5), ((0, 2), 5)];
    assert_eq!(states(&orders).await, BTreeMap::from(expected));
}

#[bucket_testkit::test]
async fn a_transaction_upserts_all_or_nothing(db: Live) {
    for_all_orders!(in_transactions(&db));
}

#[bucket_testkit::test]
async fn an_upsert_is_carried_out_once_although_the_connection_breaks(direct: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let db = proxy.database(direct.name()).unwrap();
    let orders = created::<Numbered>(&db).await;
    orders.upsert_item(&Numbered::new(0, 0, 0)).await.unwrap();
    let command = match numbers_its_commands().await {
        true => "update",
        false => "bulkWrite",
    };
    for (order, fate) in (1..).zip([Fate::CutBefore, Fate::CutAfter]) {
        for (state, expected) in [(1, Appended), (2, Replaced)] {
            proxy.next(command, [fate]);
            let item = Numbered::new(0, order, state);
            let done = orders.upsert_item(&item).await.unwrap();
            assert!(proxy.is_done());
            // The driver does not say what a repeated `bulkWrite` did.
            let is_unknown = command == "bulkWrite" && done == Replaced;
            assert!(done == expected || is_unknown, "{done:?}");
        }
    }
    let expected = [((0, 0), 0), ((0, 1), 2), ((0, 2), 2)];
    assert_eq!(states(&orders).await, BTreeMap::from(expected));
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "large",
    id = "{owner}_{#}",
    capacity = 10,
    max_bytes = 20_000
)]
struct Large {
    owner: i64,
    #[bucket(unique)]
    n: i32,
    text: String,
}

/// The connection breaks at the first command, whose item may then be stored, and at all that follow.
#[bucket_testkit::test]
async fn g1_an_upsert_in_doubt_stays_so_if_a_later_step_fails(_: Live) {
    let Some(server) = failing_server().await else {
        return;
    };
    let db = server.database("upsert").await.unwrap();
    let orders = created::<Numbered>(&db).await;
    orders.upsert_item(&Numbered::new(0, 0, 0)).await.unwrap();
    let commands = ["update", "bulkWrite", "find", "aggregate"].to_vec();
    let data = doc! { "failCommands": commands, "closeConnection": true };
    fail(&db, data).await;
    let failed = orders.upsert_item(&Numbered::new(0, 1, 0)).await;
    fail_no_more(&db).await;
    let error = failed.unwrap_err();
    assert!(error.is_maybe_stored(), "{error}");
}

/// The bytes that items take beyond their shares stay right, whichever way an item is replaced.
#[bucket_testkit::test]
async fn large_items_and_small_ones_replace_each_other(db: Live) {
    let large = Large::buckets(&db).await.unwrap();
    let mut model = BTreeMap::new();
    for step in 0..60 {
        let (n, len) = (rand::random_range(0..25), [10, 100, 900, 4000][step % 4]);
        let text = "x".repeat(len);
        match large.upsert_item(&Large { owner: 1, n, text }).await {
            Ok(_) => drop(model.insert(n, len)),
            // The item grows, and its bucket has no room for it.
            Err(error) => assert!(error.is_too_large() && model.contains_key(&n), "{error}"),
        }
    }
    let found = items(&large, &1).await;
    let found = found.into_iter().map(|item| (item.n, item.text.len()));
    assert_eq!(BTreeMap::from_iter(found), model);
    assert_sound(&large).await;
}
