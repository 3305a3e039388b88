//! Bulk: items that cannot be stored are handed back, each with its place and its reason; all others
//! are stored.

use bucket_runtime::{
    AppendManyError, Bucket, Error, Ordinal,
    mongodb::{
        Database,
        bson::{DateTime, doc},
    },
};

use crate::{
    append::combine::support::{
        Mark, NOON, Numbered1, Numbered10, Seconds1, Seconds10, assert_stored, refuse_bad_texts,
        stored, with_taken,
    },
    error::items::{Value, Valued},
    support::database::{Live, documents, fresh, is_cluster},
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
    assert_eq!(places, Vec::from_iter((0..all).filter(|n| is_bad(*n))));
    for failed in failed {
        assert_eq!(failed.item.n(), failed.index as i64);
        assert!(is_right(&failed.error), "{}", failed.error);
        assert!(!failed.error.is_maybe_stored(), "{}", failed.error);
        let key = format!("\"{}\"", failed.item.k());
        assert_eq!(failed.error.key(), Some(&*key));
    }
    assert_eq!(error.stored() as usize + failed.len(), all as usize);
    assert!(error.to_string().contains(&format!("item {}", places[0])));
}

async fn unique<T: Mark>(db: &Database) {
    for keys in [1, 3, N] {
        let (marks, taken) = with_taken::<T>(db, (0..N).filter(|n| is_bad(*n))).await;
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
        refuse_bad_texts(db).await;
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

#[bucket_testkit::test]
async fn items_that_are_no_bson_are_handed_back(db: Live) {
    let values = Valued::buckets(&db).await.unwrap();
    let value = |n| match n % 4 {
        1 => Value::Fails,
        2 => Value::Big(u64::MAX),
        _ => Value::Fine,
    };
    let error = values.append_many(Valued::all(value)).await.unwrap_err();
    assert_eq!((error.stored(), error.failed().len()), (50, 50));
    for failed in error.failed() {
        assert_eq!(value(failed.index as i64), failed.item.value);
        assert!(failed.error.is_serialize() && !failed.error.is_maybe_stored());
    }
    assert_eq!(values.count_all().await.unwrap(), 50);
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
