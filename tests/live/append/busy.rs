//! Handles that remember buckets which others have changed since.

use std::ops::Range;

use bucket_runtime::{Bucket, Buckets};

use crate::{
    append::sessions::client,
    support::{
        assert_sound,
        database::{Live, Recorded, dense_buckets, fresh, ids, number},
        zoo::ticks::{Numbered3, Seconds3, Tick, Windows2},
    },
};

const K: i64 = 5;

async fn append<T: Tick>(ticks: &Buckets<T>, n: i64) {
    ticks.append(&T::new(K, n)).await.unwrap();
}

/// Appends the items through the handles in turn.
async fn append_in_turn<T: Tick>(handles: [&Buckets<T>; 2], items: Range<i64>) {
    for n in items {
        append(handles[n as usize % 2], n).await;
    }
}

/// G1, G2, G3: these items are stored once, in dense buckets.
async fn assert_holds<T: Tick>(ticks: &Buckets<T>, items: i64) {
    let mut stored = Vec::new();
    for bucket in dense_buckets(ticks).await.values().flatten() {
        let items = bucket.get_array("items").unwrap().iter();
        stored.extend(items.map(|item| number(item.as_document().unwrap().get("n"))));
    }
    stored.sort_unstable();
    assert_eq!(stored, Vec::from_iter(0..items), "G1");
}

/// What others do to the bucket that a handle remembers.
async fn neighbours<T: Tick>(db: &Live) {
    let ticks = fresh::<T>(db).await;
    let other = T::buckets(db).await.unwrap();
    let mut items = 4 * i64::from(T::SPEC.capacity) + 1;
    append_in_turn([&ticks, &other], 0..items).await;
    assert_holds(&ticks, items).await;

    // A removal leaves an open bucket open, and closes a full one.
    for n in [0, items - 1] {
        assert_eq!(ticks.remove_items(&K, T::n_is(n)).await.unwrap(), 1);
        append(&other, n).await;
        append(&ticks, items).await;
        items += 1;
    }
    assert_sound(&ticks).await;
    assert_eq!(ticks.count(&K).await.unwrap() as i64, items);

    ticks.remove_key(&K).await.unwrap();
    append_in_turn([&ticks, &other], 0..7).await;
    assert_holds(&ticks, 7).await;
}

#[bucket_testkit::test]
async fn g1_g2_g3_others_change_the_buckets_that_a_handle_remembers(db: Live) {
    neighbours::<Seconds3>(&db).await;
    neighbours::<Numbered3>(&db).await;
    neighbours::<Windows2>(&db).await;
}

/// A handle that has opened a bucket fills it by its id, and goes on behind it with one read.
#[bucket_testkit::test]
async fn a_handle_remembers_its_buckets(Recorded(db, record): Recorded) {
    let ticks = Numbered3::buckets(&db).await.unwrap();
    for n in 0..3 {
        append(&ticks, n).await;
        // The key's queue is empty in between, so nothing is handed from command to command.
        ticks.append(&Numbered3::new(K + 1, n)).await.unwrap();
    }
    record.take();
    let mut sent = Vec::new();
    for n in 3..6 {
        append(&ticks, n).await;
        let hints = record.take().into_iter().map(|command| {
            let updates = command.get_array("updates").ok()?;
            let hint = updates[0].as_document()?.get_str("hint").ok()?;
            Some(hint.to_owned())
        });
        sent.push(Vec::from_iter(hints));
    }
    let (by_index, by_id) = (Some("bucket_open".to_owned()), Some("_id_".to_owned()));
    // A read of the last bucket, and the opening of the next one.
    let opening = vec![None, by_index];
    assert_eq!(sent, [opening, vec![by_id.clone()], vec![by_id]]);
}

/// The handle remembers an open bucket of the dropped collection.
#[bucket_testkit::test]
async fn g3_a_collection_is_dropped_and_made_anew(db: Live) {
    let before = fresh::<Seconds3>(&db).await;
    append_in_turn([&before, &before], 0..4).await;
    before.collection().drop().await.unwrap();
    let anew = Seconds3::buckets(&db).await.unwrap();
    append_in_turn([&anew, &before], 0..10).await;
    assert_holds(&anew, 10).await;
}

/// G5: a handle remembers the buckets of an aborted transaction, and the next one leaves no gap.
#[bucket_testkit::test]
async fn g5_an_aborted_transaction_leaves_no_gap_in_the_numbers(db: Live) {
    let ticks = fresh::<Numbered3>(&db).await;
    let mut session = client(&ticks).start_session().await.unwrap();
    let mut items = 0;
    for loaded in [6, 7] {
        for full in [true, false] {
            while (items % 3 == 0) != full {
                append(&ticks, items).await;
                items += 1;
            }
            session.start_transaction().await.unwrap();
            let load = (items..items + loaded).map(|n| Numbered3::new(K, n));
            let load = ticks.append_many(load).session(&mut session);
            load.await.unwrap();
            session.abort_transaction().await.unwrap();
            append(&ticks, items).await;
            items += 1;
        }
    }
    assert_holds(&ticks, items).await;
    let dense = (0..=(items - 1) / 3).map(|n| format!("{K}_{n:010}"));
    assert_eq!(ids(&ticks).await, Vec::from_iter(dense));
}
