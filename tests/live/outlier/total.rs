//! `#[outlier(total)]`: the total is the number of a parent's items, extras included, at every moment.

use std::{
    collections::BTreeMap,
    future::IntoFuture,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_ops::{OutlierOps, ProblemKind as Kind};
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{
        Client, Database,
        bson::{Bson, Document, doc},
        error::Error,
    },
};
use futures_util::{FutureExt, TryStreamExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::{
    outlier::events::{at_rest, counted},
    support::{
        database::{Live, Recorded, documents, interrupted, number},
        outliers::{remove, repaired, verify},
        tasks::JoinSet,
    },
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(
    collection = "sales",
    reference = "book_id",
    threshold = 3,
    extras_capacity = 4
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items)]
    buyers: Vec<String>,
    #[outlier(total, index)]
    times_sold: u64,
}

fn book(id: i64, buyers: usize) -> Book {
    Book {
        id,
        buyers: (0..buyers).map(|n| format!("buyer{n}")).collect(),
        // Whatever is in the struct, the number of items is stored.
        times_sold: 77,
    }
}

/// Both collections at one moment, if the server still has it.
async fn at_once(books: &Outliers<Book>) -> Result<[Vec<Document>; 2], Error> {
    let session = books.collection().client().start_session().snapshot(true);
    let mut session = session.await?;
    let mut both = [vec![], vec![]];
    let collections = [books.collection(), books.extras_collection()];
    for (collection, documents) in collections.into_iter().zip(&mut both) {
        let collection = collection.clone_with_type::<Document>();
        let mut found = collection.find(doc! {}).session(&mut session).await?;
        *documents = found.stream(&mut session).try_collect().await?;
    }
    Ok(both)
}

/// The total of each parent.
async fn totals(books: &Outliers<Book>) -> BTreeMap<i64, i64> {
    let [parents, extras] = loop {
        if let Ok(both) = at_once(books).await {
            break both;
        }
    };
    let mut items = BTreeMap::new();
    let arrays = [
        (&parents, "_id", "buyers"),
        (&extras, "book_id", "buyers_extra"),
    ];
    for (documents, id, array) in arrays {
        for document in documents {
            let length = document.get_array(array).map_or(0, Vec::len);
            *items.entry(number(document.get(id))).or_default() += length as i64;
        }
    }
    let total = |parent: &Document| {
        let id = number(parent.get("_id"));
        (id, number(parent.get("timesSold")))
    };
    let totals = parents.iter().map(total).collect();
    assert_eq!(items, totals);
    totals
}

/// The totals of now: snapshots, which they are read from, follow what a majority has acknowledged.
async fn latest_totals(db: &Database, books: &Outliers<Book>) -> BTreeMap<i64, i64> {
    let last = db.collection::<Document>("last");
    last.insert_one(doc! {}).await.unwrap();
    totals(books).await
}

/// One random call, which may be dropped before it is done.
async fn call(books: &Outliers<Book>, n: usize) {
    let (id, kind) = (rand::random_range(0..2_i64), rand::random_range(0..10));
    let patience = match n % 3 {
        0 => Duration::from_micros(rand::random_range(0..20_000)),
        _ => Duration::from_secs(600),
    };
    let buyer = format!("buyer{}", n % 7);
    let call = async {
        match kind {
            0 => {
                let many = (0..n % 9).map(|n| format!("buyer{n}"));
                books.push_many(&id, many).await.unwrap();
            }
            1 => drop(remove(books, &id, buyer.as_str()).await.unwrap()),
            _ => drop(books.push(&id, buyer).await.unwrap()),
        }
    };
    let _ = timeout(patience, call).await;
}

#[bucket_testkit::test]
async fn o1_the_total_is_true_at_every_moment(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&book(0, 0)).await.unwrap();
    books.insert(&book(1, 9)).await.unwrap();
    assert_eq!(totals(&books).await, BTreeMap::from([(0, 0), (1, 9)]));
    let done = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn({
        let (books, done) = (books.clone(), Arc::clone(&done));
        async move {
            let mut seen = 0;
            while !done.load(Ordering::SeqCst) {
                totals(&books).await;
                seen += 1;
            }
            seen
        }
    });
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        // As another process would have it.
        let books = match writer % 2 {
            0 => books.clone(),
            _ => Book::outliers(&db).await.unwrap(),
        };
        writers.spawn(async move {
            for n in 0..25 {
                call(&books, writer * 25 + n).await;
            }
        });
    }
    writers.join_all().await;
    done.store(true, Ordering::SeqCst);
    assert!(watcher.await.unwrap() > 0);
    at_rest(&books).await;
    let (read, stored) = loop {
        let before = latest_totals(&db, &books).await;
        let mut read = BTreeMap::new();
        for id in [0, 1] {
            let all = books.get_all(&id).await.unwrap().unwrap();
            let count = books.count(&id).await.unwrap();
            read.insert(id, [all.buyers.len() as u64, all.times_sold, count]);
        }
        // A transaction of a dropped call pauses after a lost race, and may end after everything else.
        if latest_totals(&db, &books).await == before {
            break (read, before);
        }
    };
    let stored = stored
        .into_iter()
        .map(|(id, total)| (id, [total as u64; 3]));
    assert_eq!(read, stored.collect());
    assert_eq!(verify(&books).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn a_list_of_parents_shows_totals_without_a_look_at_extras(Recorded(db, record): Recorded) {
    let books = Book::outliers(&db).await.unwrap();
    for id in 0..5 {
        books.insert(&book(id, id as usize * 4)).await.unwrap();
    }
    record.take();
    let bestsellers = books
        .find(Book::FIELDS.times_sold.gte(8_u64))
        .sort(doc! { "_id": 1 });
    let found: Vec<_> = bestsellers.await.unwrap().try_collect().await.unwrap();
    let found = found
        .iter()
        .map(|found| (found.document.id, found.document.times_sold));
    assert_eq!(Vec::from_iter(found), [(2, 8), (3, 12), (4, 16)]);
    assert_eq!(record.names(), ["find"]);

    // A parent with room takes one command, as without a total; a known outlier one transaction.
    books.push(&0, "buyer").await.unwrap();
    assert_eq!(record.names(), ["update"]);
    books.push(&4, "buyer").await.unwrap();
    record.take();
    books.push(&4, "buyer").await.unwrap();
    assert_eq!(record.names(), ["update", "update", "commitTransaction"]);
}

/// O1: a call that is dropped in a session leaves no transaction open there, of which the next call would become a part
/// that nobody commits.
#[bucket_testkit::test]
async fn o1_a_dropped_call_leaves_the_session_in_no_transaction(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&book(1, 5)).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    let mut acknowledged = Vec::new();
    for n in 0..40 {
        let dropped = books.push(&1, format!("dropped{n}")).session(&mut session);
        let limit = Duration::from_micros(100 * n);
        let _ = timeout(limit, dropped.into_future()).await;
        let buyer = format!("acknowledged{n}");
        (books.push(&1, &*buyer).session(&mut session).await).unwrap();
        acknowledged.push(buyer);
        session.start_transaction().await.unwrap();
        session.abort_transaction().await.unwrap();
    }
    drop(session);
    at_rest(&books).await;
    let stored: Vec<_> = books.items(&1).await.unwrap().try_collect().await.unwrap();
    acknowledged.retain(|buyer| !stored.contains(buyer));
    assert!(acknowledged.is_empty(), "lost: {acknowledged:?}");
    totals(&books).await;
}

#[bucket_testkit::test]
async fn totals_follow_the_callers_transactions(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&book(1, 5)).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();

    // Outside of a transaction a call makes one of its own.
    books.push(&1, "a").session(&mut session).await.unwrap();
    assert_eq!(totals(&books).await[&1], 6);

    session.start_transaction().await.unwrap();
    books.push(&1, "b").session(&mut session).await.unwrap();
    let first = Book::FIELDS.buyers.item().eq("buyer0");
    let removed = books.remove_items(&1, first).session(&mut session);
    assert_eq!(removed.await.unwrap(), 1);
    let pushed = books.push_many(&1, ["c", "d", "e"]).session(&mut session);
    pushed.await.unwrap();
    let within = books.get(&1).session(&mut session).await.unwrap().unwrap();
    assert_eq!(within.document.times_sold, 9);
    session.abort_transaction().await.unwrap();
    assert_eq!(totals(&books).await[&1], 6);

    session.start_transaction().await.unwrap();
    books.push(&1, "b").session(&mut session).await.unwrap();
    let book = book(2, 8);
    books.insert(&book).session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(totals(&books).await, BTreeMap::from([(1, 7), (2, 8)]));
}

/// A total that is missing stays missing until a repair, whatever is pushed and removed, in the parent or beyond its
/// threshold; and one that another program made too small does not go below zero.
#[bucket_testkit::test]
async fn o1_a_total_that_is_missing_stays_missing_until_a_repair(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let parents = books.collection().clone_with_type::<Document>();
    let total = async |id: i64| {
        let parent = parents.find_one(doc! { "_id": id }).await.unwrap().unwrap();
        parent.get("timesSold").cloned()
    };
    let wrong = [
        None,
        Some(Bson::Null),
        Some("two".into()),
        Some(Bson::Int64(-1)),
    ];
    for (id, wrong) in (0..).zip(wrong) {
        let mut parent = doc! { "_id": id, "buyers": ["a", "b"] };
        parent.extend(wrong.clone().map(|total| ("timesSold".to_owned(), total)));
        parents.insert_one(parent).await.unwrap();
        books.push(&id, "c").await.unwrap();
        assert!(remove(&books, &id, "a").await.unwrap());
        // Of these, two go to the extras.
        assert_eq!(books.push_many(&id, ["d", "e", "f"]).await.unwrap(), 3);
        let known = Book::outliers(&db).await.unwrap();
        for pushed in ["g", "h"] {
            known.push(&id, pushed).await.unwrap();
        }
        assert!(remove(&books, &id, "h").await.unwrap());
        let is_none = |total: &Bson| !matches!(total, Bson::Int64(0..));
        match wrong {
            // A removal from the array sets it to zero.
            Some(Bson::Int64(_)) => assert!(!total(id).await.as_ref().is_none_or(is_none)),
            wrong => assert_eq!(total(id).await, wrong.filter(|it| *it != Bson::Null)),
        }
    }
    // Less than what is removed from the extras.
    let few = doc! { "$set": { "timesSold": 0_i64 } };
    let updated = parents.update_one(doc! { "_id": 0_i64 }, few).await;
    assert_eq!(updated.unwrap().modified_count, 1);
    assert!(remove(&books, &0, "g").await.unwrap());
    assert_eq!(total(0).await, Some(Bson::Int64(0)));

    assert_eq!(repaired(&books).await.unwrap().left, []);
    assert_eq!(totals(&books).await[&1], 6);
    books.push(&1, "i").await.unwrap();
    assert_eq!(totals(&books).await[&1], 7);
}

/// The error of a call whose parent is deleted meanwhile says nothing of stored items, since they are gone.
#[bucket_testkit::test]
async fn a_call_whose_parent_is_deleted_meanwhile_says_so(test: Live) {
    // Its client shows its events.
    let (db, events) = counted(test.name()).await;
    let books = Book::outliers(&db).await.unwrap();
    let other = Book::outliers(&test).await.unwrap();
    let raced = async |events_before: usize,
                       call: BoxFuture<'static, Option<bucket_runtime::Error>>| {
        events.reset();
        let Err(call) = events.run_until(events_before, call).await else {
            panic!("the call has ended before the parent was deleted");
        };
        assert!(other.delete(&1).await.unwrap());
        let error = call.await.expect("an error");
        assert!(error.is_not_found() && !error.is_maybe_stored(), "{error}");
        assert_eq!(error.stored(), 0, "{error}");
        let text = error.to_string();
        assert!(text.contains("was deleted during the call"), "{text}");
        assert_eq!(documents(books.collection()).await, []);
        assert_eq!(documents(books.extras_collection()).await, []);
    };
    // After the parent is stored, and after the first of its extras documents is.
    for before in [2, 6] {
        let insert = books.insert(&book(1, 20)).into_future();
        raced(before, async { insert.await.err() }.boxed()).await;
    }
    books.insert(&book(1, 0)).await.unwrap();
    let buyers: Vec<_> = (0..8).map(|n| n.to_string()).collect();
    let push = books.push_many(&1, buyers).into_future();
    let push = async { push.await.err().map(|error| error.error) };
    raced(2, push.boxed()).await;
}

/// A client that pushes to each of these parents whenever it is about to count extras in a transaction.
async fn pushing(books: &Outliers<Book>, parents: i64) -> Client {
    let is_moment = |command: &Document| {
        command.contains_key("autocommit") && command.get_str("aggregate") == Ok("extra_sales")
    };
    let books = books.clone();
    let push = move || {
        let books = books.clone();
        async move {
            for id in 0..parents {
                books.push(&id, "another").await.unwrap();
            }
        }
    };
    interrupted(is_moment, push).await
}

/// On a cluster a parent and its extras may be on different shards.
#[bucket_testkit::test(multi_thread)]
async fn o1_a_wrong_total_is_counted_at_one_moment(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for id in 0..6 {
        books.insert(&book(id, 8)).await.unwrap();
    }
    let parents = books.collection().clone_with_type::<Document>();
    let wrong = doc! { "$inc": { "timesSold": -1 } };
    parents.update_many(doc! {}, wrong).await.unwrap();
    let pushing = pushing(&books, 6).await.database(db.name());
    let problems = OutlierOps::<Book>::of(&pushing).verify().await;
    let problems = problems.unwrap().problems;
    assert_eq!(problems.len(), 6, "{problems:?}");
    for problem in problems {
        assert_eq!(problem.kind, Kind::WrongTotal);
        let text = problem.to_string();
        let (_, numbers) = text.split_once(" is Long(\"").unwrap();
        let (total, items) = numbers.split_once("\"), but it has ").unwrap();
        let (items, _) = items.split_once(' ').unwrap();
        let [total, items] = [total, items].map(|n| n.parse::<i64>().unwrap());
        assert_eq!(total + 1, items, "{text}");
    }
    assert!(books.count(&0).await.unwrap() > 8);
}
