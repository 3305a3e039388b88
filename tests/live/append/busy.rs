//! A busy key: its buckets are opened in the slots of a ring, one after the other.

use std::collections::BTreeSet;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::bson::{Bson, Document, doc},
};
use futures_util::{TryStreamExt, future::join_all};

use crate::{
    append::sessions::client,
    support::{
        database::{Live, Recorded, dense_buckets, documents, fresh, ids, number, statements},
        zoo::ticks::{
            Millis3, Numbered2, Numbered3, Numbered10, Seconds2, Seconds3, Seconds10, Tick,
            Windows2,
        },
    },
};

/// How many slots a ring has.
const SLOTS: i32 = 256;

const K: i64 = 5;

/// A handle for which every key is busy.
async fn eager<T: Tick>(db: &Live) -> Buckets<T> {
    T::buckets(db).__ring_after(1).await.unwrap()
}

async fn append<T: Tick>(ticks: &Buckets<T>, n: i64) {
    ticks.append(&T::new(K, n)).await.unwrap();
}

/// The ring, as the raw driver reads it.
async fn ring<T: Tick>(ticks: &Buckets<T>) -> Option<Document> {
    let is_ring = doc! { "_id": { "$regex": "^%/" } };
    ticks.collection().find_one(is_ring).await.unwrap()
}

/// The slot that the ring leaves free, which has to be a single one.
async fn free_slot<T: Tick>(ticks: &Buckets<T>) -> Option<i32> {
    let ring = ring(ticks).await?;
    let slot = |held: &Bson| match held {
        Bson::Null => 0,
        held => held.as_i32().unwrap(),
    };
    let held: BTreeSet<_> = ring.get_array("sealed").unwrap().iter().map(slot).collect();
    let free = (0..SLOTS).map(|n| -n).filter(|slot| !held.contains(slot));
    let free: Vec<_> = free.collect();
    assert_eq!(free.len(), 1, "G3: {ring}");
    Some(free[0])
}

/// Appends until the key has a ring that has turned. Returns how many items are stored.
async fn with_turned_ring<T: Tick>(ticks: &Buckets<T>) -> i64 {
    for n in 0..10_000 {
        append(ticks, n).await;
        if free_slot(ticks).await.is_some_and(|slot| slot < -1) {
            return n + 1;
        }
    }
    panic!("the key has no ring");
}

/// G1, G2, G3: these items are stored once in dense buckets, and the open one stands in the free slot.
async fn assert_holds<T: Tick>(ticks: &Buckets<T>, items: i64) {
    let mut stored = Vec::new();
    for bucket in dense_buckets(ticks).await.values().flatten() {
        let items = bucket.get_array("items").unwrap();
        if items.len() < T::SPEC.capacity as usize {
            let slot = bucket.get("sealed").map(|slot| number(Some(slot)));
            let free = free_slot(ticks).await.unwrap_or_default();
            assert_eq!(slot.unwrap_or_default(), i64::from(free), "G3: {bucket}");
        }
        stored.extend(
            items
                .iter()
                .map(|item| number(item.as_document().unwrap().get("n"))),
        );
    }
    stored.sort_unstable();
    assert_eq!(stored, Vec::from_iter(0..items), "G1");
}

async fn writers<T: Tick>(db: &Live) {
    let ticks = fresh::<T>(db).await;
    let before = with_turned_ring(&eager::<T>(db).await).await;
    let often = T::buckets(db).__ring_after(5).await.unwrap();
    let alone = T::buckets(db).combine(false).__ring_after(9);
    let handles = [
        ticks.clone(),
        often.clone(),
        alone.await.unwrap(),
        often,
        ticks.clone(),
    ];
    let writers = handles.iter().zip(0..).map(async |(handle, writer)| {
        let first = before + writer * 60;
        for n in 0..20 {
            let of_portion = (0..3).map(|m| append(handle, first + n * 3 + m));
            join_all(of_portion).await;
        }
    });
    join_all(writers).await;
    assert_holds(&ticks, before + 300).await;
}

/// What others do to a busy key while nobody appends.
async fn neighbours<T: Tick>(db: &Live) {
    let ticks = fresh::<T>(db).await;
    let eager = eager::<T>(db).await;
    let mut items = with_turned_ring(&eager).await;

    // A handle that knows nothing of the ring.
    let cold = T::buckets(db).await.unwrap();
    for _ in 0..T::SPEC.capacity + 1 {
        append(&cold, items).await;
        items += 1;
    }
    assert_holds(&ticks, items).await;

    // Whoever reads, checks or carries the collection sees buckets alone.
    let read = ticks.items(&K).await.unwrap();
    let read: Vec<_> = read.try_collect().await.unwrap();
    assert_eq!(read.len() as i64, items);
    let skipped = ticks.items(&K).skip(read.len() as u64 - 1).await.unwrap();
    assert_eq!(
        skipped.try_collect::<Vec<_>>().await.unwrap(),
        read[read.len() - 1..]
    );
    let verified = T::verify(db).await.unwrap();
    assert_eq!(verified.problems, []);
    assert_eq!(
        verified.buckets,
        documents(ticks.collection()).await.len() as u64
    );
    let lines: Vec<_> = ticks
        .export_all()
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(lines.len() as u64, verified.buckets);
    let pages: Vec<_> = ticks.pages(&K).await.unwrap().try_collect().await.unwrap();
    assert_eq!(pages.len() as u64, verified.buckets);

    // A removal leaves an open bucket in its slot, and closes a full one.
    for n in [0, items - 1] {
        assert_eq!(ticks.remove_items(&K, T::n_is(n)).await.unwrap(), 1);
        append(&eager, n).await;
        append(&cold, items).await;
        items += 1;
    }
    assert_eq!(T::verify(db).await.unwrap().problems, []);
    assert_eq!(ticks.count(&K).await.unwrap() as i64, items);

    // The ring outlives the key's items.
    ticks.remove_key(&K).await.unwrap();
    assert!(ring(&ticks).await.is_some());
    for n in 0..7 {
        append(if n % 2 == 0 { &eager } else { &cold }, n).await;
    }
    assert_holds(&ticks, 7).await;
}

macro_rules! of_each_ordinal {
    ($($test:ident: $what:ident::<$name:ident>;)+) => {$(
        #[bucket_testkit::test]
        async fn $test(db: Live) {
            $what::<$name>(&db).await;
        }
    )+};
}

of_each_ordinal! {
    g1_g2_g3_of_writers_by_seconds: writers::<Seconds2>;
    g1_g2_g3_of_writers_by_millis: writers::<Millis3>;
    g1_g2_g3_of_writers_by_number: writers::<Numbered2>;
    g1_g2_g3_of_writers_of_a_window: writers::<Windows2>;
    others_know_a_key_by_seconds: neighbours::<Seconds3>;
    others_know_a_key_by_number: neighbours::<Numbered3>;
    others_know_a_window: neighbours::<Windows2>;
}

/// A handle that has opened a bucket fills it by its id, and goes on behind it with one read.
#[bucket_testkit::test]
async fn a_handle_remembers_its_buckets(Recorded(db, record): Recorded) {
    let ticks = Numbered3::buckets(&db).await.unwrap();
    for n in 0..3 {
        ticks.append(&Numbered3::new(K, n)).await.unwrap();
        // The key's queue is empty in between, so nothing is handed from command to command.
        ticks.append(&Numbered3::new(K + 1, n)).await.unwrap();
    }
    record.take();
    let mut sent = Vec::new();
    for n in 3..6 {
        ticks.append(&Numbered3::new(K, n)).await.unwrap();
        let hints = record.take().into_iter().map(|command| {
            let updates = command.get_array("updates").ok()?;
            let hint = updates[0].as_document()?.get_str("hint").ok()?;
            Some(hint.to_owned())
        });
        sent.push(Vec::from_iter(hints));
    }
    let (by_index, by_id) = (Some("bucket_open".to_owned()), Some("_id_".to_owned()));
    // A read of the last bucket, and the opening of the next one.
    assert_eq!(
        sent,
        [vec![None, by_index], vec![by_id.clone()], vec![by_id]]
    );
}

/// With a ring, too, a handle knows the bucket that it has opened: each append is one command, and only an opening asks
/// the ring.
#[bucket_testkit::test]
async fn a_handle_remembers_its_buckets_in_a_ring(Recorded(db, record): Recorded) {
    let eager = Seconds3::buckets(&db).__ring_after(1).await.unwrap();
    let first = with_turned_ring(&eager).await;
    let ticks = Seconds3::buckets(&db).await.unwrap();
    let mut sent = Vec::new();
    for n in first..first + 9 {
        record.take();
        append(&ticks, n).await;
        let commands = record.take();
        let carried = commands.iter().map(|command| statements(command).len());
        sent.push(Vec::from_iter(carried));
        // The key's queue is empty in between, so nothing is handed from command to command.
        ticks.append(&Seconds3::new(K + 1, n)).await.unwrap();
    }
    // The first ones meet the ring.
    let known = &sent[3..];
    assert!(known.iter().all(|commands| commands.len() == 1), "{sent:?}");
    assert_eq!(known.concat().iter().sum::<usize>(), 6 + 2, "{sent:?}");
}

/// The handle goes on in the slot of a ring that is gone, and must not open a bucket there.
#[bucket_testkit::test]
async fn g3_a_collection_is_dropped_and_made_anew(db: Live) {
    let ticks = fresh::<Seconds3>(&db).await;
    let eager = eager::<Seconds3>(&db).await;
    with_turned_ring(&eager).await;
    ticks.collection().drop().await.unwrap();
    let anew = Seconds3::buckets(&db).await.unwrap();
    for n in 0..10 {
        append(if n % 2 == 0 { &anew } else { &eager }, n).await;
    }
    assert_holds(&ticks, 10).await;
}

/// Those of a session go on from what the handle remembers of the ring, in a transaction, too.
#[bucket_testkit::test]
async fn g3_sessions_and_transactions(db: Live) {
    let eager = eager::<Seconds3>(&db).await;
    let mut items = with_turned_ring(&eager).await;
    let cold = Seconds3::buckets(&db).await.unwrap();
    for handle in [&eager, &cold] {
        for in_transaction in [false, true] {
            let client = handle.collection().client();
            let mut session = client.start_session().await.unwrap();
            if in_transaction {
                session.start_transaction().await.unwrap();
            }
            for _ in 0..5 {
                let tick = Seconds3::new(K, items);
                handle.append(&tick).session(&mut session).await.unwrap();
                items += 1;
            }
            if in_transaction {
                session.commit_transaction().await.unwrap();
            }
            // The ring turns, so that the next one finds another slot.
            append(&eager, items).await;
            items += 1;
        }
    }
    assert_holds(&eager, items).await;
}

#[bucket_testkit::test]
async fn a_stream_of_new_items_shows_no_ring(db: Live) {
    let ticks = fresh::<Seconds3>(&db).await;
    let mut new = ticks.watch(&K).await.unwrap();
    let items = with_turned_ring(&eager::<Seconds3>(&db).await).await;
    for n in 0..items {
        assert_eq!(new.try_next().await.unwrap().unwrap().n(), n);
    }
}

/// A validator that was made for buckets without slots.
#[bucket_testkit::test]
async fn a_collection_that_takes_no_ring_goes_on_without(db: Live) {
    let ticks = fresh::<Seconds3>(&db).await;
    let validator = doc! { "sealed": { "$not": { "$type": "array" } } };
    let change = doc! { "collMod": "ticks", "validator": validator };
    db.run_command(change).await.unwrap();
    let eager = eager::<Seconds3>(&db).await;
    for n in 0..30 {
        append(&eager, n).await;
    }
    assert_eq!(ring(&ticks).await, None);
    assert_holds(&ticks, 30).await;
}

/// The validator of the struct takes rings, and the buckets in their slots.
#[bucket_testkit::test]
async fn the_structs_validator_takes_rings(db: Live) {
    Seconds3::create_collection(&db).await.unwrap();
    let eager = eager::<Seconds3>(&db).await;
    let items = with_turned_ring(&eager).await;
    assert_holds(&eager, items).await;
}

/// The key's buckets are rewritten while its writers go on, and the ring stays.
#[bucket_testkit::test]
async fn g2_g3_the_capacity_of_a_busy_key_changes(db: Live) {
    let ticks = fresh::<Seconds3>(&db).await;
    let eager = eager::<Seconds3>(&db).await;
    let mut items = with_turned_ring(&eager).await;
    Seconds10::change_capacity(&db).repack(true).await.unwrap();
    let of_ten = Seconds10::buckets(&db).__ring_after(1).await.unwrap();
    for _ in 0..25 {
        append(&of_ten, items).await;
        append(&eager, items + 1).await;
        items += 2;
    }
    assert_holds(&of_ten, items).await;
    assert!(ring(&ticks).await.is_some());
    assert_eq!(Seconds10::verify(&db).await.unwrap().problems, []);
    Seconds2::change_capacity(&db).repack(true).await.unwrap();
    for _ in 0..25 {
        append(&of_ten, items).await;
        append(&eager, items + 1).await;
        items += 2;
    }
    assert_holds(&Seconds2::buckets(&db).await.unwrap(), items).await;
}

/// The handle knows the id of the open bucket and the capacity before the change. Nothing but the mark in
/// the bucket refuses it: it does not name the index.
async fn stale<T: Tick, U: Tick>(db: &Live) {
    let stale = fresh::<T>(db).await;
    for n in 0..2 {
        append(&stale, n).await;
    }
    U::change_capacity(db).await.unwrap();
    for n in 2..20 {
        append(&stale, n).await;
    }
    assert_holds(&U::buckets(db).await.unwrap(), 20).await;
}

/// G5: a handle learns no number from a transaction that is aborted, so the next bucket leaves no gap.
#[bucket_testkit::test]
async fn g5_an_aborted_transaction_leaves_no_gap_in_the_numbers(db: Live) {
    let ticks = fresh::<Numbered3>(&db).await;
    let eager = eager::<Numbered3>(&db).await;
    let mut items = with_turned_ring(&eager).await;
    let mut session = client(&ticks).start_session().await.unwrap();
    for _ in 0..5 {
        while items % 3 != 0 {
            append(&eager, items).await;
            items += 1;
        }
        session.start_transaction().await.unwrap();
        let load = eager.append_many((items..items + 6).map(|n| Numbered3::new(K, n)));
        load.session(&mut session).await.unwrap();
        session.abort_transaction().await.unwrap();
        append(&eager, items).await;
        items += 1;
    }
    assert_holds(&ticks, items).await;
    let stored = ids(&ticks).await;
    let stored = stored.iter().filter(|id| !id.starts_with('%'));
    let dense = (0..=items / 3).map(|n| format!("{K}_{n:010}"));
    assert!(stored.eq(&dense.collect::<Vec<_>>()), "a gap");
}

#[bucket_testkit::test]
async fn g2_a_handle_that_knows_a_bucket_and_the_old_capacity(db: Live) {
    stale::<Seconds10, Seconds3>(&db).await;
    stale::<Numbered10, Numbered3>(&db).await;
}
