//! Edits of many items that fail, are cut off, or need no items.

use std::{collections::BTreeSet, future::IntoFuture, panic::AssertUnwindSafe};

use bucket_runtime::{
    Bucket, Error, Filter,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};
use bucket_testkit::{Fate, Proxy};
use futures_util::FutureExt;

use super::{filled, remove, update};
use crate::support::{
    assert_refused, assert_sound,
    database::{Live, Recorded, documents, items, server},
    notes::{Note, Seconds, Windows, checked, for_all_notes, moment},
};

#[bucket_testkit::test]
async fn a_closure_that_panics_or_moves_an_item_leaves_its_bucket_alone(db: Live) {
    let (notes, mut stored) = filled::<Seconds>(&db, 24).await;
    // Each bucket of an owner has three items: this is in the middle of the third one.
    let panics = |note: &mut Seconds| {
        assert_ne!(note.n(), 14);
        *note.value() += 10;
    };
    let call = notes.update_items(&0, Filter::default(), panics);
    let call = AssertUnwindSafe(call.into_future()).catch_unwind().await;
    assert!(call.is_err());
    for (n, value) in stored.get_mut(&0).unwrap() {
        *value += if *n < 12 { 10 } else { 0 };
    }
    assert_eq!(checked(&notes).await, stored);

    let moves = |note: &mut Seconds| match note.n() {
        14 => *note.owner() += 1,
        _ => *note.value() += 1,
    };
    let error = notes.update_items(&0, Filter::default(), moves).await;
    let error = error.unwrap_err();
    let so_far = error.so_far();
    assert_eq!((so_far.buckets, so_far.items), (2, 6), "{error}");
    assert_refused(error.error(), Error::is_item_moved);
    for (n, value) in stored.get_mut(&0).unwrap() {
        *value += if *n < 12 { 1 } else { 0 };
    }
    assert_eq!(checked(&notes).await, stored);
}

#[bucket_testkit::test]
async fn items_that_cannot_be_read_are_removed_and_not_edited(db: Live) {
    let (notes, mut stored) = filled::<Seconds>(&db, 18).await;
    let broken = doc! { "$set": { "items.$.val": "?" } };
    let update = notes.collection().update_one(doc! { "items.n": 8 }, broken);
    assert_eq!(update.await.unwrap().modified_count, 1);
    let up = |note: &mut Seconds| *note.value() += 10;
    let error = notes.update_all_items(Filter::default(), up).await;
    let error = error.unwrap_err();
    assert!(error.error().is_deserialize(), "{error}");
    assert!(error.to_string().contains("0_"), "{error}");
    // The other items of its bucket are as they were, and all other buckets are changed.
    let removed = notes.remove_items(&0, Seconds::n_is(8)).await.unwrap();
    assert_eq!(removed, 1);
    for (key, items) in &mut stored {
        for (n, value) in items {
            let is_beside = *key == 0 && (6..=10).contains(n);
            *value += if is_beside { 0 } else { 10 };
        }
    }
    stored.get_mut(&0).unwrap().retain(|(n, _)| *n != 8);
    assert_eq!(checked(&notes).await, stored);
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "large",
    id = "{owner}_{#}",
    capacity = 20,
    max_bytes = 15_728_640
)]
struct Large {
    owner: i64,
    n: i32,
    text: String,
}

/// The old items and the new ones together are more than a command can be.
#[bucket_testkit::test]
async fn items_that_no_command_can_carry_are_refused(db: Live) {
    let large = Large::buckets(&db).await.unwrap();
    let text = "x".repeat(1 << 20);
    for n in 0..16 {
        let text = text.clone();
        large.append(&Large { owner: 1, n, text }).await.unwrap();
    }
    let change = |item: &mut Large| item.text.replace_range(0..1, "y");
    let error = large.update_items(&1, Filter::default(), change).await;
    assert_refused(error.unwrap_err().error(), Error::is_too_large);
    // A few at a time they go.
    for n in [0..4, 4..8, 8..12, 12..16] {
        let few = Large::FIELDS.n.between(n);
        assert_eq!(large.update_items(&1, few, change).await.unwrap(), 4);
    }
    let some = Large::FIELDS.n.ne(7);
    assert_eq!(large.remove_items(&1, some).await.unwrap(), 15);
}

async fn all_or_nothing<T: Note>(db: &Database) {
    let (notes, mut stored) = filled::<T>(db, 20).await;
    let mut session = db.client().start_session().await.unwrap();
    let before = documents(notes.collection()).await;
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        let up = |note: &mut T| *note.value() += 10;
        let update = notes.update_all_items(T::value_is(1), up);
        assert_eq!(update.session(&mut session).await.unwrap(), 4);
        let remove = notes.remove_items(&0, T::value_is(11));
        assert_eq!(remove.session(&mut session).await.unwrap(), 2);
        assert_eq!(documents(notes.collection()).await, before);
        match commit {
            true => session.commit_transaction().await.unwrap(),
            false => session.abort_transaction().await.unwrap(),
        }
    }
    update(&mut stored, None, 1, 10);
    remove(&mut stored, Some(0), 11);
    assert_eq!(checked(&notes).await, stored);
}

#[bucket_testkit::test]
async fn a_transaction_edits_and_removes_many_or_none(db: Live) {
    for_all_notes!(all_or_nothing(&db));
}

#[bucket_testkit::test]
async fn an_edit_of_many_is_carried_out_once_although_the_connection_breaks(direct: Live) {
    let proxy = Proxy::start(server().await.uri()).await.unwrap();
    let db = proxy.database(direct.name()).unwrap();
    let (notes, mut stored) = filled::<Windows>(&db, 12).await;
    for fate in [Fate::CutBefore, Fate::CutAfter] {
        proxy.next("findAndModify", [fate]);
        for (value, by) in [(1, 10), (11, -10)] {
            let add = |note: &mut Windows| *note.value() += by;
            let changed = notes.update_all_items(Windows::value_is(value), add).await;
            assert_eq!(changed.unwrap(), update(&mut stored, None, value, by));
        }
        assert!(proxy.is_done());
    }
    assert_eq!(checked(&notes).await, stored);
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{at/1m}", capacity = 4)]
struct Reading {
    sensor: i64,
    at: DateTime,
    n: i64,
}

/// A bucket whose window is over before the limit is deleted by its id, whatever it holds; of the window
/// around the limit only the items before it go.
#[bucket_testkit::test]
async fn retention_deletes_whole_windows_without_their_items(Recorded(db, record): Recorded) {
    let readings = Reading::buckets(&db).await.unwrap();
    // Nine items a window, so three buckets in each.
    let all = (0..60).flat_map(|n| [1, 2].map(|sensor| (sensor, n)));
    let all = Vec::from_iter(all.map(|(sensor, n)| Reading {
        sensor,
        at: moment(n),
        n,
    }));
    readings.append_many(all.clone()).await.unwrap();
    let limit = moment(40);
    record.take();
    let old = Reading::FIELDS.at.lt(limit);
    assert_eq!(readings.remove_items(&1, old).await.unwrap(), 40);
    let commands = record.take();
    let count = |name: &str| {
        let such = commands.iter().filter(|sent| sent.contains_key(name));
        such.count()
    };
    let window = limit.timestamp_millis() / 60_000 * 60_000;
    let whole = all
        .iter()
        .filter(|reading| reading.sensor == 1 && reading.at.timestamp_millis() < window);
    let whole = BTreeSet::from_iter(whole.map(|reading| reading.at.timestamp_millis() / 60_000));
    // In some windows there are ten items.
    assert!(count("remove") >= whole.len() * 2, "{commands:#?}");
    assert!(count("update") <= 3, "{commands:#?}");
    let mut left = all.clone();
    left.retain(|reading| reading.sensor == 1 && reading.at >= limit);
    assert_eq!(items(&readings, &1).await, left);
    assert_eq!(items(&readings, &2).await.len(), 60);

    // A range of all keys, and a filter that is not about the time alone.
    let field = Reading::FIELDS;
    let times = field.at.between(moment(45)..=moment(58));
    assert_eq!(readings.remove_all_items(times).await.unwrap(), 28);
    let none = field.at.lt(moment(99)).and(field.n.lt(0));
    assert_eq!(readings.remove_all_items(none).await.unwrap(), 0);
    assert_eq!(readings.count_all().await.unwrap(), 80 - 28);
    assert_sound(&readings).await;
    // The window takes items again.
    readings.append(&all[2 * 46]).await.unwrap();
    assert_eq!(readings.count_all().await.unwrap(), 53);
}
