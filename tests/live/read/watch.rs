//! A key is watched: each appended item comes once and in order, and nothing else comes.

mod emptied;

use std::{collections::BTreeSet, time::Duration};

use bucket_runtime::{
    Bucket, Buckets, WatchStream, WatchToken,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};
use futures_util::{StreamExt, TryStreamExt};
use rand::random_range;
use tokio::time::timeout;

use crate::support::{
    database::{Live, documents, items, number},
    fail_points::{fail_times, failing_server},
    notes::{DyingSum, Millis, Note, Numbered, NumberedSum, Seconds, SecondsSum, Windows, created},
    ops,
    runtime::blocking,
    tasks::JoinSet,
};

/// The number of the item that is appended last of all.
const LAST: i64 = 100_000;

/// The numbers of the items up to the last one, and the token after each.
async fn all<T: Note>(stream: &mut WatchStream<T>) -> (Vec<i64>, Vec<WatchToken>) {
    let (mut numbers, mut tokens) = (Vec::new(), Vec::new());
    loop {
        let item = stream.try_next().await.unwrap();
        let item = item.expect("a stream without end");
        tokens.push(stream.token().clone());
        match item.n() {
            LAST => return (numbers, tokens),
            n => numbers.push(n),
        }
    }
}

/// Every way in which items are appended, by several tasks.
async fn append_in_every_way<T: Note>(notes: &Buckets<T>) {
    let alone = T::buckets_in(notes.collection().clone()).combine(false);
    let alone = alone.await.unwrap();
    let mut tasks = JoinSet::new();
    for writer in 0..8 {
        let notes = if writer == 0 { &alone } else { notes }.clone();
        tasks.spawn(async move {
            for n in (0..20).map(|step| writer * 1000 + step) {
                notes.append(&T::new(1 + n % 2, n, 1)).await.unwrap();
            }
        });
    }
    let many = notes.clone();
    tasks.spawn(async move {
        let items = (0..50).map(|n| T::new(1, 10_000 + n, 2));
        many.append_many(items).await.unwrap();
    });
    tasks.join_all().await;

    let client = notes.collection().client().clone();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 20_000..20_005 {
        let note = T::new(1, n, 3);
        notes.append(&note).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    session.start_transaction().await.unwrap();
    let aborted = notes.append(&T::new(1, 30_000, 3)).session(&mut session);
    aborted.await.unwrap();
    session.abort_transaction().await.unwrap();
}

/// Appends in every way to two keys, and to one that begins while the streams are open.
async fn what_is_stored_comes<T: Note>(db: &Database) {
    let notes = created::<T>(db).await;
    notes.append(&T::new(1, 50_000, 0)).await.unwrap();
    let mut one = notes.watch(&1).await.unwrap();
    let mut two = notes.watch(&2).await.unwrap();
    let mut every = notes.watch_all().await.unwrap();
    let (beginning, of_every) = (one.token().clone(), every.token().clone());
    append_in_every_way(&notes).await;
    notes.append(&T::new(-3, 7, 0)).await.unwrap();
    notes.remove_item(&-3, T::n_is(7)).await.unwrap().unwrap();
    notes.append(&T::new(-3, 8, 0)).await.unwrap();
    // Its buckets are gone before the watch sees what was appended to them.
    notes.remove_key(&-3).await.unwrap();
    for owner in [1, 2] {
        notes.append(&T::new(owner, LAST, 0)).await.unwrap();
    }
    let (numbers, tokens) = all(&mut one).await;
    let mut stored = Vec::from_iter(items(&notes, &1).await.iter().map(T::n));
    stored.retain(|n| ![50_000, LAST].contains(n));
    assert_eq!(numbers.len(), 80 + 50 + 5);
    assert_eq!(sorted(&numbers), sorted(&stored));
    let (others, _) = all(&mut two).await;
    assert_eq!(others.len(), 80);
    assert!(others.iter().all(|n| n % 2 == 1), "G4");

    // The items of each bucket come in order, whatever comes between them.
    for bucket in documents(notes.collection()).await {
        let stored = bucket.get_array(T::SPEC.items).unwrap().iter();
        let stored = stored.map(|item| number(item.as_document().unwrap().get("n")));
        let places = stored.filter_map(|n| numbers.iter().position(|came| *came == n));
        assert!(places.is_sorted(), "{bucket}");
    }

    // Resumes from any place, between two commands or between the items of one.
    let length = numbers.len();
    for at in [0, 1, length / 2, length / 2 + 1, length - 3] {
        resumes(&notes, &tokens[at], &numbers[at + 1..]).await;
    }
    resumes(&notes, &beginning, &numbers).await;

    let of_each = [&numbers[..], &others, &[7, 8]].concat();
    let (numbers, tokens) = all(&mut every).await;
    assert_eq!(sorted(&numbers), sorted(&of_each));
    for at in [0, numbers.len() / 2, numbers.len() - 3] {
        let again = notes.watch_all().resume_after(&tokens[at]);
        let (again, _) = all(&mut again.await.unwrap()).await;
        assert_eq!(again, numbers[at + 1..]);
    }
    let mut again = notes.watch_all().resume_after(&of_every).await.unwrap();
    let mut owners = BTreeSet::new();
    for _ in 0..numbers.len() {
        owners.insert(*again.try_next().await.unwrap().unwrap().owner());
    }
    assert_eq!(Vec::from_iter(owners), [-3, 1, 2], "items have their keys");
}

fn sorted(numbers: &[i64]) -> Vec<i64> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers
}

/// A new stream yields what comes after a token that was stored as text in between.
async fn resumes<T: Note>(notes: &Buckets<T>, token: &WatchToken, expected: &[i64]) {
    let token: WatchToken = token.to_string().parse().unwrap();
    let mut stream = notes.watch(&1).resume_after(&token).await.unwrap();
    assert_eq!(stream.token(), &token);
    assert_eq!(all(&mut stream).await.0, expected, "after {token}");
}

/// Names of fields, rollups and the time of expiry show in an event; the digits of an id do not.
#[bucket_testkit::test(multi_thread)]
async fn g1_g4_all_that_is_appended_comes_once_with_its_key_and_from_any_place_again(db: Live) {
    what_is_stored_comes::<Millis>(&db).await;
    what_is_stored_comes::<Numbered>(&db).await;
    what_is_stored_comes::<NumberedSum>(&db).await;
    what_is_stored_comes::<SecondsSum>(&db).await;
    what_is_stored_comes::<Windows>(&db).await;
    what_is_stored_comes::<DyingSum>(&db).await;
}

/// Long items: an event about a bucket is shorter than the bucket.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "wide", id = "{owner}_{#}", capacity = 6)]
struct Wide {
    owner: i64,
    n: i64,
    text: String,
}

/// Edits, removals and appends at random, until buckets are emptied and filled again.
#[bucket_testkit::test]
async fn what_is_edited_or_removed_does_not_come(db: Live) {
    let item = |n, text: &str| Wide {
        owner: 1,
        n,
        text: text.to_owned(),
    };
    let wide = Wide::buckets(&db).await.unwrap();
    let mut stream = wide.watch(&1).await.unwrap();
    let mut appended = Vec::new();
    let mut emptied = 0;
    for n in 0.. {
        if n >= 400 && emptied > 0 {
            break;
        }
        let (choice, place) = (random_range(0..9), random_range(0..6));
        let text = "x".repeat(random_range(0..400));
        let stored = items(&wide, &1).await;
        let first = stored.len().saturating_sub(6);
        let some = stored.get(first + place).or(stored.last());
        match (choice, some) {
            (0..=3, Some(item)) => {
                let before = documents(wide.collection()).await.len();
                let gone = wide.remove_item(&1, Wide::FIELDS.n.eq(item.n)).await;
                gone.unwrap().unwrap();
                emptied += before - documents(wide.collection()).await.len();
            }
            (4, Some(item)) => {
                let change = |item: &mut Wide| item.text.clone_from(&text);
                let edit = wide.update_item(&1, Wide::FIELDS.n.eq(item.n), change);
                edit.await.unwrap().unwrap();
            }
            (5, _) => {
                let many = [n * 10, n * 10 + 1, n * 10 + 2];
                appended.extend(many);
                let many = many.map(|n| item(n, &text));
                wide.append_many(many).await.unwrap();
            }
            _ => {
                appended.push(n * 10);
                wide.append(&item(n * 10, &text)).await.unwrap();
            }
        }
    }
    wide.append(&item(-1, "")).await.unwrap();
    let mut came = Vec::new();
    loop {
        match stream.try_next().await.unwrap().unwrap().n {
            -1 => break,
            n => came.push(n),
        }
    }
    assert_eq!(came, appended);
}

/// The manual's upsert, as the shell sends it.
#[bucket_testkit::test]
async fn what_another_program_appends_comes(db: Live) {
    let notes = created::<Seconds>(&db).await;
    let mut stream = notes.watch(&1).await.unwrap();
    for n in 0..7 {
        let item = doc! { "at": DateTime::now(), "n": i64::from(n), "val": 1 };
        let filter = doc! { "_id": { "$regex": "^1_" }, "count": { "$lt": 3 } };
        let update = doc! {
            "$push": { "items": item },
            "$inc": { "count": 1 },
            "$setOnInsert": { "_id": format!("1_{:010}", 1_698_349_623 + n), "owner": 1_i64 },
        };
        let upsert = notes.collection().update_one(filter, update).upsert(true);
        upsert.await.unwrap();
    }
    notes.append(&Seconds::new(1, LAST, 0)).await.unwrap();
    assert_eq!(all(&mut stream).await.0, [0, 1, 2, 3, 4, 5, 6]);
}

#[bucket_testkit::test]
async fn an_imported_key_comes_as_new(db: Live) {
    let notes = created::<Numbered>(&db).await;
    let mut stream = notes.watch(&1).await.unwrap();
    let flat = db.collection("flat");
    let documents = (0..8_i64).map(|n| {
        doc! { "owner": 1 + n % 2, "at": DateTime::from_millis(n), "n": n, "val": 1 }
    });
    flat.insert_many(documents).await.unwrap();
    ops(&notes).import_flat(&flat).await.unwrap();
    notes.append(&Numbered::new(1, LAST, 0)).await.unwrap();
    assert_eq!(all(&mut stream).await.0, [0, 2, 4, 6]);
}

#[bucket_testkit::test]
async fn a_dropped_collection_is_an_error_and_the_end(db: Live) {
    let notes = created::<Seconds>(&db).await;
    let mut stream = notes.watch(&1).await.unwrap();
    notes.append(&Seconds::new(1, 1, 1)).await.unwrap();
    notes.collection().drop().await.unwrap();
    assert_eq!(stream.try_next().await.unwrap().unwrap().n(), 1);
    let error = stream.try_next().await.unwrap_err();
    assert!(error.is_collection_dropped(), "{error}");
    assert!(stream.next().await.is_none());
}

/// A foreign document among the ids of a key is an error, as in a read.
#[bucket_testkit::test]
async fn what_is_no_item_is_an_error(db: Live) {
    let notes = Seconds::buckets(&db).await.unwrap();
    let item = doc! { "at": DateTime::MIN, "n": 1_i64, "val": 1 };
    for (id, owner, item, what) in [
        ("1_1", 2_i64, item, "1_1"),
        ("1_2", 1, doc! { "n": "text" }, "items.0"),
    ] {
        let mut stream = notes.watch(&1).await.unwrap();
        let bucket = doc! { "_id": id, "owner": owner, "count": 3, "items": [item] };
        notes.collection().insert_one(bucket).await.unwrap();
        let error = stream.try_next().await.unwrap_err();
        assert!(error.is_deserialize(), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// Otherwise an idle key's token would be lost once the oplog has moved past it.
#[bucket_testkit::test]
async fn the_place_moves_on_while_nothing_happens(db: Live) {
    let notes = created::<Seconds>(&db).await;
    let mut stream = notes.watch(&1).await.unwrap();
    let beginning = stream.token().clone();
    let mut n = 0;
    while stream.token() == &beginning {
        notes.append(&Seconds::new(2, n, 0)).await.unwrap();
        n += 1;
        let nothing = timeout(Duration::from_millis(50), stream.next()).await;
        assert!(nothing.is_err(), "an item of another key came");
    }
    notes.append(&Seconds::new(1, LAST, 0)).await.unwrap();
    resumes(&notes, stream.token(), &[]).await;
}

#[bucket_testkit::test(multi_thread)]
async fn by_blocking(db: Live) {
    let notes = created::<Seconds>(&db).await;
    blocking(|| {
        let mut stream = notes.watch(&1).run().unwrap();
        notes.append(&Seconds::new(1, 1, 1)).run().unwrap();
        notes.append(&Seconds::new(1, 2, 1)).run().unwrap();
        assert_eq!(stream.next().unwrap().unwrap().n(), 1);
        let mut again = notes.watch(&1).resume_after(stream.token()).run().unwrap();
        assert_eq!(again.next().unwrap().unwrap().n(), 2);
    });
}

/// A server that started after the token was issued has no earlier history, and reports that with the
/// next item.
#[bucket_testkit::test]
async fn what_the_server_has_forgotten_is_an_error_that_says_so(db: Live) {
    let notes = created::<Seconds>(&db).await;
    let mut stream = notes.watch(&1).await.unwrap();
    notes.append(&Seconds::new(1, 1, 1)).await.unwrap();
    stream.try_next().await.unwrap();
    let token = stream.token().clone();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let server = bucket_testkit::Server::start().await.unwrap();
    let later = created::<Seconds>(&server.database("watch_history").await.unwrap()).await;
    let resumed = later.watch(&1).resume_after(&token).await;
    later.append(&Seconds::new(1, 2, 1)).await.unwrap();
    let error = match resumed {
        Ok(mut stream) => stream.try_next().await.unwrap_err(),
        Err(error) => error,
    };
    assert!(error.is_history_lost(), "{error}");
}

/// The connection breaks twice: first while the stream waits, then when the driver resumes it. The driver
/// (3.9.1) repeats that request without the place where the stream was.
async fn goes_on_where_it_was(notes: &Buckets<Seconds>, mut stream: WatchStream<Seconds>, k: i64) {
    let n = 1000;
    notes.append(&Seconds::new(k, n, 0)).await.unwrap();
    assert_eq!(stream.try_next().await.unwrap().unwrap().n(), n);
    let db = notes.collection().client().database("watch");
    let broken = doc! { "failCommands": ["getMore", "aggregate"], "closeConnection": true };
    fail_times(&db, 2, broken).await;
    notes.append(&Seconds::new(k, n + 1, 0)).await.unwrap();
    // If the stream goes on from a later moment, one of these is the next that it gives.
    let others = async {
        for other in n + 2.. {
            tokio::time::sleep(Duration::from_millis(200)).await;
            notes.append(&Seconds::new(k, other, 0)).await.unwrap();
        }
    };
    tokio::select! {
        next = stream.try_next() => assert_eq!(next.unwrap().unwrap().n(), n + 1),
        () = others => unreachable!("there are always others"),
    }
}

#[bucket_testkit::test(multi_thread)]
async fn a_stream_goes_on_where_it_was_even_if_resuming_fails_at_first(_: Live) {
    let Some(server) = failing_server().await else {
        return;
    };
    let notes = created::<Seconds>(&server.database("watch").await.unwrap()).await;
    let stream = notes.watch(&1).await.unwrap();
    let beginning = stream.token().clone();
    goes_on_where_it_was(&notes, stream, 1).await;

    // Of another key, since an append to this one may still be on its way.
    let stream = notes.watch(&2).await.unwrap();
    let token = stream.token().clone();
    assert_ne!(token, beginning);
    let resumed = notes.watch(&2).resume_after(&token).await.unwrap();
    goes_on_where_it_was(&notes, resumed, 2).await;
}
