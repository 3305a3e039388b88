//! Export and import: what comes back is what was there, once each, whatever happened in between.

mod lines;

use std::{io, time::Duration};

use bucket_runtime::{
    Bucket, Buckets, Filter,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Decimal128, Document, doc, oid::ObjectId},
    },
};
use futures_util::{TryStreamExt, stream};
use rand::Rng;

use crate::support::database::{Live, documents, items, number};

macro_rules! visits {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "visits", id = $id, capacity = $capacity)]
        struct $name {
            page: String,
            at: DateTime,
            #[bucket(unique)]
            n: i64,
            #[bucket(sum, max)]
            seconds: f64,
            exact: Decimal128,
            who: Option<ObjectId>,
            any: Bson,
        }

        impl Visit for $name {
            fn new(page: &str, n: i64) -> Self {
                Self {
                    page: page.to_owned(),
                    at: DateTime::from_millis(1_698_335_223_434 + n * 600_000),
                    n,
                    seconds: n as f64,
                    exact: format!("{n}.25").parse().unwrap(),
                    who: (n % 2 == 0).then(|| ObjectId::from_bytes([n as u8; 12])),
                    any: any(n),
                }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn only(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }
        }
    )+};
}

trait Visit:
    for<'k> Bucket<Key: bucket_runtime::Key<Ref<'k> = &'k str>> + Clone + PartialEq + std::fmt::Debug
{
    fn new(page: &str, n: i64) -> Self;
    fn n(&self) -> i64;
    fn only(n: i64) -> Filter<Self>;
}

visits! {
    Seconds("{page}_{at}", 3)
    Seconds5("{page}_{at}", 5)
    Numbered("{page}_{#}", 3)
    Hours("{page}_{at/1h}", 3)
}

/// Values of all kinds.
fn any(n: i64) -> Bson {
    match n % 6 {
        0 => Bson::Int32(n as i32),
        1 => Bson::Int64(n),
        2 => Bson::Double(n as f64),
        3 => Bson::Array(vec![doc! { "text": "a \"b\"\n", "null": null }.into()]),
        4 => Bson::Binary(bucket_runtime::bson::Binary {
            subtype: bucket_runtime::bson::spec::BinarySubtype::Generic,
            bytes: vec![n as u8; 5],
        }),
        _ => Bson::Double(f64::NEG_INFINITY),
    }
}

const PAGES: [&str; 3] = ["a", "a_b", "ü\"%"];

async fn visits<T: Visit>(db: &Database) -> Buckets<T> {
    T::buckets(db).await.unwrap()
}

async fn lines<T: Visit>(visits: &Buckets<T>) -> Vec<String> {
    let lines = visits.export_all().await.unwrap();
    lines.try_collect().await.unwrap()
}

/// The lines of a file, as a reader gives them.
fn file(lines: &[String]) -> impl stream::Stream<Item = io::Result<String>> + Send + 'static {
    let lines: Vec<_> = lines.iter().cloned().map(Ok).collect();
    stream::iter(lines)
}

/// Some visits, some of which are removed again.
async fn filled<T: Visit>(db: &Database) -> Buckets<T> {
    let visits = visits::<T>(db).await;
    let mut rng = rand::rng();
    for (page, n) in PAGES.iter().zip([20, 3, 8]) {
        visits
            .append_many((0..n).map(|n| T::new(page, n)))
            .await
            .unwrap();
        let removed = rng.random_range(0..n);
        visits
            .remove_item(page, T::only(removed))
            .await
            .unwrap()
            .unwrap();
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
    let lines = lines(&visits).await;
    assert_eq!(lines.len(), before.len());
    visits.collection().delete_many(doc! {}).await.unwrap();

    let imported = visits.import(file(&lines)).await.unwrap();
    assert_eq!(documents(visits.collection()).await, before);
    assert_eq!(imported.buckets, before.len() as u64);
    assert_eq!((imported.items, imported.already_there), (28, 0));

    // Once more, when some buckets have got further items.
    for page in PAGES {
        for n in 30..34 {
            visits.append(&T::new(page, n)).await.unwrap();
        }
    }
    let now = documents(visits.collection()).await;
    let again = visits.import(file(&lines)).await.unwrap();
    assert_eq!(
        (again.buckets, again.already_there),
        (0, before.len() as u64)
    );
    assert_eq!(documents(visits.collection()).await, now);
    assert_one_open::<T>(&now);
    assert_eq!(T::verify(db).await.unwrap().problems, []);
}

#[bucket_testkit::test]
async fn g1_what_was_exported_comes_back_as_it_was_and_only_once(db: Live) {
    comes_back::<Seconds>(&db).await;
    db.drop().await.unwrap();
    comes_back::<Numbered>(&db).await;
    db.drop().await.unwrap();
    comes_back::<Hours>(&db).await;
}

/// Old visits are exported and removed, the key goes on with this many, and the old ones come back.
async fn comes_back_later<T: Visit>(db: &Database, newer: i64) {
    db.drop().await.unwrap();
    let visits = visits::<T>(db).await;
    let n_of = async || {
        let all = items(&visits, "a").await;
        all.iter().map(T::n).collect::<Vec<_>>()
    };
    for n in 0..8 {
        visits.append(&T::new("a", n)).await.unwrap();
    }
    let archive = visits.export("a").await.unwrap();
    let archive: Vec<String> = archive.try_collect().await.unwrap();
    visits.remove_key("a").await.unwrap();
    for n in 100..100 + newer {
        visits.append(&T::new("a", n)).await.unwrap();
    }
    visits.append(&T::new("b", 1)).await.unwrap();
    let imported = visits.import(file(&archive)).await.unwrap();
    let stored = documents(visits.collection()).await;
    assert_one_open::<T>(&stored);
    visits.append(&T::new("a", 100 + newer)).await.unwrap();
    let mut found = n_of().await;
    // The numbers began anew, and new buckets have the ids of old ones.
    let taken = T::SPEC.id == Numbered::SPEC.id;
    let taken = if taken {
        (newer / 3).min(2) + i64::from(newer % 3 > 0)
    } else {
        0
    };
    assert_eq!(
        imported.refused_lines, taken as u64,
        "{:?}",
        imported.refused
    );
    let expected = Vec::from_iter((taken * 3..8.max(taken * 3)).chain(100..=100 + newer));
    if taken > 0 {
        found.sort_unstable();
    }
    assert_eq!(found, expected);
    assert_eq!(visits.count("b").await.unwrap(), 1);
    assert_eq!(T::verify(db).await.unwrap().problems, []);
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
    let lines = lines(&visits).await;
    db.drop().await.unwrap();
    let larger = Seconds5::buckets(&db).await.unwrap();
    let imported = larger.import(file(&lines)).await.unwrap();
    assert_eq!(imported.refused, []);
    assert_one_open::<Seconds5>(&documents(larger.collection()).await);
    assert_eq!(larger.count_all().await.unwrap(), 28);
    larger.append(&Seconds5::new("a", 50)).await.unwrap();
    let all = items(&larger, "a").await;
    assert_eq!(all.last().unwrap().n, 50);
}

/// G6: a call that was dropped, and the same lines again.
#[bucket_testkit::test]
async fn g6_an_import_that_was_dropped_goes_on(db: Live) {
    let visits = visits::<Numbered>(&db).await;
    visits
        .append_many((0..9000).map(|n| Numbered::new("a", n)))
        .await
        .unwrap();
    let before = documents(visits.collection()).await;
    let lines = lines(&visits).await;
    visits.collection().delete_many(doc! {}).await.unwrap();
    let mut rng = rand::rng();
    for _ in 0..5 {
        let limit = Duration::from_millis(rng.random_range(1..400));
        let _ = tokio::time::timeout(limit, async { visits.import(file(&lines)).await }).await;
    }
    let mut seen = Vec::new();
    let import = visits.import(file(&lines));
    let done = import
        .on_progress(|at| seen.push(at.buckets + at.already_there))
        .await
        .unwrap();
    assert_eq!(done.buckets + done.already_there, 3000);
    assert_eq!(seen, [1000, 2000, 3000]);
    let after = documents(visits.collection()).await;
    for (after, before) in after.iter().zip(&before) {
        assert_eq!(after, before);
    }
    assert_eq!(after.len(), before.len());
}
