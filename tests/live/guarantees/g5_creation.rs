//! G5, the order of creation: numbers and suffixes count up without a gap until they run out.

use bucket_runtime::mongodb::{
    Database,
    bson::{DateTime, Document, doc},
};

use crate::{
    guarantees::g5_order::{append, read},
    support::{
        database::{Live, dense_buckets, fresh, number},
        tasks::JoinSet,
        zoo::ticks::{Millis3, Numbered3, Seconds1, Seconds3, Tick},
    },
};

/// 32 tasks append 20 items each to one key. Every writer's own items come back in its order.
async fn race<T: Tick>(db: &Database) -> Vec<Document> {
    const ITEMS: i64 = 20;
    let ticks = fresh::<T>(db).await;
    let mut writers = JoinSet::new();
    for writer in 0..32 {
        let ticks = ticks.clone();
        writers.spawn(async move {
            for n in writer * ITEMS..(writer + 1) * ITEMS {
                append(&ticks, 1_698_335_223_434, n).await;
            }
        });
    }
    writers.join_all().await;
    let read = read(&ticks).await;
    for writer in 0..32 {
        let own = read
            .iter()
            .copied()
            .filter(|n| n / ITEMS == writer)
            .collect::<Vec<_>>();
        assert_eq!(
            own,
            (writer * ITEMS..(writer + 1) * ITEMS).collect::<Vec<_>>()
        );
    }
    dense_buckets(&ticks).await.remove("5").unwrap()
}

/// All buckets but the last are full. So each was opened when the one before it was full, since no
/// bucket ever loses an item here.
fn assert_created_one_after_the_other(buckets: &[Document], id: impl Fn(usize) -> String) {
    assert_eq!(buckets.len(), 640_usize.div_ceil(3));
    for (n, bucket) in buckets.iter().enumerate() {
        assert_eq!(bucket.get_str("_id").unwrap(), id(n));
        let full = n + 1 < buckets.len();
        assert_eq!(
            number(bucket.get("count")),
            if full { 3 } else { 1 },
            "{bucket}"
        );
    }
}

#[bucket_testkit::test(multi_thread)]
async fn numbers_count_from_zero_without_a_gap_whatever_the_contention(db: Live) {
    let buckets = race::<Numbered3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_{n:010}"));
}

#[bucket_testkit::test(multi_thread)]
async fn suffixes_count_without_a_gap_whatever_the_contention(db: Live) {
    let suffix = |n: usize| {
        if n == 0 {
            String::new()
        } else {
            format!("_{n:06}")
        }
    };
    let buckets = race::<Seconds3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_1698335223{}", suffix(n)));
    let buckets = race::<Millis3>(&db).await;
    assert_created_one_after_the_other(&buckets, |n| format!("5_1698335223434{}", suffix(n)));
}

/// When the numbers of a moment, or of a key, run out, an item is refused rather than stored where it
/// would break the order.
#[bucket_testkit::test]
async fn ids_that_are_used_up_are_an_error(db: Live) {
    let full = |id: &str, count: i32| {
        let items = vec![doc! { "at": DateTime::from_millis(0), "n": 1_i64 }; count as usize];
        doc! { "_id": id, "k": 5_i64, "count": count, "items": items }
    };
    let ticks = fresh::<Seconds1>(&db).await;
    let taken = [full("5_0000000000", 1), full("5_0000000000_999999", 1)];
    ticks.collection().insert_many(taken).await.unwrap();
    let error = ticks.append(&Seconds1::new(5, 0).at(0)).await.unwrap_err();
    assert!(
        error.is_out_of_range() && !error.is_maybe_stored(),
        "{error}"
    );
    assert!(error.to_string().contains("5_0000000000_999999"), "{error}");
    // Another second is free.
    append(&ticks, 1000, 7).await;
    assert_eq!(read(&ticks).await, [1, 1, 7]);

    let ticks = fresh::<Numbered3>(&db).await;
    ticks
        .collection()
        .insert_one(full("5_9999999999", 3))
        .await
        .unwrap();
    let error = ticks.append(&Numbered3::new(5, 0).at(0)).await.unwrap_err();
    assert!(
        error.is_out_of_range() && !error.is_maybe_stored(),
        "{error}"
    );
    assert_eq!(read(&ticks).await, [1, 1, 1]);
}
