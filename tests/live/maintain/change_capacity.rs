//! `change_capacity`.

pub(crate) mod beside;
pub(crate) mod dropped;
pub(crate) mod index;
pub(crate) mod versions;

use std::{collections::BTreeMap, fmt::Debug};

use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document},
    },
};
use futures_util::future::join_all;

use crate::support::{
    assert_refused, assert_sound,
    database::{documents, number},
};

pub(crate) trait Trade: Bucket<Key = (i64,)> + Clone + Debug + PartialEq {
    fn new(customer: i64, n: i64) -> Self;
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
        }
    )+};
}

trades! {
    Timed10("{customer}_{at}", 10)
    Timed25("{customer}_{at}", 25)
    Timed4("{customer}_{at}", 4)
    Numbered10("{customer}_{#}", 10)
    Numbered25("{customer}_{#}", 25)
    Numbered4("{customer}_{#}", 4)
    Windowed10("{customer}_{at/10s}", 10)
    Windowed25("{customer}_{at/10s}", 25)
}

/// What the documents hold: the numbers of all items, sorted.
pub(crate) async fn stored(db: &Database) -> Vec<i64> {
    let mut stored = Vec::new();
    for bucket in documents(&db.collection::<Document>("trades")).await {
        let items = bucket.get_array("items").unwrap().iter();
        stored.extend(items.map(|item| number(item.as_document().unwrap().get("n"))));
    }
    stored.sort_unstable();
    stored
}

/// The length of each bucket, by its id. It checks G2, the totals, and G3 where buckets with fewer items than this
/// capacity are open.
pub(crate) fn lengths(buckets: &[Document], capacity: usize) -> BTreeMap<String, usize> {
    let mut open = BTreeMap::new();
    let mut lengths = BTreeMap::new();
    for bucket in buckets {
        let items = bucket.get_array("items").unwrap();
        let length = items.len();
        assert_eq!(number(bucket.get("count")), length as i64, "G2: {bucket}");
        let n = |item: &Bson| number(item.as_document().unwrap().get("n"));
        let kept = bucket.get_document("rollup").unwrap();
        let sum = number(kept.get_document("n").unwrap().get("sum"));
        assert_eq!(sum, items.iter().map(n).sum::<i64>(), "{bucket}");
        if length < capacity && !bucket.contains_key("sealed") {
            let key = (
                number(bucket.get("customer")),
                bucket.get("window").map(Bson::to_string),
            );
            assert_eq!(open.insert(key, bucket), None, "G3: {bucket}");
        }
        lengths.insert(bucket.get_str("_id").unwrap().to_owned(), length);
    }
    lengths
}

/// G2, G3 and G5 of a collection that has the struct's capacity, also after further appends by a handle that is opened
/// now: it fills no bucket above that capacity.
pub(crate) async fn is_sound<T: Trade>(db: &Database) {
    let trades = T::buckets(db).await.unwrap();
    assert_sound(&trades).await;
    let capacity = T::SPEC.capacity as usize;
    let look = async || lengths(&documents(trades.collection()).await, capacity);
    let (before, all) = (look().await, stored(db).await);
    let end = all.first().map_or(0, |n| *n.min(&0));
    let appends = (end - 30..end).map(|n| T::new(1, n));
    let appends = appends.map(async |trade| trades.append(&trade).await.unwrap());
    join_all(appends).await;
    let many = (end - 60..end - 30).map(|n| T::new(2, n));
    trades.append_many(many).await.unwrap();
    for (id, length) in look().await {
        let was = before.get(&id);
        assert!(
            length <= capacity || was == Some(&length),
            "G2: {id}, {was:?}, {length}"
        );
    }
    assert_sound(&trades).await;
    let all = [Vec::from_iter(end - 60..end), all].concat();
    assert_eq!(stored(db).await, all, "G1");
}

/// An append by a handle of a former capacity: nothing is stored, and the error says so.
pub(crate) async fn is_refused<T: Trade>(old: &Buckets<T>, trade: &T) {
    let error = old.append(trade).await.unwrap_err();
    assert_refused(&error, Error::is_index_missing);
}
