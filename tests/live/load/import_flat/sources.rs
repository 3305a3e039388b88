//! Imports from each kind of source, dropped again and again, judged by the raw driver.

use std::{collections::BTreeMap, time::Duration};

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Collection, Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::{Rng, seq::SliceRandom};

use crate::support::{
    assert_sound,
    database::{Live, documents, fresh, items, number},
    ops,
};

/// A vote. A transaction stores 2,000 of them.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "votes", id = "{k}_{#}", capacity = 2)]
struct Vote {
    k: i64,
    v: i64,
}

/// A vote with its time.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "timed_votes", id = "{k}_{at}", capacity = 2)]
struct TimedVote {
    k: i64,
    at: DateTime,
    v: i64,
}

const VOTES: i64 = 7_000;

fn at(n: i64) -> DateTime {
    DateTime::from_millis(1_700_000_000_000 + n % 3 * 1000)
}

/// Some votes are equal in all that is stored.
fn vote(n: i64) -> Document {
    doc! { "k": n % 2, "v": n / 3, "at": at(n) }
}

/// Fills the collection, in random order.
async fn fill(flat: &Collection<Document>, vote: impl Fn(i64) -> Document) {
    let mut votes = Vec::from_iter((0..VOTES).map(vote));
    votes.shuffle(&mut rand::rng());
    flat.insert_many(votes).await.unwrap();
}

async fn view(db: &Database, on: &str, pipeline: impl Into<Vec<Document>>) -> Collection<Document> {
    let create = db.create_collection("flat_view").view_on(on.to_owned());
    create.pipeline(pipeline.into()).await.unwrap();
    db.collection("flat_view")
}

/// How often each vote is there.
type Votes = BTreeMap<(i64, i64), usize>;

fn count(votes: impl IntoIterator<Item = (i64, Document)>) -> Votes {
    let mut counts = Votes::new();
    for (k, vote) in votes {
        *counts.entry((k, number(vote.get("v")))).or_default() += 1;
    }
    counts
}

async fn stored<T: Bucket>(buckets: &Buckets<T>) -> Votes {
    let items = |bucket: &Document| {
        let k = number(bucket.get("k"));
        let items = bucket.get_array("items").unwrap().clone();
        items
            .into_iter()
            .map(move |item| (k, item.as_document().unwrap().clone()))
    };
    let buckets = documents(buckets.collection()).await;
    count(buckets.iter().flat_map(items))
}

/// Drops each call a moment after a transaction of it, until one comes to its end.
async fn each_once<T: Bucket>(db: &Database, flat: &Collection<Document>, sort: Option<Document>) {
    let buckets = fresh::<T>(db).await;
    let all = flat.find(doc! {}).await.unwrap();
    let all: Vec<Document> = all.try_collect().await.unwrap();
    let all = count(all.into_iter().map(|vote| (number(vote.get("k")), vote)));
    let mut dropped = 0;
    let done = loop {
        let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
        let import = ops(&buckets).import_flat(flat).on_progress(move |at| {
            let _ = report.send(at.stored);
        });
        let import = match &sort {
            Some(sort) => import.sort(sort.clone()),
            None => import,
        };
        let moment = rand::rng().random_range(0..20);
        let stopped = async {
            let begun = reported.recv().await;
            while reported.recv().await == begun {}
            tokio::time::sleep(Duration::from_millis(moment)).await;
        };
        tokio::select! {
            done = import.into_future() => break done,
            () = stopped => dropped += 1,
        }
        assert!(dropped < 50, "no call comes to its end");
    };
    assert!(dropped > 0);
    match done {
        Ok(done) => {
            assert_eq!((done.found, done.stored), (VOTES as u64, VOTES as u64));
            assert_eq!((done.left_out, done.unreadable), (0, 0));
        }
        // The call that was dropped had come to its end.
        Err(error) => assert!(error.is_key_taken(), "{error}"),
    }
    let stored = stored(&buckets).await;
    assert!(stored == all, "{} of {} votes", stored.len(), all.len());
    assert_sound(&buckets).await;
}

/// The votes in buckets by number and by time.
async fn both_once(db: &Database, flat: &Collection<Document>) {
    each_once::<Vote>(db, flat, None).await;
    each_once::<TimedVote>(db, flat, None).await;
}

#[bucket_testkit::test(multi_thread)]
async fn g1_a_collection_is_taken_up_where_it_was_left(db: Live) {
    let flat = db.collection("flat");
    fill(&flat, vote).await;
    both_once(&db, &flat).await;
}

/// All elements of an array share the `_id` of its document.
#[bucket_testkit::test(multi_thread)]
async fn g1_a_view_that_unwinds_is_taken_up_where_it_was_left(db: Live) {
    let lists = (0..2).map(|k| {
        let votes = (0..VOTES).filter(|n| n % 2 == k).map(vote);
        doc! { "_id": k, "k": k, "votes": Vec::from_iter(votes) }
    });
    db.collection("lists").insert_many(lists).await.unwrap();
    let votes = doc! { "$project": { "k": 1, "v": "$votes.v", "at": "$votes.at" } };
    let flat = view(&db, "lists", [doc! { "$unwind": "$votes" }, votes]).await;
    both_once(&db, &flat).await;
}

#[bucket_testkit::test(multi_thread)]
async fn g1_a_view_without_ids_is_taken_up_where_it_was_left(db: Live) {
    fill(&db.collection("flat"), vote).await;
    let flat = view(&db, "flat", [doc! { "$project": { "_id": 0 } }]).await;
    both_once(&db, &flat).await;
}

/// A time series has no unique `_id`.
#[bucket_testkit::test(multi_thread)]
async fn g1_a_time_series_is_taken_up_where_it_was_left(db: Live) {
    let series = doc! { "timeField": "at", "metaField": "k" };
    let create = doc! { "create": "flat", "timeseries": series };
    db.run_command(create).await.unwrap();
    let flat = db.collection("flat");
    let with_id = |n| {
        let mut vote = vote(n);
        vote.insert("_id", n % 2);
        vote
    };
    fill(&flat, with_id).await;
    both_once(&db, &flat).await;
}

/// The server sorts an array by its least element, and other languages write `undefined`.
#[bucket_testkit::test(multi_thread)]
async fn g1_an_order_by_arrays_and_by_undefined_is_taken_up(db: Live) {
    let flat = db.collection("flat");
    let sorted_by = |n: i64| {
        let mut vote = vote(n);
        match n % 5 {
            0 => drop(vote.insert("rank", Bson::Undefined)),
            1 => {}
            2 => drop(vote.insert("rank", Bson::Null)),
            3 => drop(vote.insert("rank", vec![n % 70, 1_000 - n % 90, n % 11])),
            _ => drop(vote.insert("rank", n % 70)),
        }
        vote
    };
    fill(&flat, sorted_by).await;
    each_once::<Vote>(&db, &flat, Some(doc! { "rank": 1 })).await;
    each_once::<Vote>(&db, &flat, Some(doc! { "rank": -1 })).await;
}

/// A city with its visitors.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "visits", id = "{city}_{#}", capacity = 2)]
struct Visit {
    city: String,
    v: i64,
}

/// To a collation "a" and "A" are equal, and their documents take turns.
#[bucket_testkit::test]
async fn g1_keys_that_a_collation_takes_for_equal_stay_apart(db: Live) {
    let collation = doc! { "locale": "en", "strength": 1 };
    let create = doc! { "create": "flat", "collation": &collation };
    db.run_command(create).await.unwrap();
    let flat = db.collection::<Document>("flat");
    let city = |n: i64| if n % 2 == 0 { "a" } else { "A" };
    let visit = |n: i64| doc! { "_id": n, "city": city(n), "v": n };
    flat.insert_many((0..5_000).map(visit)).await.unwrap();
    let visits = fresh::<Visit>(&db).await;
    let done = ops(&visits).import_flat(&flat).await.unwrap();
    assert_eq!((done.found, done.stored), (5_000, 5_000));
    for (first, city) in [(0, "a"), (1, "A")] {
        let found = items(&visits, city).await;
        let found = found.iter().map(|visit| visit.v);
        assert!(found.eq((first..5_000).step_by(2)), "{city}");
    }
    // The server refuses another collation than the view's own.
    let create =
        doc! { "create": "flat_view", "viewOn": "flat", "pipeline": [], "collation": collation };
    db.run_command(create).await.unwrap();
    let visits = fresh::<Visit>(&db).await;
    let flat_view = db.collection::<Document>("flat_view");
    let error = ops(&visits).import_flat(&flat_view).await.unwrap_err();
    assert!(error.to_string().contains("collation"), "{error}");
    assert_eq!(documents(visits.collection()).await, []);
}
