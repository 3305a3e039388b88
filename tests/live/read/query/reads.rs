//! Reads of items in a session and by a renamed key.

use bucket_runtime::{Bucket, mongodb::bson::doc};
use futures_util::TryStreamExt;

use crate::support::{
    database::Live,
    zoo::ticks::{Seconds3, Tick},
};

/// Every step of every read sees what the transaction wrote; reads outside do not.
#[bucket_testkit::test]
async fn reads_in_a_transaction_see_what_it_wrote(db: Live) {
    let ticks = Seconds3::buckets(&db).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 0..8 {
        let tick = Seconds3::new(1, n);
        ticks.append(&tick).session(&mut session).await.unwrap();
    }
    let some = Seconds3::n_is(3).or(Seconds3::n_is(7));
    let reads = [
        (ticks.items(&1).filter(some), vec![3, 7]),
        (ticks.items(&1).skip(4).limit(2), vec![4, 5]),
        (ticks.items(&1).newest_first().skip(4), vec![3, 2, 1, 0]),
        (ticks.all_items(), (0..8).collect()),
    ];
    for (read, expected) in reads {
        let read = read.session(&mut session).await.unwrap();
        let read: Vec<_> = read.map_ok(|tick| tick.n()).try_collect().await.unwrap();
        assert_eq!(read, expected);
    }
    let outside = ticks.all_items().await.unwrap();
    assert_eq!(outside.try_collect::<Vec<_>>().await.unwrap(), []);
    session.abort_transaction().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{#}", capacity = 3)]
struct Reading {
    #[serde(alias = "device")]
    sensor: i64,
    value: i32,
}

/// A condition finds a key's items under the key's former name, too.
#[bucket_testkit::test]
async fn a_key_under_its_former_name_is_filtered_and_skipped(db: Live) {
    let buckets = Reading::buckets(&db).await.unwrap();
    for n in 0..4 {
        let (id, items) = (format!("2_{n:010}"), vec![doc! { "value": n }]);
        let old = doc! { "_id": &id, "sealed": &id, "device": 2, "count": 1, "items": items };
        buckets.collection().insert_one(old).await.unwrap();
    }
    let large = Reading::FIELDS.value.gte(2);
    for (items, expected) in [
        (buckets.items(&2).filter(large), vec![2, 3]),
        (buckets.items(&2).skip(3), vec![3]),
        (buckets.items(&2).skip(3).limit(5), vec![3]),
        (buckets.items(&2).newest_first(), vec![3, 2, 1, 0]),
    ] {
        let values = items.await.unwrap().map_ok(|item| item.value);
        assert_eq!(values.try_collect::<Vec<_>>().await.unwrap(), expected);
    }
}
