//! Whatever has emptied a bucket: each watch gives what is appended next, once, and a migration takes it.

use std::collections::BTreeMap;

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets, NewItem, Outlier, Outliers, WatchStream,
    mongodb::{
        Client, ClientSession, Collection, Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, documents, items},
    notes::{Note, Numbered, SecondsSum, Windows},
    ops,
    outliers::{remove, repaired},
};

/// The ways of this library; in the last ones another program makes the change, and a repair follows.
const OWN_WAYS: [&str; 4] = ["remove_item", "remove_items", "remove_all", "repair"];

/// The changes by which another program empties an array, as a pipeline, and with a count that it may forget.
fn changes(items: &str, count: &str) -> Vec<Vec<Document>> {
    let filter = doc! { "input": format!("${items}"), "cond": false };
    vec![
        vec![doc! { "$set": { items: [], count: 0 } }],
        vec![doc! { "$set": { items: [], count: 0.0 } }],
        vec![doc! { "$set": { items: [] } }],
        vec![
            doc! { "$set": { items: { "$filter": filter } } },
            doc! { "$set": { count: { "$size": format!("${items}") } } },
        ],
    ]
}

/// Each way to empty a bucket of this number of items, and each way to append then.
fn cases(changes: usize) -> impl Iterator<Item = (i64, usize, i64, usize)> {
    let ways = 0..OWN_WAYS.len() + changes;
    let cases = ways.flat_map(|way| [2, 3].map(|length| (way, length)));
    let cases = cases.flat_map(|(way, length)| [0, 1, 2].map(|append| (way, length, append)));
    (1..)
        .zip(cases)
        .map(|(owner, (way, length, append))| (owner, way, length, append))
}

async fn carry_out(collection: &Collection<Document>, filter: Document, change: &[Document]) {
    let change = collection.update_many(filter, change.to_vec());
    let change = change.bypass_document_validation(true).await.unwrap();
    assert_eq!(change.matched_count, 1);
}

async fn transaction(client: &Client) -> ClientSession {
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    session
}

/// The items of a stream up to the eighth, which is the last one.
async fn numbers<I, E: std::fmt::Debug>(
    mut stream: impl futures_util::Stream<Item = Result<I, E>> + Unpin,
    number: impl Fn(&I) -> i64,
) -> Vec<i64> {
    let mut numbers = Vec::new();
    while numbers.last() != Some(&8) {
        numbers.push(number(&stream.try_next().await.unwrap().unwrap()));
    }
    numbers
}

async fn empty<T: Note>(notes: &Buckets<T>, owner: i64, way: usize, length: i64) {
    let raw = changes(T::SPEC.items, T::SPEC.count);
    let of_owner = doc! { "owner": owner };
    match OWN_WAYS.get(way) {
        Some(&"remove_item") => {
            for n in 0..length {
                let removed = notes.remove_item(&owner, T::n_is(n)).await.unwrap();
                assert_eq!(removed.unwrap().n(), n);
            }
        }
        Some(&"remove_items") => {
            let removed = notes.remove_items(&owner, T::value_is(1)).await.unwrap();
            assert_eq!(removed, length as u64);
        }
        Some(&"remove_all") => {
            let mut session = transaction(notes.collection().client()).await;
            let removed = notes.remove_items(&owner, T::value_is(1));
            assert_eq!(removed.session(&mut session).await.unwrap(), length as u64);
            session.commit_transaction().await.unwrap();
        }
        Some(_) => {
            carry_out(notes.collection(), of_owner, &raw[2]).await;
            ops(notes).repair().await.unwrap();
        }
        None => carry_out(notes.collection(), of_owner, &raw[way - OWN_WAYS.len()]).await,
    }
}

async fn append<T: Note>(notes: &Buckets<T>, owner: i64, how: usize) {
    let note = |n| T::new(owner, n, 1);
    match how {
        0 => drop(notes.append(&note(3)).await.unwrap()),
        1 => drop(notes.append_many([note(3)]).await.unwrap()),
        _ => {
            let mut session = transaction(notes.collection().client()).await;
            notes.append(&note(3)).session(&mut session).await.unwrap();
            session.commit_transaction().await.unwrap();
        }
    }
    notes.append_many((4..8).map(note)).await.unwrap();
    notes.append(&note(8)).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "migrated", id = "{owner}_{at:millis}", capacity = 4)]
struct Migrated {
    owner: i64,
    at: DateTime,
    n: i64,
}

async fn of_buckets<T: Note>(db: &Database) {
    db.collection::<Document>("notes").drop().await.unwrap();
    db.collection::<Document>("migrated").drop().await.unwrap();
    let notes = T::buckets(db).await.unwrap();
    let mut all = notes.watch_all().await.unwrap();
    let cases = Vec::from_iter(cases(changes(T::SPEC.items, T::SPEC.count).len()));
    let mut watches = Vec::<WatchStream<T>>::new();
    for (owner, way, length, _) in &cases {
        for n in 0..*length {
            notes.append(&T::new(*owner, n, 1)).await.unwrap();
        }
        empty(&notes, *owner, *way, *length).await;
        watches.push(notes.watch(owner).await.unwrap());
    }
    let (done, appended) = tokio::sync::oneshot::channel();
    let migrate = Ops::<Migrated>::of(db).migrate_from(|mut note: T| Migrated {
        owner: *note.owner(),
        at: *note.at(),
        n: note.n(),
    });
    let migrate = migrate.until(async { appended.await.unwrap() });
    let append_all = async {
        for (owner, _, _, how) in &cases {
            append(&notes, *owner, *how).await;
        }
        // A bucket that seems to be full is not sealed by anybody. A migration compares the numbers of items, so a count
        // that was forgotten has to be corrected.
        let corrected = doc! { "$set": { T::SPEC.count: 0, "sealed": "$_id" } };
        let empty = doc! { T::SPEC.items: [] };
        let corrected = notes.collection().update_many(empty, vec![corrected]);
        corrected.await.unwrap();
        done.send(()).unwrap();
    };
    let (migrated, ()) = futures_util::join!(migrate.into_future(), append_all);
    assert_eq!(migrated.unwrap(), cases.len() as u64 * 6);

    let mut told = BTreeMap::<i64, Vec<i64>>::new();
    for ((owner, way, length, how), watch) in cases.iter().zip(watches) {
        let of = std::any::type_name::<T>();
        let case = format!("{of}, way {way}, {length} items, append {how}");
        assert_eq!(numbers(watch, T::n).await, Vec::from_iter(3..9), "{case}");
        let read = items(&notes, owner).await;
        let read = Vec::from_iter(read.iter().map(T::n));
        assert_eq!(read, Vec::from_iter(3..9), "{case}");
        let latest = notes.latest(owner).await.unwrap().unwrap();
        assert!(!latest.items.is_empty(), "{case}");
        told.insert(*owner, (0..*length).chain(3..9).collect());
    }
    let mut by_owner = BTreeMap::<i64, Vec<i64>>::new();
    for _ in 0..told.values().map(Vec::len).sum() {
        let mut note = all.try_next().await.unwrap().unwrap();
        by_owner.entry(*note.owner()).or_default().push(note.n());
    }
    assert_eq!(by_owner, told, "all keys");
    for bucket in documents(notes.collection()).await {
        let is_empty = bucket.get_array(T::SPEC.items).unwrap().is_empty();
        assert!(!is_empty || bucket.contains_key("sealed"), "{bucket}");
    }
}

#[bucket_testkit::test]
async fn g1_what_is_appended_to_an_emptied_bucket_comes(db: Live) {
    of_buckets::<Numbered>(&db).await;
    of_buckets::<SecondsSum>(&db).await;
    of_buckets::<Windows>(&db).await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "songs",
    reference = "song_id",
    threshold = 1,
    extras_capacity = 3
)]
struct Song {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items)]
    heard_by: Vec<i64>,
}

async fn empty_extras(songs: &Outliers<Song>, id: i64, way: usize, length: i64) {
    let raw = changes(Song::SPEC.extra_items, "count");
    let of_song = doc! { "song_id": id };
    let item = Song::FIELDS.heard_by.item();
    match OWN_WAYS.get(way) {
        Some(&"remove_item") => {
            for n in 0..length {
                let gone = songs.remove_item(&id, item.eq(n)).await;
                assert_eq!(gone.unwrap(), Some(n));
            }
        }
        Some(&"remove_items") => {
            let gone = songs.remove_items(&id, item.gte(0)).await;
            assert_eq!(gone.unwrap(), length as u64);
        }
        Some(&"remove_all") => {
            for n in 0..length {
                assert!(remove(songs, &id, n).await.unwrap());
            }
        }
        Some(_) => {
            carry_out(songs.extras_collection(), of_song, &raw[2]).await;
            repaired(songs).await.unwrap();
        }
        None => {
            let change = &raw[way - OWN_WAYS.len()];
            carry_out(songs.extras_collection(), of_song, change).await;
        }
    }
}

#[bucket_testkit::test]
async fn o1_what_is_pushed_to_emptied_extras_comes(db: Live) {
    let songs = Song::outliers(&db).await.unwrap();
    let mut all = songs.watch_all().await.unwrap();
    let (mut told, mut by_song) = (BTreeMap::new(), BTreeMap::<i64, Vec<i64>>::new());
    for (id, way, length, how) in cases(changes("", "").len()) {
        let heard_by = vec![-1];
        songs.insert(&Song { id, heard_by }).await.unwrap();
        for n in 0..length {
            songs.push(&id, n).await.unwrap();
        }
        empty_extras(&songs, id, way, length).await;
        let watch = songs.watch(&id).await.unwrap();
        match how {
            0 => drop(songs.push(&id, 3).await.unwrap()),
            1 => drop(songs.push_many(&id, [3]).await.unwrap()),
            _ => {
                let mut session = transaction(db.client()).await;
                songs.push(&id, 3).session(&mut session).await.unwrap();
                session.commit_transaction().await.unwrap();
            }
        }
        songs.push_many(&id, 4..8).await.unwrap();
        songs.push(&id, 8).await.unwrap();
        let case = format!("way {way}, {length} extras, push {how}");
        assert_eq!(numbers(watch, |n| *n).await, Vec::from_iter(3..9), "{case}");
        let read = songs.items(&id).await.unwrap();
        let read = read.try_collect::<Vec<_>>().await.unwrap();
        assert_eq!(read, Vec::from_iter([-1].into_iter().chain(3..9)), "{case}");
        told.insert(id, Vec::from_iter((-1..length).chain(3..9)));
    }
    for _ in 0..told.values().map(Vec::len).sum() {
        let NewItem { parent, item, .. } = all.try_next().await.unwrap().unwrap();
        by_song.entry(parent).or_default().push(item);
    }
    assert_eq!(by_song, told, "all parents");
}
