//! Buckets that are inserted full, where many items of one key wait.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, doc},
};

use crate::{
    append::combine::support::{
        Mark, Numbered1, Numbered10, Seconds1, Seconds10, assert_stored, carried, stored, together,
    },
    support::database::{Live, Recorded, fresh},
};

/// Four items of one key, and then `n` more at once. Returns how many items each statement carries of the commands
/// for these.
async fn after_four<T: Mark>(Recorded(db, record): &Recorded, n: i64) -> Vec<Vec<usize>> {
    let marks = fresh::<T>(db).await;
    for n in 0..4 {
        marks.append(&T::new(7, n)).await.unwrap();
    }
    record.take();
    for result in together(&marks, (4..4 + n).map(|n| T::new(7, n))).await {
        result.unwrap();
    }
    let in_order: Vec<_> = (0..4 + n).collect();
    assert_eq!(stored(&marks).await[&7], in_order, "G1, G5");
    carried(&record.take())
}

#[bucket_testkit::test]
async fn those_that_fill_no_bucket_wait_for_the_next_command(on: Recorded) {
    // Whoever comes next fills the bucket that they would only begin.
    let carried = after_four::<Seconds10>(&on, 33).await;
    assert_eq!(carried, [vec![6, 9, 10, 1], vec![7]]);
    let carried = after_four::<Numbered10>(&on, 33).await;
    assert_eq!(carried, [vec![6, 10, 10], vec![7]]);
    // Nobody waits for others.
    assert_eq!(after_four::<Seconds10>(&on, 15).await, [[6, 9]]);
}

#[bucket_testkit::test]
async fn buckets_are_inserted_in_the_order_of_their_items(on: Recorded) {
    // With a time the last bucket is opened before the full ones: while it is open, nobody opens another one, so that
    // what anybody appends next comes after these items. It has room for one item until the others are stored, since
    // a full one would not show that it is open.
    assert_eq!(after_four::<Seconds10>(&on, 36).await, [[6, 9, 10, 10, 1]]);
    // A full bucket takes the number that an open one would need.
    assert_eq!(after_four::<Numbered10>(&on, 36).await, [[6, 10, 10, 10]]);
    // A bucket of one item is never open.
    assert_eq!(after_four::<Seconds1>(&on, 5).await, [[1; 5]]);
    assert_eq!(after_four::<Numbered1>(&on, 5).await, [[1; 5]]);
}

/// The second full bucket would get the id of one that exists. Its items, and those after it, go into
/// the bucket that was opened first, and into the next ones.
#[bucket_testkit::test]
async fn g1_g3_after_a_full_bucket_whose_id_is_taken(db: Live) {
    let marks = fresh::<Seconds10>(&db).await;
    let item = |n: i64, second: i64| Seconds10::new(7, n).at(second * 1000);
    let full = (0..10).map(|n| item(n, 5));
    marks.append_many(full).await.unwrap();
    marks.append(&item(10, 8)).await.unwrap();
    let seconds = [[9; 9], [20; 9], [5; 9], [30; 9]].concat();
    let items = (11..).zip(seconds).map(|(n, second)| item(n, second));
    for result in together(&marks, items).await {
        result.unwrap();
    }
    assert_stored(&marks, (0..47).map(|n| (7, n))).await;
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "visits", id = "{guest}_{#}", capacity = 10)]
struct Visit {
    #[serde(alias = "visitor")]
    guest: i64,
    at: DateTime,
}

/// The last bucket has room, and its key stands under an older name, so no append finds it.
#[bucket_testkit::test]
async fn a_last_bucket_with_an_older_name_of_the_key_takes_nothing(db: Live) {
    let visit = |n: i64| Visit {
        guest: 7,
        at: DateTime::from_millis(n),
    };
    let older = doc! {
        "_id": "7_0000000000", "visitor": 7_i64, "count": 1, "items": [{ "at": DateTime::from_millis(0) }],
    };
    db.collection("visits").insert_one(older).await.unwrap();
    let visits = Visit::buckets(&db).await.unwrap();
    for n in 1..5 {
        visits.append(&visit(n)).await.unwrap();
    }
    visits.append_many((5..30).map(visit)).await.unwrap();
    let pages = [visits.page(&7, 1).await, visits.page(&7, 2).await];
    let sizes = pages.map(|page| page.unwrap().unwrap().items.len());
    assert_eq!(sizes, [1, 10]);
    assert_eq!(visits.count(&7).await.unwrap(), 30);
}
