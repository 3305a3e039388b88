//! G1, for what other programs stored: an unreadable item takes no other item with it. It is listed,
//! skipped if the reader says so, and can be removed.

use std::slice;

use bucket_ops::ProblemKind as Kind;
use bucket_runtime::{
    Bucket, Buckets, Error, Filter,
    action::Items,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Live, documents, ids, number},
    ops,
    problems::{assert_found, expected},
};

/// The bucket keeps nothing about its items, so an edit reads one item.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "plain", id = "{k}_{at}", capacity = 3)]
struct Plain {
    k: i64,
    at: DateTime,
    n: i32,
    text: String,
}

/// An edit must read all items of the bucket.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "kept",
    id = "{k}_{at}",
    capacity = 3,
    expire_after = "20000d"
)]
struct Kept {
    k: i64,
    at: DateTime,
    #[bucket(sum)]
    n: i32,
    text: String,
}

trait Note: Bucket<Key = (i64,)> + Clone + std::fmt::Debug + PartialEq {
    fn new(n: i32, text: String) -> Self;
    fn is(n: i32) -> Filter<Self>;
    fn n(&mut self) -> &mut i32;
}

macro_rules! note {
    ($($note:ident)+) => {$(
        impl Note for $note {
            fn new(n: i32, text: String) -> Self {
                Self { k: 1, at: moment(n), n, text }
            }
            fn is(n: i32) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }
            fn n(&mut self) -> &mut i32 {
                &mut self.n
            }
        }
    )+};
}

note! { Plain Kept }

fn moment(n: i32) -> DateTime {
    DateTime::from_millis(1000 * (1_800_000_000 + i64::from(n)))
}

fn note<T: Note>(n: i32) -> T {
    T::new(n, "short".to_owned())
}

/// Seven notes; 1 and 4 have lost their text, in the full buckets `0 1 2` and `3 4 5`.
async fn damaged<T: Note>(db: &Database, text: &str) -> Buckets<T> {
    let notes = T::buckets(db).await.unwrap();
    for n in 0..7 {
        notes.append(&T::new(n, text.to_owned())).await.unwrap();
    }
    let raw = notes.collection().clone_with_type::<Document>();
    for n in [1, 4] {
        let lost = doc! { "$unset": { "items.1.text": 1 } };
        let changed = raw.update_one(doc! { "items.1.n": n }, lost).await.unwrap();
        assert_eq!(changed.modified_count, 1);
    }
    notes
}

fn numbers<T: Note>(notes: impl IntoIterator<Item = T>) -> Vec<i32> {
    notes.into_iter().map(|mut note| *note.n()).collect()
}

/// Each error names the bucket and says what is missing.
fn check(told: &[Error], count: usize) {
    assert_eq!(told.len(), count, "{told:?}");
    for error in told {
        assert!(error.is_deserialize());
        let text = error.to_string();
        assert!(text.contains("1_1800000"), "{text}");
        assert!(text.contains("missing field `text`"), "{text}");
    }
}

/// The numbers of the items that a read gives, and the errors of those that it passes.
async fn past<T: Note>(read: Items<'_, T>) -> (Vec<i32>, Vec<Error>) {
    let mut told = Vec::new();
    let read = read.skip_unreadable(|error| told.push(error));
    let read: Vec<T> = read.await.unwrap().try_collect().await.unwrap();
    (numbers(read), told)
}

#[bucket_testkit::test]
async fn reads_go_on_past_it(db: Live) {
    let notes = damaged::<Kept>(&db, "short").await;

    let all = notes.items(&1).await.unwrap().try_collect::<Vec<_>>().await;
    assert!(all.unwrap_err().is_deserialize());
    let (_, told) = past(notes.items(&1)).await;
    assert!(told[0].to_string().contains("items.1: "), "{}", told[0]);
    assert_eq!(told[0].key(), Some("\"1\""));

    // Skipped items count.
    let some = |skip, limit| notes.items(&1).skip(skip).limit(limit);
    for (read, expected, count) in [
        (notes.items(&1), vec![0, 2, 3, 5, 6], 2),
        (notes.all_items().newest_first(), vec![6, 5, 3, 2, 0], 2),
        (some(2, 3), vec![2, 3], 1),
        (some(1, 1), vec![], 1),
        (some(2, 9), vec![2, 3, 5, 6], 1),
        (some(4, 9), vec![5, 6], 1),
        (notes.items(&1).skip(2), vec![2, 3, 5, 6], 1),
        (notes.items(&1).filter(!Kept::is(3)), vec![0, 2, 5, 6], 2),
    ] {
        let (read, told) = past(read).await;
        assert_eq!(read, expected);
        check(&told, count);
    }

    let mut told = Vec::new();
    let pages = notes.pages(&1).skip_unreadable(|error| told.push(error));
    let pages: Vec<_> = pages.await.unwrap().try_collect().await.unwrap();
    // The rest of the page is unaffected.
    let found = pages.iter().map(|page| (page.items.len(), page.is_open()));
    assert_eq!(Vec::from_iter(found), [(2, false), (2, false), (1, true)]);
    assert_eq!(pages[1].rollup().unwrap().count(), 3);
    check(&told, 2);

    assert!(notes.page(&1, 2).await.unwrap_err().is_deserialize());
    let mut told = Vec::new();
    let page = notes.page(&1, 2).skip_unreadable(|error| told.push(error));
    assert_eq!(numbers(page.await.unwrap().unwrap().items), [3, 5]);
    check(&told, 1);
}

/// Tasks decode large buckets ahead of the reader.
#[bucket_testkit::test]
async fn large_buckets_are_read_past_it(db: Live) {
    let notes = damaged::<Kept>(&db, &"x".repeat(20_000)).await;
    let (read, told) = past(notes.items(&1)).await;
    assert_eq!(read, [0, 2, 3, 5, 6]);
    check(&told, 2);
}

#[bucket_testkit::test]
async fn verify_lists_it_by_bucket_and_place(db: Live) {
    let notes = damaged::<Kept>(&db, "short").await;
    let raw = notes.collection().clone_with_type::<Document>();
    // An element that is not even a document.
    let number = doc! { "$set": { "items.0": 5 } };
    let changed = raw.update_one(doc! { "items.0.n": 6 }, number);
    changed.await.unwrap();
    let ids = ids(&notes).await;

    let found = ops(&notes).verify().await.unwrap();
    assert_eq!((found.buckets, found.items), (3, 7));
    let found = found.problems;
    assert_eq!(found.len(), 3, "{found:?}");
    for (problem, (id, at)) in found.iter().zip([(0, 1), (1, 1), (2, 0)]) {
        let text = format!("item {at} (from 0)");
        let expected = expected(Kind::Unreadable, [ids[id].clone()], "1", text);
        assert_found(slice::from_ref(problem), &[expected]);
        let text = problem.to_string();
        assert!(at == 0 || text.contains("missing field `text`"), "{text}");
        assert!(text.contains("remove_stored"), "{text}");
    }
    // Only guessing could repair it.
    let before = documents(notes.collection()).await;
    assert_eq!(ops(&notes).repair().await.unwrap().left, found);
    assert_eq!(documents(notes.collection()).await, before);
}

async fn taken_out_as_stored<T: Note>(db: &Database) {
    let notes = damaged::<T>(db, "short").await;
    let before = documents(notes.collection()).await;
    let removed = notes.remove_item(&1, T::is(4)).await;
    assert!(removed.unwrap_err().is_deserialize());
    let updated = notes.update_item(&1, T::is(4), |_| ()).await;
    assert!(updated.unwrap_err().is_deserialize());
    assert_eq!(documents(notes.collection()).await, before);

    let stored = notes.remove_stored(&1, T::is(4)).await.unwrap();
    let expected = doc! { "at": moment(4), "n": 4 };
    assert_eq!(stored, Some(Bson::Document(expected)));
    assert_eq!(notes.remove_stored(&1, T::is(4)).await.unwrap(), None);
    // A readable item is removed in the same way.
    let stored = notes.remove_stored(&1, T::is(5)).await.unwrap();
    let expected = doc! { "at": moment(5), "n": 5, "text": "short" };
    assert_eq!(stored, Some(Bson::Document(expected)));

    let page = notes.page(&1, 2).await.unwrap().unwrap();
    let bucket = documents(notes.collection()).await.remove(1);
    assert_eq!(number(bucket.get("count")), 1);
    assert_eq!(page.rollup().unwrap().count(), 1);
    assert_eq!(numbers(page.items), [3]);

    notes.remove_stored(&1, T::is(1)).await.unwrap().unwrap();
    assert_eq!(ops(&notes).verify().await.unwrap().problems, []);
}

#[bucket_testkit::test]
async fn it_is_taken_out_as_it_is_stored(db: Live) {
    taken_out_as_stored::<Plain>(&db).await;
    taken_out_as_stored::<Kept>(&db).await;
}

async fn neighbours_edited<T: Note>(db: &Database) {
    let notes = damaged::<T>(db, "short").await;
    let changed = notes.update_item(&1, T::is(3), |note| *note.n() = 30);
    let changed = changed.await.unwrap();
    assert_eq!(changed.map(|mut note| *note.n()), Some(30));
    let gone = notes.remove_item(&1, T::is(5)).await.unwrap();
    assert_eq!(gone, Some(note(5)));

    let page = notes.page(&1, 2).skip_unreadable(|_| ());
    let page = page.await.unwrap().unwrap();
    // The bucket's expiry also counts the time of the unreadable item.
    let bucket = documents(notes.collection()).await.remove(1);
    if T::SPEC.expire_after.is_some() {
        assert_eq!(bucket.get_datetime("newest").unwrap(), &moment(4));
        // An incomplete sum is not presented as complete.
        assert!(page.rollup().is_none());
    }
    assert_eq!(numbers(page.items), [30]);

    notes.remove_stored(&1, T::is(4)).await.unwrap().unwrap();
    let page = notes.page(&1, 2).await.unwrap().unwrap();
    assert_eq!(page.rollup().unwrap().count(), 1);
    if T::SPEC.expire_after.is_some() {
        let bucket = documents(notes.collection()).await.remove(1);
        assert_eq!(bucket.get_datetime("newest").unwrap(), &moment(3));
    }
}

/// An edit reads one item where the bucket keeps nothing, and all of its items otherwise.
#[bucket_testkit::test]
async fn its_neighbours_can_be_edited(db: Live) {
    neighbours_edited::<Plain>(&db).await;
    neighbours_edited::<Kept>(&db).await;
}
