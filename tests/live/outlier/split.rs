//! Taking over a collection: parents that are already too long are split while others push. Whatever
//! interrupts it, nothing is lost or doubled, and the order holds.

use std::{
    collections::BTreeMap,
    ops::Range,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_ops::{OutlierOps, ProblemKind};
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::bson::{Document, doc},
};
use rand::Rng;

use crate::{
    outlier::{
        events::counted,
        support::{
            Book3x2, Book50x100, assert_in_order, fresh, items, reads_agree, remove, repaired,
            stored, verify,
        },
    },
    support::{
        database::{Live, server},
        tasks::JoinSet,
        transactions::end_transactions,
    },
};

const PARENTS: i64 = 2000;
const LONG: i64 = 2000;
const WRITERS: i64 = 4;
const URI: &str = "BUCKET_TESTS_SPLIT";

fn is_long(id: i64) -> bool {
    id % 50 == 37
}

/// How many values a parent has at first.
fn length(id: i64) -> i64 {
    if is_long(id) { LONG } else { id % 50 }
}

fn parent(id: i64, values: i64) -> Document {
    doc! { "_id": id, "title": format!("book {id}"), "buyers": (0..values).collect::<Vec<_>>() }
}

/// The values of each parent that a writer's pushes acknowledged.
type Pushed = BTreeMap<i64, Vec<i64>>;

/// Pushes to long parents and to others until told to stop.
async fn write(books: Outliers<Book50x100>, writer: i64, stop: Arc<AtomicBool>) -> Pushed {
    let mut pushed = Pushed::new();
    let mut value = (writer + 1) * 1_000_000;
    while !stop.load(Ordering::SeqCst) {
        let random = |range: Range<i64>| rand::rng().random_range(range);
        let id = match random(0..2) {
            0 => random(0..PARENTS / 100) * 100 + 37,
            _ => random(0..PARENTS),
        };
        let many = random(1..5);
        let values: Vec<i64> = (value..value + many).collect();
        value += many;
        match many {
            1 => drop(books.push(&id, values[0]).await.unwrap()),
            _ => drop(books.push_many(&id, values.clone()).await.unwrap()),
        }
        pushed.entry(id).or_default().extend(values);
    }
    pushed
}

/// Not a test: another process runs this repair until it is killed.
#[bucket_testkit::test]
#[ignore = "a process that another test starts"]
async fn the_repairing_process() {
    let Ok(name) = std::env::var(URI) else {
        return;
    };
    // Its client has an app name, by which its transaction is found.
    let (db, _) = counted(&name).await;
    OutlierOps::<Book50x100>::of(&db).repair().await.unwrap();
}

/// Waits until some more parents are split, and then for a moment, which ends in the middle of some step.
async fn until_some_are_split(books: &Outliers<Book50x100>) {
    let too_long = || async {
        let too_long = doc! { "buyers.50": { "$exists": true } };
        books.collection().count_documents(too_long).await.unwrap()
    };
    let parents = rand::rng().random_range(1..3);
    let moment = rand::rng().random_range(0..8);
    let before = too_long().await;
    while too_long().await + parents > before {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::sleep(Duration::from_millis(moment)).await;
}

async fn repair_that_is_dropped(books: &Outliers<Book50x100>) {
    tokio::select! {
        biased;
        () = until_some_are_split(books) => {}
        done = repaired(books) => panic!("it ended before it was dropped: {done:?}"),
    }
}

async fn repair_in_a_process_that_is_killed(books: &Outliers<Book50x100>) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "outlier::split::the_repairing_process";
    command
        .args([name, "--exact", "--ignored"])
        .env(URI, books.collection().namespace().db)
        .env("MONGODB_URI", server().await.uri())
        .stdout(Stdio::null());
    let mut process = command.spawn().unwrap();
    let ended = async {
        while process.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        biased;
        () = until_some_are_split(books) => {}
        () = ended => panic!("it ended before it was killed"),
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let parents = books.collection();
    end_transactions(parents.client(), &parents.namespace().db).await;
}

#[bucket_testkit::test(multi_thread)]
async fn two_thousand_parents_are_split_while_others_push(db: Live) {
    let books = fresh::<Book50x100>(&db).await;
    let parents = Vec::from_iter((0..PARENTS).map(|id| parent(id, length(id))));
    for parents in parents.chunks(500) {
        books.collection().insert_many(parents).await.unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let books = Book50x100::outliers(&db).await.unwrap();
        writers.spawn(write(books, writer, Arc::clone(&stop)));
    }
    for _ in 0..3 {
        repair_that_is_dropped(&books).await;
    }
    repair_in_a_process_that_is_killed(&books).await;
    let done = repaired(&books).await.unwrap();
    assert!(done.repaired[&ProblemKind::TooLarge] > 0, "{done:?}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.store(true, Ordering::SeqCst);
    let pushed = writers.join_all().await;

    let stored = stored(&books).await;
    assert_eq!(stored.len() as i64, PARENTS);
    for (id, stored) in &stored {
        let all = stored.all();
        let (first, new) = all.split_at(length(*id) as usize);
        assert!(first.iter().copied().eq(0..length(*id)), "O5: {id}");
        assert_in_order(new, |value| value / 1_000_000);
        let mut new = new.to_vec();
        new.sort_unstable();
        let pushed = pushed.iter().filter_map(|pushed| pushed.get(id));
        let mut expected = Vec::from_iter(pushed.flatten().copied());
        expected.sort_unstable();
        assert_eq!(new, expected, "O1: {id}");
        if is_long(*id) {
            assert_eq!(stored.parent.len(), 50, "{id}");
            reads_agree(&books, *id, stored).await;
        }
    }
    assert_eq!(verify(&books).await.unwrap(), []);
    let again = repaired(&books).await.unwrap();
    assert_eq!(again.repaired, [].into(), "idempotent");
    assert_eq!(crate::outlier::support::stored(&books).await, stored);
}

/// A parent with `length` values, and values that were pushed before it is split: those went to the
/// extras, and what moves out of the parent must come before them.
#[bucket_testkit::test]
async fn what_was_pushed_before_the_split_stays_behind_what_is_older(db: Live) {
    let books = fresh::<Book3x2>(&db).await;
    for length in [4, 5, 12] {
        for pushed in [0, 1, 2, 3] {
            let long = parent(7, length);
            books.collection().insert_one(long).await.unwrap();
            for value in length..length + pushed {
                books.push(&7, value).await.unwrap();
            }
            let all = Vec::from_iter(0..length + pushed);
            assert_eq!(items(&books, 7).await, all);
            let done = repaired(&books).await.unwrap();
            assert_eq!(done.repaired, [(ProblemKind::TooLarge, 1)].into());
            let found = stored(&books).await.remove(&7).unwrap();
            assert_eq!(found.all(), all);
            assert_eq!((found.parent.len(), found.flagged), (3, true));
            let first = &found.pages[0];
            assert!(first.get_str("_id").unwrap().starts_with("7_-"), "{first}");
            reads_agree(&books, 7, &found).await;
            // Through the handle that split, and through one that knows nothing.
            books.push(&7, length + pushed).await.unwrap();
            let other = Book3x2::outliers(&db).await.unwrap();
            let more = length + pushed + 1..length + pushed + 8;
            other.push_many(&7, more.clone()).await.unwrap();
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
    let books = fresh::<Book3x2>(&db).await;
    books.collection().insert_one(parent(7, 6)).await.unwrap();
    repaired(&books).await.unwrap();
    remove(&books, &7, 5).await.unwrap();
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
    let books = fresh::<Book3x2>(&db).await;
    books.collection().insert_one(parent(7, 8)).await.unwrap();
    books.push(&7, 8).await.unwrap();
    let mut expected: Vec<i64> = (0..9).collect();
    for round in 1..5_i64 {
        repaired(&books).await.unwrap();
        let found = stored(&books).await.remove(&7).unwrap();
        assert_eq!(found.all(), expected, "round {round}");
        let foreign: Vec<i64> = (0..round + 1).map(|n| round * 100 + n).collect();
        let push = doc! { "$push": { "buyers": { "$each": &foreign } } };
        let parents = books.collection();
        parents.update_one(doc! { "_id": 7 }, push).await.unwrap();
        expected.splice(3..3, foreign);
        expected.push(round * 1000);
        books.push(&7, round * 1000).await.unwrap();
    }
}
