//! Export and import: what comes back is what was there, once each, whatever happened in between.

mod lines;

use std::time::Duration;

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::Rng;

use super::{Visit, export, file, visits};
use crate::support::{
    assert_sound,
    database::{Live, documents, fresh, items, number},
    ops,
};

visits! {
    Seconds("{page}_{at}", 3) #[bucket(unique)]
    Seconds5("{page}_{at}", 5) #[bucket(unique)]
    Numbered("{page}_{#}", 3) #[bucket(unique)]
    Hours("{page}_{at/1h}", 3) #[bucket(unique)]
}

fn visit<T: Visit>(page: &str, n: i64) -> T {
    let at = DateTime::from_millis(1_698_335_223_434 + n * 600_000);
    T::new(page, n, at)
}

const PAGES: [&str; 3] = ["a", "a_b", "ü\"%"];

/// Some visits, some of which are removed again.
async fn filled<T: Visit>(db: &Database) -> Buckets<T> {
    let visits = fresh::<T>(db).await;
    let mut rng = rand::rng();
    for (page, n) in PAGES.iter().zip([20, 3, 8]) {
        let all = (0..n).map(|n| visit::<T>(page, n));
        visits.append_many(all).await.unwrap();
        let one = T::only(rng.random_range(0..n));
        visits.remove_item(page, one).await.unwrap().unwrap();
    }
    visits
}

/// G3, by key and window.
fn assert_one_open<T: Visit>(documents: &[Document]) {
    let mut open = Vec::new();
    for bucket in documents {
        let has_room = number(bucket.get("count")) < i64::from(T::SPEC.capacity);
        if has_room && !bucket.contains_key("sealed") {
            let place = (bucket.get("page").cloned(), bucket.get("window").cloned());
            assert!(!open.contains(&place), "G3: {bucket}");
            open.push(place);
        }
    }
}

async fn comes_back<T: Visit>(db: &Database) {
    let visits = filled::<T>(db).await;
    let before = documents(visits.collection()).await;
    let lines = export(&visits).await;
    assert_eq!(lines.len(), before.len());
    visits.collection().delete_many(doc! {}).await.unwrap();

    let imported = ops(&visits).import(file(&lines)).await.unwrap();
    assert_eq!(documents(visits.collection()).await, before);
    assert_eq!(imported.buckets, before.len() as u64);
    assert_eq!((imported.items, imported.already_there), (28, 0));

    // Once more, when some buckets have got further items.
    for page in PAGES {
        for n in 30..34 {
            visits.append(&visit(page, n)).await.unwrap();
        }
    }
    let now = documents(visits.collection()).await;
    let again = ops(&visits).import(file(&lines)).await.unwrap();
    let there = before.len() as u64;
    assert_eq!((again.buckets, again.already_there), (0, there));
    assert_eq!(documents(visits.collection()).await, now);
    assert_one_open::<T>(&now);
    assert_sound(&visits).await;
}

#[bucket_testkit::test]
async fn g1_what_was_exported_comes_back_as_it_was_and_only_once(db: Live) {
    comes_back::<Seconds>(&db).await;
    comes_back::<Numbered>(&db).await;
    comes_back::<Hours>(&db).await;
}

/// Old visits are exported and removed, the key goes on with this many, and the old ones come back.
async fn comes_back_later<T: Visit>(db: &Database, newer: i64) {
    let visits = fresh::<T>(db).await;
    for n in 0..8 {
        visits.append(&visit("a", n)).await.unwrap();
    }
    let archive = ops(&visits).export("a").await.unwrap();
    let archive: Vec<String> = archive.try_collect().await.unwrap();
    visits.remove_key("a").await.unwrap();
    for n in 100..100 + newer {
        visits.append(&visit("a", n)).await.unwrap();
    }
    visits.append(&visit("b", 1)).await.unwrap();
    let imported = ops(&visits).import(file(&archive)).await.unwrap();
    let stored = documents(visits.collection()).await;
    assert_one_open::<T>(&stored);
    visits.append(&visit("a", 100 + newer)).await.unwrap();
    let found = items(&visits, "a").await;
    let mut found = Vec::from_iter(found.iter().map(T::n));
    // The numbers began anew, and new buckets have the ids of old ones.
    let taken = match T::SPEC.id == Numbered::SPEC.id {
        true => (newer / 3).min(2) + i64::from(newer % 3 > 0),
        false => 0,
    };
    let refused = &imported.refused;
    assert_eq!(refused.len() as i64, taken, "{refused:?}");
    let expected = Vec::from_iter((taken * 3..8.max(taken * 3)).chain(100..=100 + newer));
    if taken > 0 {
        found.sort_unstable();
    }
    assert_eq!(found, expected);
    assert_eq!(visits.count("b").await.unwrap(), 1);
    assert_sound(&visits).await;
}

#[bucket_testkit::test]
async fn g3_g5_old_buckets_come_back_before_the_newer_ones(db: Live) {
    // With an open bucket, and with full ones alone.
    for newer in [7, 6] {
        comes_back_later::<Seconds>(&db, newer).await;
        comes_back_later::<Hours>(&db, newer).await;
        comes_back_later::<Numbered>(&db, newer).await;
    }
}

#[bucket_testkit::test]
async fn g3_a_larger_capacity_leaves_one_bucket_open(db: Live) {
    let visits = filled::<Seconds>(&db).await;
    let lines = export(&visits).await;
    db.drop().await.unwrap();
    let larger = Seconds5::buckets(&db).await.unwrap();
    let imported = ops(&larger).import(file(&lines)).await.unwrap();
    assert_eq!(imported.refused, []);
    assert_one_open::<Seconds5>(&documents(larger.collection()).await);
    assert_eq!(larger.count_all().await.unwrap(), 28);
    larger.append(&visit("a", 50)).await.unwrap();
    let all = items(&larger, "a").await;
    assert_eq!(all.last().unwrap().n, 50);
}

/// G6: a call that was dropped, and the same lines again.
#[bucket_testkit::test]
async fn g6_an_import_that_was_dropped_goes_on(db: Live) {
    let visits = Numbered::buckets(&db).await.unwrap();
    let all = (0..4500).map(|n| visit("a", n));
    visits.append_many(all).await.unwrap();
    let before = documents(visits.collection()).await;
    let lines = export(&visits).await;
    visits.collection().delete_many(doc! {}).await.unwrap();
    let mut rng = rand::rng();
    for _ in 0..5 {
        let limit = Duration::from_millis(rng.random_range(1..200));
        let import = async { ops(&visits).import(file(&lines)).await };
        let _ = tokio::time::timeout(limit, import).await;
    }
    let mut seen = Vec::new();
    let import = ops(&visits).import(file(&lines));
    let import = import.on_progress(|at| seen.push(at.buckets + at.already_there));
    let done = import.await.unwrap();
    assert_eq!(done.buckets + done.already_there, 1500);
    assert_eq!(seen, [1000, 1500]);
    assert!(documents(visits.collection()).await == before);
}
