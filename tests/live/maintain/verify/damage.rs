//! `verify` finds each kind of damage and nothing else, and `repair` fixes it.

use std::{collections::BTreeMap, slice};

use bucket_ops::{Problem, ProblemKind as Kind};
use bucket_runtime::{
    Bucket, Buckets, Ordinal,
    mongodb::{
        Collection, Database,
        bson::{Bson, DateTime, Document, doc},
        options::UpdateModifications,
    },
};

use crate::support::{
    database::{documents, fresh, items},
    ops,
    problems::{Expected, assert_found, expected},
};

pub(crate) trait Note: Bucket<Key = (String, i64)> + Clone + std::fmt::Debug {
    fn new(topic: &str, user: i64, n: i64) -> Self;
    fn n(&self) -> i64;
}

macro_rules! notes {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "notes", id = $id, capacity = 3)]
        pub(crate) struct $name {
            topic: String,
            #[serde(alias = "author")]
            user: i64,
            pub(crate) at: DateTime,
            #[bucket(sum)]
            pub(crate) n: i64,
        }

        impl Note for $name {
            fn new(topic: &str, user: i64, n: i64) -> Self {
                // Moments before and after 1970, in pairs, a hundred pairs in an hour.
                let at = DateTime::from_millis(-360_000 + n / 2 * 36_000);
                Self { topic: topic.to_owned(), user, at, n }
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

notes! {
    Timed("{topic}_{user}_{at}")
    Millis("{topic}_{user}_{at:millis}")
    Numbered("{topic}_{user}_{#}")
    Windowed("{topic}_{user}_{at/1h}")
}

/// Buckets of every healthy kind: empty, open, full and sealed ones, ids with and without a suffix, and
/// counts as the shell writes them.
pub(crate) async fn healthy<T: Note>(db: &Database) -> Buckets<T> {
    let notes = fresh::<T>(db).await;
    for (topic, user) in [("a_b", 1), ("a", 7), ("", -1)] {
        let all = (0..40).map(|n| T::new(topic, user, n));
        notes.append_many(all).await.unwrap();
    }
    let raw = raw(&notes);
    let full = doc! { "user": 7, "count": 3 };
    let by_shell = doc! { "$set": { "count": 3.0 } };
    raw.update_many(full, by_shell).await.unwrap();
    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
    let open = doc! { "user": -1, "count": { "$lt": 3 } };
    raw.update_many(open, seal).await.unwrap();
    notes.append(&T::new("", -1, 39)).await.unwrap();
    // A number keeps its place.
    if T::SPEC.id.ordinal == Ordinal::Number {
        let rollup = doc! { "count": 0, "sum": 0 };
        let emptied = doc! { "items": [], "count": 0, "rollup.n": rollup, "sealed": "$_id" };
        let open = doc! { "user": 7, "count": { "$lt": 3 } };
        let found = raw.update_one(open, vec![doc! { "$set": emptied }]);
        assert_eq!(found.await.unwrap().modified_count, 1);
    }
    notes
}

pub(crate) fn raw<T: Bucket>(notes: &Buckets<T>) -> Collection<Document> {
    notes.collection().clone_with_type()
}

/// Damages one document, and returns it as it was.
pub(crate) async fn damage<T: Bucket>(
    notes: &Buckets<T>,
    which: Document,
    update: impl Into<UpdateModifications>,
) -> Document {
    let raw = raw(notes);
    let found = raw.find_one(which).sort(doc! { "_id": 1 }).await.unwrap();
    let found = found.expect("a bucket to damage");
    let filter = doc! { "_id": found.get("_id").unwrap().clone() };
    let updated = raw.update_one(filter, update).await.unwrap();
    assert_eq!(updated.modified_count, 1);
    found
}

pub(crate) fn id(bucket: &Document) -> Bson {
    bucket.get("_id").unwrap().clone()
}

pub(crate) async fn verify<T: Bucket>(notes: &Buckets<T>) -> Vec<Problem> {
    ops(notes).verify().await.unwrap().problems
}

pub(crate) async fn repair<T: Bucket>(notes: &Buckets<T>) -> Vec<Problem> {
    ops(notes).repair().await.unwrap().left
}

/// `verify` finds exactly this problem. `repair` fixes it at once, and changes nothing else.
pub(crate) async fn is_repaired<T: Note>(notes: &Buckets<T>, problem: Expected) {
    let sound = others(notes, &problem).await;
    let found = verify(notes).await;
    assert_found(&found, slice::from_ref(&problem));
    assert!(found[0].is_repairable());
    let done = ops(notes).repair().await.unwrap();
    assert_eq!(done.left, [], "{problem:?}");
    assert_eq!(done.repaired, BTreeMap::from([(problem.kind, 1)]));
    let repaired = documents(notes.collection()).await;
    assert_eq!(verify(notes).await, [], "{problem:?}");
    assert_eq!(repair(notes).await, []);
    assert_eq!(documents(notes.collection()).await, repaired);
    assert_eq!(others(notes, &problem).await, sound);
    goes_on(notes).await;
}

/// All documents that the problem does not concern.
async fn others<T: Note>(notes: &Buckets<T>, problem: &Expected) -> Vec<Document> {
    let mut documents = documents(notes.collection()).await;
    documents.retain(|document| !problem.ids.contains(&id(document)));
    documents
}

/// Appends go to the end of each key.
async fn goes_on<T: Note>(notes: &Buckets<T>) {
    for (topic, user) in [("a_b", 1), ("a", 7), ("", -1)] {
        let before = items(notes, (topic, &user)).await;
        for n in 40..44 {
            notes.append(&T::new(topic, user, n)).await.unwrap();
        }
        let after = items(notes, (topic, &user)).await;
        let all: Vec<_> = (before.iter().map(T::n)).chain(40..44).collect();
        assert_eq!(after.iter().map(T::n).collect::<Vec<_>>(), all);
    }
    assert_eq!(verify(notes).await, []);
}

/// The test for each ordinal. Milliseconds make ids of more digits than seconds, and nothing else.
macro_rules! for_each_ordinal {
    ($($test:ident)+) => {$(
        mod $test {
            use crate::{
                maintain::verify::damage::{Numbered, Timed, Windowed},
                support::database::Live,
            };

            #[bucket_testkit::test]
            async fn with_each_ordinal(db: Live) {
                super::$test::<Timed>(&db).await;
                super::$test::<Numbered>(&db).await;
                super::$test::<Windowed>(&db).await;
            }
        }
    )+};
}
pub(crate) use for_each_ordinal;

for_each_ordinal! {
    a_healthy_collection_is_clean
    several_open_buckets_are_sealed_but_the_newest
    a_wrong_count_is_corrected
    a_seal_that_is_none_is_corrected
}

async fn a_healthy_collection_is_clean<T: Note>(db: &Database) {
    let notes = healthy::<T>(db).await;
    let before = documents(notes.collection()).await;
    assert_eq!(verify(&notes).await, []);
    assert_eq!(repair(&notes).await, []);
    assert_eq!(documents(notes.collection()).await, before);
    goes_on(&notes).await;
}

async fn several_open_buckets_are_sealed_but_the_newest<T: Note>(db: &Database) {
    let notes = healthy::<T>(db).await;
    notes.collection().drop_index("bucket_open").await.unwrap();
    // The first, the second and the third bucket of a key each lose an item.
    let lose = doc! { "$set": {
        "items": { "$slice": ["$items", 2] },
        "count": { "$subtract": ["$count", 1] },
        "rollup.n": { "count": 2_i64, "sum": { "$sum": { "$slice": ["$items.n", 2] } } },
    } };
    let mut open = Vec::new();
    let of_key = doc! { "topic": "a_b", "user": 1 };
    let collection = raw(&notes);
    let last = collection.find_one(of_key.clone());
    let last = last.sort(doc! { "_id": -1 }).await.unwrap().unwrap();
    let mut full = of_key.clone();
    full.insert("count", 3);
    if let Some(window) = last.get("window") {
        full.insert("window", window.clone());
    }
    for _ in 0..3 {
        let bucket = damage(&notes, full.clone(), vec![lose.clone()]).await;
        open.push(id(&bucket));
    }
    open.push(id(&last));
    // The shell may have written the key this way: it is the same key.
    let update = doc! { "$set": { "user": 1.0 } };
    let second = doc! { "_id": &open[1] };
    collection.update_one(second, update).await.unwrap();
    let text = "has 4 open buckets";
    let problem = expected(Kind::SeveralOpen, open.clone(), "a_b, 1", text);
    let sound = others(&notes, &problem).await;
    let command = T::indexes()[0].to_string();
    assert!(command.contains("bucket_open"), "{command}");
    let lacking = expected(Kind::MissingIndex, [""; 0], None, command);
    assert_found(&verify(&notes).await, &[problem.clone(), lacking.clone()]);
    let error = T::buckets_in(notes.collection().clone()).await.unwrap_err();
    assert!(error.is_several_open(), "{error}");
    // On a cluster the failed opening has created the index on the other shard.
    let left = repair(&notes).await;
    assert_found(&left, &vec![lacking; left.len()]);
    let notes = T::buckets_in(notes.collection().clone()).await.unwrap();
    for bucket in documents(notes.collection()).await {
        if let Some(n) = open.iter().position(|id| *id == self::id(&bucket)) {
            let sealed = (n < 3).then(|| self::id(&bucket));
            assert_eq!(bucket.get("sealed"), sealed.as_ref(), "{bucket}");
        }
    }
    assert_eq!(others(&notes, &problem).await, sound);
    goes_on(&notes).await;
}

async fn a_wrong_count_is_corrected<T: Note>(db: &Database) {
    let full = || doc! { "topic": "a_b", "count": 3 };
    let open = || doc! { "topic": "a_b", "count": { "$lt": 3 } };
    let short = || {
        doc! { "$set": {
            "items": { "$slice": ["$items", 2] },
            "rollup.n": { "count": 2_i64, "sum": { "$sum": { "$slice": ["$items.n", 2] } } },
        } }
    };
    let set = |count: Bson| doc! { "$set": { "count": count } };
    for (which, update, sealed) in [
        (full(), set(4.into()), false),
        (full(), set(Bson::Double(3.5)), false),
        (full(), set(Bson::Null), false),
        (full(), set("3".into()), false),
        (full(), doc! { "$unset": "count" }, false),
        // The bucket was full, so an open one may exist beside it.
        (full(), short(), true),
        (open(), set(3.into()), true),
        (open(), set((-1).into()), true),
        (open(), set(Bson::Double(f64::NAN)), true),
        (open(), doc! { "$unset": "count" }, true),
        (open(), set(0.into()), false),
        (open(), set(Bson::Double(0.5)), false),
    ] {
        let notes = healthy::<T>(db).await;
        let bucket = id(&damage(&notes, which, vec![update.clone()]).await);
        let damaged = raw(&notes).find_one(doc! { "_id": &bucket }).await;
        let items = damaged.unwrap().unwrap().get_array("items").unwrap().len() as u64;
        let text = format!("holds {items} item");
        let problem = expected(Kind::WrongCount, [bucket.clone()], "a_b, 1", text);
        is_repaired(&notes, problem).await;
        let mended = raw(&notes).find_one(doc! { "_id": &bucket }).await;
        let mended = mended.unwrap().unwrap();
        assert_eq!(mended.get("sealed"), sealed.then_some(&bucket), "{update}");
    }
}

async fn a_seal_that_is_none_is_corrected<T: Note>(db: &Database) {
    for seal in [Bson::Null, true.into(), "another".into(), 1.into()] {
        for filter in [doc! { "count": 3 }, doc! { "count": { "$lt": 3 } }] {
            let notes = healthy::<T>(db).await;
            let mut which = doc! { "topic": "a_b" };
            which.extend(filter);
            let update = doc! { "$set": { "sealed": seal.clone() } };
            let bucket = id(&damage(&notes, which, update).await);
            let problem = expected(Kind::WrongSeal, [bucket], "a_b, 1", "is not its own _id");
            is_repaired(&notes, problem).await;
        }
    }
}
