//! `change_capacity` moves a collection to another capacity, and open handles follow.

use std::fmt::Debug;

use bucket_runtime::{
    Bucket, BucketProblem, Buckets,
    mongodb::{
        Collection, Database,
        bson::{Bson, DateTime, Document, doc},
    },
};

pub(crate) use crate::support::capacity::{change, is_dense};
use crate::support::database::{Live, documents, fresh, items, number};

pub(crate) trait Trade: Bucket<Key = (i64,)> + Clone + Debug + PartialEq {
    fn new(customer: i64, n: i64) -> Self;
    fn n(&self) -> i64;
}

macro_rules! trades {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "trades", id = $id, capacity = $capacity)]
        pub(crate) struct $name {
            customer: i64,
            at: DateTime,
            #[bucket(sum, max)]
            n: i64,
        }

        impl Trade for $name {
            /// Forty in one second, some of them late.
            fn new(customer: i64, n: i64) -> Self {
                let late = if n % 17 == 0 { 3000 } else { 0 };
                let at = DateTime::from_millis(1_698_321_600_000 + n * 25 - late);
                Self { customer, at, n }
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

trades! {
    Timed10("{customer}_{at}", 10)
    Timed25("{customer}_{at}", 25)
    Timed7("{customer}_{at}", 7)
    Millis10("{customer}_{at:millis}", 10)
    Millis25("{customer}_{at:millis}", 25)
    Millis7("{customer}_{at:millis}", 7)
    Numbered10("{customer}_{#}", 10)
    Numbered25("{customer}_{#}", 25)
    Numbered7("{customer}_{#}", 7)
    Windowed10("{customer}_{at/10s}", 10)
    Windowed25("{customer}_{at/10s}", 25)
    Windowed7("{customer}_{at/10s}", 7)
}

/// The numbers of a key's items, in the order in which they are read.
pub(crate) async fn numbers<T: Trade>(trades: &Buckets<T>, customer: i64) -> Vec<i64> {
    items(trades, &customer).await.iter().map(T::n).collect()
}

/// G2, G3 and G5, which hold at any time: checked by `verify`, and by reading the documents.
pub(crate) async fn is_sound<T: Trade>(db: &Database) -> Buckets<T> {
    let trades = T::buckets(db).await.unwrap();
    assert_eq!(T::verify(db).await.unwrap().problems, []);
    for bucket in documents(trades.collection()).await {
        let length = bucket.get_array("items").unwrap().len();
        assert_eq!(number(bucket.get("count")), length as i64, "G2: {bucket}");
        assert!(length <= T::SPEC.capacity as usize, "G2: {bucket}");
    }
    trades
}

/// Keys with buckets of every kind: full ones, sealed ones with room, an open and an empty one.
async fn filled<T: Trade>(db: &Database) -> Buckets<T> {
    let trades = fresh::<T>(db).await;
    for (customer, count) in [(1, 1), (12, 95), (-3, 100), (2, 300), (21, 1007)] {
        let all: Vec<_> = (0..count).map(|n| T::new(customer, n)).collect();
        trades.append_many(all).await.unwrap();
    }
    let raw = raw(&trades);
    let short = doc! { "$pop": { "items": 1 }, "$inc": { "count": -1 } };
    for bucket in documents(&raw).await.iter().step_by(7) {
        let id = bucket.get("_id").unwrap().clone();
        let full = doc! { "_id": &id, "count": T::SPEC.capacity };
        let mut update = short.clone();
        let elements = bucket.get_array("items").unwrap();
        let n = |element: &Bson| element.as_document().unwrap().get_i64("n").unwrap();
        let (last, others) = elements.split_last().unwrap();
        let inc = update.get_document_mut("$inc").unwrap();
        inc.insert("rollup.n.count", -1);
        inc.insert("rollup.n.sum", -n(last));
        let max = others.iter().map(n).max();
        update.insert("$set", doc! { "sealed": id, "rollup.n.max": max });
        raw.update_one(full, update).await.unwrap();
    }
    trades
}

pub(crate) fn raw<T: Bucket>(trades: &Buckets<T>) -> Collection<Document> {
    trades.collection().clone_with_type()
}

const CUSTOMERS: [i64; 5] = [1, 12, -3, 2, 21];

async fn all_numbers<T: Trade>(trades: &Buckets<T>) -> Vec<Vec<i64>> {
    let mut all = Vec::new();
    for customer in CUSTOMERS {
        all.push(numbers(trades, customer).await);
    }
    all
}

/// Appends to each key, one by one and several at once, through a handle of any capacity.
async fn goes_on<T: Trade>(trades: &Buckets<T>, mut model: Vec<Vec<i64>>, first: i64) {
    for (numbers, customer) in model.iter_mut().zip(CUSTOMERS) {
        for n in first..first + 30 {
            trades.append(&T::new(customer, n)).await.unwrap();
        }
        let late = (first + 30..first + 60).map(|n| T::new(customer, n));
        trades.append_many(late).await.unwrap();
        let together = (first + 60..first + 90).map(|n| {
            let trade = T::new(customer, n);
            async move { trades.append(&trade).await }
        });
        for result in futures_util::future::join_all(together).await {
            result.unwrap();
        }
        numbers.extend(first..first + 90);
        numbers.sort_unstable();
        let mut read = self::numbers(trades, customer).await;
        read.sort_unstable();
        assert_eq!(read, *numbers, "G1");
    }
}

async fn up_and_down<A: Trade, B: Trade, C: Trade>(db: &Database, repack: bool) {
    let old = filled::<A>(db).await;
    let before = documents(old.collection()).await;
    let model = all_numbers(&old).await;
    assert!(B::buckets(db).await.unwrap_err().is_capacity_mismatch());

    let raised = change::<B>(db, repack).await;
    let new = is_sound::<B>(db).await;
    assert_eq!(all_numbers(&new).await, model, "the order changed");
    if repack {
        is_dense(&new).await;
        assert!(raised.replaced > raised.written, "{raised:?}");
    } else {
        assert_eq!((raised.replaced, raised.written), (0, 0));
        let mut after = documents(new.collection()).await;
        for bucket in &mut after {
            bucket.remove("sealed");
            bucket.remove("capacity");
        }
        let mut before = before;
        for bucket in &mut before {
            bucket.remove("sealed");
        }
        assert_eq!(after, before);
    }
    // Nothing is left to do.
    let again = change::<B>(db, repack).await;
    assert_eq!((again.replaced, again.written), (0, 0));

    // The old handle follows, and so does a new handle.
    goes_on(&old, model, 2000).await;
    is_sound::<B>(db).await;
    let model = all_numbers(&new).await;
    goes_on(&new, model, 3000).await;
    let new = is_sound::<B>(db).await;

    let model = all_numbers(&new).await;
    change::<C>(db, repack).await;
    let newest = is_sound::<C>(db).await;
    assert_eq!(all_numbers(&newest).await, model, "the order changed");
    if repack {
        is_dense(&newest).await;
    }
    let again = change::<C>(db, repack).await;
    assert_eq!((again.replaced, again.written), (0, 0));
    goes_on(&new, model, 4000).await;
    let newest = is_sound::<C>(db).await;
    let model = all_numbers(&newest).await;
    goes_on(&old, model, 5000).await;
    is_sound::<C>(db).await;
    let all = numbers(&newest, 21).await;
    for bucket in documents(newest.collection()).await {
        let n = |item: &Bson| item.as_document().unwrap().get_i64("n").unwrap();
        let sum = bucket
            .get_array("items")
            .unwrap()
            .iter()
            .map(n)
            .sum::<i64>();
        let kept = bucket
            .get_document("rollup")
            .unwrap()
            .get_document("n")
            .unwrap();
        assert_eq!(number(kept.get("sum")), sum, "{bucket}");
    }

    // Change back to the first capacity.
    change::<A>(db, true).await;
    let old = is_sound::<A>(db).await;
    is_dense(&old).await;
    assert_eq!(numbers(&old, 21).await, all, "the order changed");
}

#[bucket_testkit::test]
async fn timed_up_and_down(db: Live) {
    up_and_down::<Timed10, Timed25, Timed7>(&db, false).await;
    up_and_down::<Timed10, Timed25, Timed7>(&db, true).await;
}

#[bucket_testkit::test]
async fn millis_up_and_down(db: Live) {
    up_and_down::<Millis10, Millis25, Millis7>(&db, false).await;
    up_and_down::<Millis10, Millis25, Millis7>(&db, true).await;
}

#[bucket_testkit::test]
async fn numbered_up_and_down(db: Live) {
    up_and_down::<Numbered10, Numbered25, Numbered7>(&db, false).await;
    up_and_down::<Numbered10, Numbered25, Numbered7>(&db, true).await;
    // Page n is still the bucket with number n - 1.
    let trades = fresh::<Numbered10>(&db).await;
    trades
        .append_many((0..100).map(|n| Numbered10::new(1, n)))
        .await
        .unwrap();
    let db = trades
        .collection()
        .client()
        .database(&trades.collection().namespace().db);
    change::<Numbered25>(&db, true).await;
    let trades = is_sound::<Numbered25>(&db).await;
    trades.append(&Numbered25::new(1, 100)).await.unwrap();
    // The items filled four buckets, and the empty one behind them takes nothing.
    for (page, first) in [(1, Some(0)), (4, Some(75)), (5, None), (6, Some(100))] {
        let page = trades.page(&1, page).await.unwrap().unwrap();
        assert_eq!(page.items.first().map(Trade::n), first);
    }
    assert_eq!(trades.page_count(&1).await.unwrap(), 6);
}

#[bucket_testkit::test]
async fn windowed_up_and_down(db: Live) {
    up_and_down::<Windowed10, Windowed25, Windowed7>(&db, false).await;
    up_and_down::<Windowed10, Windowed25, Windowed7>(&db, true).await;
}

/// The state that a crash leaves between dropping the old index and creating the new one.
async fn without_an_index<A: Trade, B: Trade>(db: &Database) {
    for repair in [false, true] {
        let old = filled::<A>(db).await;
        let model = all_numbers(&old).await;
        old.collection().drop_index("bucket_open").await.unwrap();
        if repair {
            // Opening creates the index only if at most one bucket of each key has room.
            assert!(B::buckets(db).await.unwrap_err().is_several_open());
            let done = B::repair(db).await.unwrap();
            assert!(done.repaired["SeveralOpen"] > 0, "{done:?}");
            assert!(done.left.iter().all(|left| left.kind() == "MissingIndex"));
        } else {
            change::<B>(db, false).await;
        }
        let new = is_sound::<B>(db).await;
        assert_eq!(all_numbers(&new).await, model, "the order");
        goes_on(&new, model, 2000).await;
        is_sound::<B>(db).await;
    }
}

#[bucket_testkit::test]
async fn a_call_that_was_broken_off_without_an_index_is_taken_up(db: Live) {
    without_an_index::<Timed10, Timed25>(&db).await;
    without_an_index::<Numbered10, Numbered25>(&db).await;
}

#[bucket_testkit::test]
async fn the_structs_validator_follows_and_another_one_stays(db: Live) {
    Timed10::create_collection(&db).await.unwrap();
    let old = filled::<Timed10>(&db).await;
    let model = all_numbers(&old).await;
    change::<Timed25>(&db, true).await;
    Timed25::create_collection(&db).await.unwrap();
    goes_on(&old, model, 2000).await;
    change::<Timed7>(&db, true).await;
    Timed7::create_collection(&db).await.unwrap();

    let other = doc! { "count": { "$gte": 0 } };
    let command = doc! { "collMod": "trades", "validator": other };
    db.run_command(command).await.unwrap();
    change::<Timed10>(&db, true).await;
    assert!(
        Timed10::create_collection(&db)
            .await
            .unwrap_err()
            .is_validator_conflict()
    );
}

#[bucket_testkit::test]
async fn an_item_keeps_what_the_struct_does_not_know(db: Live) {
    let old = filled::<Timed10>(&db).await;
    let noted = doc! { "$set": { "items.3.note": "by hand" } };
    let many = doc! { "customer": 2, "count": 10 };
    let found = raw(&old)
        .update_many(many, noted)
        .await
        .unwrap()
        .modified_count;
    change::<Timed25>(&db, true).await;
    let mut notes = 0;
    for bucket in documents(old.collection()).await {
        let items = bucket.get_array("items").unwrap().iter();
        notes += items
            .filter(|item| item.as_document().unwrap().contains_key("note"))
            .count() as u64;
    }
    assert_eq!(notes, found);
}

#[bucket_testkit::test]
async fn a_key_that_cannot_be_read_is_left_and_named(db: Live) {
    let old = filled::<Timed10>(&db).await;
    let broken = doc! { "$set": { "items.3.n": "three" } };
    raw(&old)
        .update_one(doc! { "customer": 12 }, broken)
        .await
        .unwrap();
    let done = Timed25::change_capacity(&db).repack(true).await.unwrap();
    let [left] = &done.left[..] else {
        panic!("{:?}", done.left)
    };
    assert!(
        left.is_deserialize() && left.key() == Some("\"12\""),
        "{left}"
    );
    assert!(done.replaced > 100, "the others were rewritten: {done:?}");
    let problems = Timed25::verify(&db).await.unwrap().problems;
    let [BucketProblem::Unreadable { place: 3, .. }] = &problems[..] else {
        panic!("{problems:?}")
    };
}
