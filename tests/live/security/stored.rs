//! Input from outside that is read: tokens that callers of a site send, and documents that another
//! program has stored among the buckets.

use std::cell::Cell;

use bucket_runtime::{
    Bucket, Buckets, ItemToken, Page,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use proptest::{prelude::*, sample::Index};

use crate::support::{
    database::{self, Live, documents, fresh},
    random::for_any,
    scale::scaled,
};

trait Item: for<'k> Bucket<Key = (i64,)> + Clone + Unpin + std::fmt::Debug {
    fn new(k: i64) -> Self;
    fn k(&self) -> i64;
}

macro_rules! items {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "items", id = $id, capacity = 2)]
        struct $name {
            k: i64,
            #[bucket(min, max)]
            at: DateTime,
            #[bucket(sum)]
            n: i64,
        }

        impl Item for $name {
            fn new(k: i64) -> Self {
                Self { k, at: DateTime::from_millis(1_698_335_223_434), n: 1 }
            }

            fn k(&self) -> i64 {
                self.k
            }
        }
    )+};
}

items! {
    Seconds("{k}_{at}")
    Windows("{k}_{at/1h}")
    Numbered("{k}_{#}")
}

/// Keys whose ids begin with the same digit.
const KEYS: [i64; 4] = [1, 12, 16, 169];

async fn filled<T: Item>(db: &Database) -> Buckets<T> {
    let buckets = fresh::<T>(db).await;
    for k in KEYS {
        let five = (0..5).map(|_| T::new(k));
        buckets.append_many(five).await.unwrap();
    }
    buckets
}

/// Whatever is made of a token of any key, the items belong to the key of the read.
async fn tokens<T: Item>(db: &Database) {
    let buckets = filled::<T>(db).await;
    let changes = proptest::collection::vec((any::<Index>(), "[A-Za-z0-9_-]"), 0..4);
    let keys = (0..KEYS.len(), 0..KEYS.len());
    // Behind the fingerprint of the list, which alone says whether a token is taken, or anywhere.
    let from = prop_oneof![Just(0), Just(12)];
    let values = (changes, keys, from);
    // One in seven tokens is taken.
    let (taken, cases) = (Cell::new(0), scaled(300).max(120));
    for_any(cases, values, async |(changes, (of, to), from)| {
        let list = |nth: usize| buckets.items(&KEYS[nth]);
        let first = list(of).page_of_items(2).await.unwrap();
        let mut text = first.next.unwrap().to_string();
        for (at, other) in changes {
            let at = from + at.index(text.len() - from);
            text.replace_range(at..=at, &other);
        }
        let Ok(token) = text.parse::<ItemToken>() else {
            return;
        };
        let after = || list(to).after(&token);
        let page = list(to).page_of_items(2).before(&token).await;
        let mut found = vec![page.map(|page| page.items)];
        for read in [after(), after().newest_first(), after().limit(2)] {
            found.push(async { read.await?.try_collect().await }.await);
        }
        for found in found {
            match found {
                Ok(items) => {
                    let is_own = items.iter().all(|item| item.k() == KEYS[to]);
                    assert!(is_own, "{token} of {of}: {items:?}");
                    taken.set(taken.get() + 1);
                }
                Err(error) => {
                    assert!(error.is_token_mismatch(), "{error}");
                    assert!(from == 0 || of != to, "{token} is of the list");
                }
            }
        }
    });
    assert!(taken.get() > 0);
}

#[bucket_testkit::test(multi_thread)]
async fn tokens_from_outside_never_lead_to_another_key(db: Live) {
    tokens::<Seconds>(&db).await;
    tokens::<Windows>(&db).await;
    tokens::<Numbered>(&db).await;
}

/// Values of each type, among them some that a bucket holds.
fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        Just(Bson::Null),
        Just(Bson::MaxKey),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<f64>().prop_map(Bson::Double),
        "[a-z_0-9]{0,3}".prop_map(Bson::String),
        any::<i64>().prop_map(|at| DateTime::from_millis(at).into()),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let name = "k|n|at|count|items|rollup|sum|min|max|missing|x";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            proptest::collection::vec((name, inner), 0..5)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

/// A document in the id range of key 12, with unexpected values in some fields.
fn document() -> impl Strategy<Value = Document> {
    let id = prop_oneof![
        "12_[-_0-9a-z]{0,20}",
        "12_16983[0-9]{5}(_00000[1-9])?",
        "12_000000000[0-9]"
    ];
    let names = "k|count|items|sealed|rollup|window|newest";
    let changes = proptest::collection::vec((names, value()), 0..4);
    (id, changes).prop_map(|(id, changes)| {
        let at = DateTime::from_millis(1_698_332_400_000);
        let item = doc! { "at": at, "n": 1_i64 };
        let mut bucket = doc! {
            "k": 12_i64, "count": 2, "items": [item.clone(), item], "window": at,
            "rollup": { "at": { "count": 2, "min": at, "max": at }, "n": { "count": 2, "sum": 2_i64 } },
        };
        bucket.extend(changes);
        bucket.insert("_id", id);
        bucket
    })
}

/// The items of a page, all of whose other parts can be read.
fn shown<T: Item>(page: Page<T>) -> Vec<T> {
    drop((page.rollup(), page.is_open()));
    page.items
}

/// Every read ends in a value of the key or in an error that can be shown.
async fn read_all<T: Item>(buckets: &Buckets<T>, k: i64) {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for page in [
        buckets.page(&k, 1).await,
        buckets.page(&k, 3).await,
        buckets.latest(&k).await,
    ] {
        match page {
            Ok(page) => items.extend(page.into_iter().flat_map(shown)),
            Err(error) => errors.push(error),
        }
    }
    let pages = buckets.pages(&k).await.unwrap();
    match pages.try_collect::<Vec<_>>().await {
        Ok(pages) => items.extend(pages.into_iter().flat_map(shown)),
        Err(error) => errors.push(error),
    }
    for read in [
        buckets.items(&k),
        buckets.items(&k).newest_first(),
        buckets.items(&k).skip(3).limit(2),
    ] {
        match async { read.await?.try_collect::<Vec<_>>().await }.await {
            Ok(read) => items.extend(read),
            Err(error) => errors.push(error),
        }
    }
    errors.extend(buckets.count(&k).await.err());
    errors.extend(buckets.page_count(&k).await.err());
    errors.extend(buckets.rollup(&k).await.err());
    errors.extend(buckets.rollup_all().await.err());
    assert!(items.iter().all(|item| item.k() == k), "{items:?}");
    for error in errors {
        assert!(!error.to_string().is_empty());
        assert!(!error.is_maybe_stored(), "{error}");
    }
}

async fn stored<T: Item>(db: &Database) {
    let buckets = filled::<T>(db).await;
    let all = documents(buckets.collection()).await;
    let hostile = proptest::collection::vec(document(), 1..4);
    for_any(scaled(120), hostile, async |hostile| {
        for document in hostile {
            // An index may refuse the document.
            let _ = buckets.collection().insert_one(document).await;
        }
        read_all(&buckets, 12).await;
        // Writes of the key succeed or are refused; neither affects other keys.
        let _ = buckets.append(&T::new(12)).await;
        let _ = buckets.append_many((0..5).map(|_| T::new(12))).await;
        // The other keys are unchanged.
        for k in [1, 16, 169] {
            let items = database::items(&buckets, &k).await;
            assert_eq!(items.len(), 5);
            assert!(items.iter().all(|item| item.k() == k));
        }
        buckets.collection().delete_many(doc! {}).await.unwrap();
        buckets.collection().insert_many(&all).await.unwrap();
    });
}

#[bucket_testkit::test(multi_thread)]
async fn any_document_ends_in_a_value_or_an_error(db: Live) {
    stored::<Seconds>(&db).await;
    stored::<Windows>(&db).await;
    stored::<Numbered>(&db).await;
}
