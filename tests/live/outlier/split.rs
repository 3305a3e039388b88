//! Taking over a collection: parents that are already too long are split while others push. Whatever
//! interrupts it, nothing is lost or doubled, and the order holds.

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_runtime::{
    Outlier, Outliers, SplitProgress,
    mongodb::bson::{Document, doc, oid::ObjectId},
};
use rand::Rng;

use crate::{
    outlier::support::{assert_in_order, books, fresh, items, reads_agree, stored, verify},
    support::{
        database::{Live, server},
        tasks::JoinSet,
    },
};

const PARENTS: i64 = 2000;
const LONG: i64 = 5000;
const WRITERS: i64 = 8;
const URI: &str = "BUCKET_TESTS_SPLIT";

books! {
    Book50(50, 100)
    Book3(3, 2)
}

fn is_long(id: i64) -> bool {
    id % 100 == 37
}

fn parent(id: i64, values: i64) -> Document {
    doc! { "_id": id, "title": format!("book {id}"), "buyers": (0..values).collect::<Vec<_>>() }
}

/// The values of each parent that a writer's pushes acknowledged.
type Pushed = BTreeMap<i64, Vec<i64>>;

/// Pushes to long parents and to others until told to stop.
async fn write(books: Outliers<Book50>, writer: i64, stop: Arc<AtomicBool>) -> Pushed {
    let mut pushed = Pushed::new();
    let mut value = (writer + 1) * 1_000_000;
    while !stop.load(Ordering::SeqCst) {
        let (id, many) = {
            let mut random = rand::rng();
            let long = random.random_range(0..PARENTS / 100) * 100 + 37;
            let any = random.random_range(0..PARENTS);
            (
                if random.random() { long } else { any },
                random.random_range(1..5),
            )
        };
        let values: Vec<i64> = (value..value + many).collect();
        value += many;
        match many {
            1 => {
                books.push(&id, values[0]).await.unwrap();
            }
            _ => {
                books.push_many(&id, values.clone()).await.unwrap();
            }
        }
        pushed.entry(id).or_default().extend(values);
    }
    pushed
}

/// Not a test: another process runs this split until it is killed.
#[bucket_testkit::test]
#[ignore = "a process that another test starts"]
async fn the_splitting_process() {
    let Ok(name) = std::env::var(URI) else {
        return;
    };
    let db = server().await.database(&name).await.unwrap();
    let books = Book50::outliers(&db).await.unwrap();
    let mut random = rand::rng();
    let mut left: u64 = random.random_range(1..4);
    let split = books.split_existing().on_progress(move |_| {
        left -= 1;
        if left == 0 {
            std::process::abort();
        }
    });
    split.await.unwrap();
}

/// Drops the future a moment after the first or second report, in the middle of some step. It counts
/// reports, so that a fast machine cannot finish all parents before the drop.
async fn split_that_is_dropped(books: &Outliers<Book50>) {
    let (reports, moment) = {
        let mut random = rand::rng();
        (random.random_range(1..3), random.random_range(0..8))
    };
    let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let split = books.split_existing().on_progress(move |at| {
        let _ = report.send(at.done);
    });
    let reported = async {
        for _ in 0..reports {
            reported.recv().await;
        }
        tokio::time::sleep(Duration::from_millis(moment)).await;
    };
    tokio::select! {
        biased;
        () = reported => {}
        done = split.into_future() => panic!("it ended before it was dropped: {done:?}"),
    }
}

async fn split_in_a_process_that_is_killed(db: &str) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "outlier::split::the_splitting_process",
            "--exact",
            "--ignored",
        ])
        .env(URI, db)
        .env("MONGODB_URI", server().await.uri());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap();
    assert_eq!(
        output.status.code(),
        None,
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[bucket_testkit::test(multi_thread)]
async fn two_thousand_parents_are_split_while_others_push(db: Live) {
    let books = fresh::<Book50>(&db).await;
    let parents: Vec<_> = (0..PARENTS)
        .map(|id| parent(id, if is_long(id) { LONG } else { id % 50 }))
        .collect();
    for parents in parents.chunks(500) {
        books.collection().insert_many(parents).await.unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let books = Book50::outliers(&db).await.unwrap();
        writers.spawn(write(books, writer, Arc::clone(&stop)));
    }
    for _ in 0..3 {
        split_that_is_dropped(&books).await;
    }
    split_in_a_process_that_is_killed(db.name()).await;
    let mut progress: Vec<SplitProgress> = Vec::new();
    let done = books
        .split_existing()
        .on_progress(|at| progress.push(at))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::SeqCst);
    let pushed = writers.join_all().await;
    // The transaction of a dropped call ends by itself, perhaps after this call has counted.
    assert!((done.found.saturating_sub(3)..=done.found).contains(&done.done));
    assert_eq!(progress.last(), Some(&done));
    let counts: Vec<_> = progress.iter().map(|at| at.done).collect();
    assert_eq!(
        counts,
        (0..=done.done).collect::<Vec<_>>(),
        "one report at the beginning and one after each parent"
    );

    let stored = stored(&books).await;
    assert_eq!(stored.len() as i64, PARENTS);
    for (id, stored) in &stored {
        let old = if is_long(*id) { LONG } else { id % 50 };
        let all = stored.all();
        let (first, new) = all.split_at(old as usize);
        assert!(first.iter().copied().eq(0..old), "O5: {id}");
        assert_in_order(new, |value| value / 1_000_000);
        let mut new = new.to_vec();
        new.sort_unstable();
        let mut expected: Vec<_> = pushed
            .iter()
            .filter_map(|pushed| pushed.get(id))
            .flatten()
            .copied()
            .collect();
        expected.sort_unstable();
        assert_eq!(new, expected, "O1: {id}");
        if is_long(*id) {
            assert_eq!(stored.parent.len(), 50, "{id}");
            reads_agree(&books, *id, stored).await;
        }
    }
    assert_eq!(verify(&books).await.unwrap(), []);
    let again = books.split_existing().await.unwrap();
    assert_eq!(
        (again.found, again.done, again.moved),
        (0, 0, 0),
        "idempotent"
    );
    assert_eq!(crate::outlier::support::stored(&books).await, stored);
}

/// A parent with `length` values, and values that were pushed before it is split: those went to the
/// extras, and what moves out of the parent must come before them.
#[bucket_testkit::test]
async fn what_was_pushed_before_the_split_stays_behind_what_is_older(db: Live) {
    let books = fresh::<Book3>(&db).await;
    for length in [4, 5, 6, 7, 12] {
        for pushed in [0, 1, 2, 3, 5] {
            books
                .collection()
                .insert_one(parent(7, length))
                .await
                .unwrap();
            for value in length..length + pushed {
                books.push(&7, value).await.unwrap();
            }
            assert_eq!(
                items(&books, 7).await,
                (0..length + pushed).collect::<Vec<_>>()
            );
            let split = books.split_existing().await.unwrap();
            assert_eq!(
                (split.found, split.done, split.moved),
                (1, 1, length as u64 - 3)
            );
            let found = stored(&books).await.remove(&7).unwrap();
            assert_eq!(found.all(), (0..length + pushed).collect::<Vec<_>>());
            assert_eq!((found.parent.len(), found.flagged), (3, true));
            let ids: Vec<_> = found
                .pages
                .iter()
                .map(|page| page.get_str("_id").unwrap())
                .collect();
            assert!(ids[0].starts_with("7_-"), "{ids:?}");
            reads_agree(&books, 7, &found).await;
            // Through the handle that split, and through one that knows nothing.
            books.push(&7, length + pushed).await.unwrap();
            let other = Book3::outliers_in(
                books.collection().clone(),
                books.extras_collection().clone(),
            );
            let more = length + pushed + 1..length + pushed + 8;
            other
                .await
                .unwrap()
                .push_many(&7, more.clone())
                .await
                .unwrap();
            let found = stored(&books).await.remove(&7).unwrap();
            assert_eq!(found.all(), (0..more.end).collect::<Vec<_>>());
            reads_agree(&books, 7, &found).await;
            assert_eq!(verify(&books).await.unwrap(), []);
            books.delete(&7).await.unwrap();
        }
    }
}

/// The last page of a split is open. Without its only item it goes, and what is pushed next begins at zero.
#[bucket_testkit::test]
async fn o4_the_last_page_of_a_split_may_be_emptied(db: Live) {
    let books = fresh::<Book3>(&db).await;
    books.collection().insert_one(parent(7, 6)).await.unwrap();
    books.split_existing().await.unwrap();
    books.remove(&7, 5).await.unwrap();
    books.push(&7, 6).await.unwrap();
    let found = stored(&books).await.remove(&7).unwrap();
    let ids = found.pages.iter().map(|page| page.get_str("_id").unwrap());
    assert_eq!(Vec::from_iter(ids), ["7_-9999999998", "7_0000000000"]);
    assert_eq!(found.all(), [0, 1, 2, 3, 4, 6]);
    reads_agree(&books, 7, &found).await;
    assert_eq!(verify(&books).await.unwrap(), []);
}

/// A program that does not know the pattern made the parent too long again: its pages are numbered
/// below those of the first split.
#[bucket_testkit::test]
async fn a_parent_is_split_again_and_again(db: Live) {
    let books = fresh::<Book3>(&db).await;
    books.collection().insert_one(parent(7, 8)).await.unwrap();
    books.push(&7, 8).await.unwrap();
    let mut expected: Vec<i64> = (0..9).collect();
    for round in 1..5_i64 {
        books.split_existing().await.unwrap();
        let found = stored(&books).await.remove(&7).unwrap();
        assert_eq!(found.all(), expected, "round {round}");
        let foreign: Vec<i64> = (0..round + 1).map(|n| round * 100 + n).collect();
        let push = doc! { "$push": { "buyers": { "$each": &foreign } } };
        books
            .collection()
            .update_one(doc! { "_id": 7 }, push)
            .await
            .unwrap();
        expected.splice(3..3, foreign);
        expected.push(round * 1000);
        books.push(&7, round * 1000).await.unwrap();
    }
}

/// The manual's own logic overshoots: it pushes the 51st value to the parent, sets the flag, and only
/// the 52nd goes to its extras document. The surplus values of the parent are older than those extras.
#[bucket_testkit::test]
async fn a_parent_with_the_manuals_extras_keeps_its_order(db: Live) {
    let books = fresh::<Book3>(&db).await;
    let mut manual = parent(7, 4);
    manual.insert("has_extras", true);
    books.collection().insert_one(manual).await.unwrap();
    let extras = doc! { "_id": ObjectId::new(), "book_id": 7, "buyers_extra": [4_i64, 5, 6, 7] };
    books.extras_collection().insert_one(extras).await.unwrap();
    books.push(&7, 8).await.unwrap();
    assert_eq!(items(&books, 7).await, (0..9).collect::<Vec<_>>());
    let split = books.split_existing().await.unwrap();
    assert_eq!(split.moved, 1);
    assert_eq!(items(&books, 7).await, (0..9).collect::<Vec<_>>(), "O5");
}
