//! Bulk: items that cannot be stored are handed back, each with its place and its reason; all others
//! are stored.

use bucket_runtime::{
    AppendManyError, Bucket, Error, Ordinal,
    mongodb::{
        Database, IndexModel,
        bson::{DateTime, Document, doc},
        options::IndexOptions,
    },
};

use crate::{
    append::combine::support::{
        Mark, NOON, Numbered1, Numbered10, Numbered20, Seconds1, Seconds10, Seconds20,
        assert_stored, stored,
    },
    error::items::{Value, Valued},
    support::database::{Live, documents, fresh, is_cluster, number},
};

const N: i64 = 400;
const MB: usize = 1 << 20;

fn is_bad(n: i64) -> bool {
    n % 37 == 5
}

fn items<T: Mark>(keys: i64) -> impl Iterator<Item = T> {
    (0..N).map(move |n| T::new(n % keys, n).at(NOON + n * 700))
}

/// The bad items come back, in order, and for the right reason; nothing is in doubt.
fn assert_handed_back<T: Mark>(
    error: &AppendManyError<T>,
    all: i64,
    is_bad: impl Fn(i64) -> bool,
    is_right: impl Fn(&Error) -> bool,
) {
    let failed = error.failed();
    let places: Vec<_> = failed.iter().map(|failed| failed.index as i64).collect();
    assert_eq!(places, (0..all).filter(|n| is_bad(*n)).collect::<Vec<_>>());
    for failed in failed {
        assert_eq!(failed.item.n(), failed.index as i64);
        assert!(is_right(&failed.error), "{}", failed.error);
        assert!(!failed.error.is_maybe_stored(), "{}", failed.error);
        assert_eq!(
            failed.error.key(),
            Some(&*format!("\"{}\"", failed.item.k()))
        );
    }
    assert_eq!(error.stored() as usize + failed.len(), all as usize);
    assert!(error.to_string().contains(&format!("item {}", places[0])));
}

async fn unique<T: Mark>(db: &Database) {
    for keys in [1, 3, N] {
        let marks = fresh::<T>(db).await;
        let unique = IndexOptions::builder().unique(true).build();
        let index = IndexModel::builder()
            .keys(doc! { "items.n": 1 })
            .options(unique)
            .build();
        marks.collection().create_index(index).await.unwrap();
        let taken: Vec<_> = (0..N)
            .filter(|n| is_bad(*n))
            .map(|n| (1000 + n, n))
            .collect();
        for (k, n) in &taken {
            marks.append(&T::new(*k, *n)).await.unwrap();
        }
        let error = marks.append_many(items::<T>(keys)).await.unwrap_err();
        assert_handed_back(&error, N, is_bad, Error::is_duplicate);
        let good = (0..N).filter(|n| !is_bad(*n)).map(|n| (n % keys, n));
        assert_stored(&marks, good.chain(taken)).await;
    }
}

#[bucket_testkit::test]
async fn items_that_a_unique_index_refuses_are_handed_back(db: Live) {
    if is_cluster().await {
        // No such unique index fits the shard key.
        return;
    }
    unique::<Seconds10>(&db).await;
    unique::<Numbered1>(&db).await;
    unique::<Numbered10>(&db).await;
}

async fn validator<T: Mark>(db: &Database) {
    for (keys, buffer) in [(1, 1 << 20), (3, 10_000), (N, 1 << 20)] {
        let _ = db.collection::<Document>("marks").drop().await;
        let bad = doc! { "items": { "$elemMatch": { "text": "bad" } } };
        let create = db.create_collection("marks");
        create.validator(doc! { "$nor": [bad] }).await.unwrap();
        let marks = T::buckets(db).await.unwrap();
        let all = items::<T>(keys).map(|item| match is_bad(item.n()) {
            true => item.text("bad"),
            false => item,
        });
        let error = marks.append_many(all).buffer(buffer).await.unwrap_err();
        let refused = |error: &Error| error.to_string().contains("failed validation");
        assert_handed_back(&error, N, is_bad, refused);
        let good = (0..N).filter(|n| !is_bad(*n));
        assert_stored(&marks, good.map(|n| (n % keys, n))).await;
        let in_order = T::SPEC.id.ordinal == Ordinal::Number || T::SPEC.capacity == 1;
        for (k, ns) in stored(&marks).await {
            assert!(!in_order || ns.is_sorted(), "key {k}: {ns:?}");
        }
    }
}

#[bucket_testkit::test]
async fn items_that_a_validator_refuses_are_handed_back(db: Live) {
    validator::<Seconds1>(&db).await;
    validator::<Seconds10>(&db).await;
    validator::<Numbered10>(&db).await;
    validator::<Numbered1>(&db).await;
}

/// In the year 5000, seconds have eleven digits.
#[bucket_testkit::test]
async fn items_with_a_time_that_no_id_holds_are_handed_back(db: Live) {
    let marks = fresh::<Seconds10>(&db).await;
    let late = |item: Seconds10| match is_bad(item.n()) {
        true => item.at(95_617_584_000_000),
        false => item,
    };
    let error = marks.append_many(items(4).map(late)).await.unwrap_err();
    assert_handed_back(&error, N, is_bad, Error::is_out_of_range);
    let good = (0..N).filter(|n| !is_bad(*n));
    assert_stored(&marks, good.map(|n| (n % 4, n))).await;
}

#[bucket_testkit::test]
async fn items_that_are_no_bson_are_handed_back(db: Live) {
    let values = Valued::buckets(&db).await.unwrap();
    let value = |n| match n % 4 {
        1 => Value::Fails,
        2 => Value::Big(u64::MAX),
        _ => Value::Fine,
    };
    let all = (0..100).map(|n| Valued {
        k: n % 7,
        value: value(n),
    });
    let error = values.append_many(all).await.unwrap_err();
    assert_eq!((error.stored(), error.failed().len()), (50, 50));
    for failed in error.failed() {
        assert_eq!(value(failed.index as i64), failed.item.value);
        assert!(failed.error.is_serialize() && !failed.error.is_maybe_stored());
    }
    let found = documents(values.collection()).await;
    let counts: i64 = found.iter().map(|bucket| number(bucket.get("count"))).sum();
    assert_eq!(counts, 50);
}

/// 17 MB fit into no document. Some of these keys have an open bucket, some have none.
async fn too_large<T: Mark>(db: &Database) {
    let big = "x".repeat(17 * MB);
    for keys in [1, 60] {
        let marks = fresh::<T>(db).await;
        let opened: Vec<_> = (0..keys).step_by(2).map(|k| (k, -k - 1)).collect();
        for (k, n) in &opened {
            marks.append(&T::new(*k, *n)).await.unwrap();
        }
        let is_big = |n| [3, 20].contains(&n);
        let all = (0..60).map(|n| {
            let text = if is_big(n) { &*big } else { "small" };
            T::new(n % keys, n).at(NOON + n * 700).text(text)
        });
        let error = marks.append_many(all).await.unwrap_err();
        assert_handed_back(&error, 60, is_big, Error::is_too_large);
        let small = (0..60).filter(|n| !is_big(*n)).map(|n| (n % keys, n));
        assert_stored(&marks, small.chain(opened)).await;
    }
}

#[bucket_testkit::test]
async fn a_too_large_item_is_handed_back_and_no_other(db: Live) {
    too_large::<Seconds10>(&db).await;
    too_large::<Numbered10>(&db).await;
}

/// Items of 1 MB, twenty to a bucket: a document holds fifteen of them, and the others go into the next
/// bucket.
async fn too_many<T: Mark>(db: &Database) {
    let marks = fresh::<T>(db).await;
    let text = "x".repeat(MB);
    let all = (0..60).map(|n| T::new(n % 2, n).at(NOON + n * 700).text(&text));
    assert_eq!(marks.append_many(all).await.unwrap(), 60);
    let mut stored = Vec::new();
    for bucket in documents(marks.collection()).await {
        let items = bucket.get_array("items").unwrap();
        assert_eq!(number(bucket.get("count")), items.len() as i64);
        let items = items.iter().map(|item| item.as_document().unwrap());
        stored.extend(items.map(|item| number(item.get("n"))));
    }
    stored.sort_unstable();
    assert_eq!(stored, Vec::from_iter(0..60));
}

#[bucket_testkit::test]
async fn of_items_that_together_exceed_a_document_all_are_stored(db: Live) {
    too_many::<Seconds20>(&db).await;
    too_many::<Numbered20>(&db).await;
}

/// Items that nearly fill a document, for keys with an open bucket: each fits alone, and two exceed a
/// command.
#[bucket_testkit::test]
async fn large_items_for_open_buckets_are_stored_side_by_side(db: Live) {
    let marks = fresh::<Numbered10>(&db).await;
    for k in 0..10 {
        marks.append(&Numbered10::new(k, k)).await.unwrap();
    }
    let all = (0..10).map(|k| {
        let text = "x".repeat(if k < 5 { 7 * MB } else { 10 * MB });
        Numbered10::new(k, 10 + k).text(&text)
    });
    assert_eq!(marks.append_many(all).await.unwrap(), 10);
    assert_stored(&marks, (0..10).flat_map(|k| [(k, k), (k, 10 + k)])).await;
}

/// An error that concerns all items: nothing is stored, and nothing is in doubt.
async fn no_index<T: Mark>(db: &Database) {
    let marks = fresh::<T>(db).await;
    marks.collection().drop_index("bucket_open").await.unwrap();
    let mut all = items::<T>(3);
    let load = marks.append_many(all.by_ref()).buffer(1_000);
    let error = load.await.unwrap_err();
    assert_eq!(error.stored(), 0);
    for failed in error.failed() {
        assert!(failed.error.is_index_missing() && !failed.error.is_maybe_stored());
    }
    let taken = error.failed().len() as i64;
    assert!(taken < N, "the load took all items");
    assert_eq!(all.next().unwrap().n(), taken);
    assert_eq!(documents(marks.collection()).await, []);
}

#[bucket_testkit::test]
async fn without_the_open_index_nothing_is_stored(db: Live) {
    no_index::<Seconds10>(&db).await;
    no_index::<Numbered10>(&db).await;
}

/// An open bucket that does not belong to the key blocks that key alone.
async fn foreign<T: Mark>(db: &Database) {
    let marks = fresh::<T>(db).await;
    let item = doc! { "at": DateTime::from_millis(0), "n": -1_i64, "text": "" };
    let foreign = doc! { "_id": "foreign", "k": 2_i64, "count": 1, "items": [item] };
    marks.collection().insert_one(&foreign).await.unwrap();
    let error = marks.append_many(items::<T>(5)).await.unwrap_err();
    let is_its = |n| n % 5 == 2;
    let named = |error: &Error| error.to_string().contains("\"foreign\"");
    assert_handed_back(&error, N, is_its, named);
    let deleted = marks.collection().delete_one(foreign).await.unwrap();
    assert_eq!(deleted.deleted_count, 1, "the foreign bucket has changed");
    let others = (0..N).filter(|n| !is_its(*n));
    assert_stored(&marks, others.map(|n| (n % 5, n))).await;
}

#[bucket_testkit::test]
async fn a_foreign_open_bucket_is_in_the_way_of_its_key_alone(db: Live) {
    foreign::<Seconds10>(&db).await;
    foreign::<Numbered10>(&db).await;
}
