//! The manual's upsert in a race with our appends on one key.

use bucket_runtime::Bucket;

use crate::{
    manual::walk::{NOV_2, Side, Trade, manual_upsert, quantities, trade},
    support::{
        database::{Live, dense_buckets},
        tasks::JoinSet,
    },
};

#[bucket_testkit::test(multi_thread)]
async fn our_appends_and_the_manuals_upserts_race_without_a_loss(db: Live) {
    const ITEMS: i32 = 40;
    let trades = Trade::buckets(&db).await.unwrap();
    let mut writers = JoinSet::new();
    for writer in 0..32_i32 {
        let trades = trades.clone();
        writers.spawn(async move {
            for n in writer * ITEMS..(writer + 1) * ITEMS {
                if writer % 2 == 0 {
                    // All items are in three milliseconds, so that our ids meet those that the others
                    // have taken.
                    let millis = NOV_2 + i64::from(n % 3);
                    let bought = trade(123, Side::Buy, "MDB", n, millis);
                    trades.append(&bought).await.unwrap();
                    continue;
                }
                let mut second = 1_698_925_390 + i64::from(n % 2);
                let id = |second: i64| format!("123_{second}");
                while let Err(error) = manual_upsert(trades.collection(), &id(second), n).await {
                    // The id is taken, or somebody else opened the next bucket. The page does not say
                    // what to do then; a careful writer tries another id.
                    assert!(error.to_string().contains("E11000"), "{error}");
                    second += 1;
                }
            }
        });
    }
    writers.join_all().await;

    let mut read = quantities(&trades).await;
    read.sort_unstable();
    let sent = Vec::from_iter(0..32 * ITEMS);
    assert_eq!(read, sent, "G1: each item once");
    // A key may be stored as 32 or as 64 bits, depending on who opened the bucket.
    let by_key = dense_buckets(&trades).await;
    assert_eq!(by_key.keys().collect::<Vec<_>>(), ["123"]);
    assert_eq!(by_key["123"].len(), 128);
}
