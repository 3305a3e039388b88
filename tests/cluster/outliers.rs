//! O1 to O5 where parents and extras lie on different shards.

use bucket_ops::OutlierOps;
use bucket_runtime::{Outlier, mongodb::bson::doc};
use futures_util::TryStreamExt;
use tokio::task::JoinSet;

use crate::support::{Book, documents, documents_on_shards, sharded_parents};

const WRITERS: i64 = 16;
const EACH: i64 = 15;
const BOOKS: i64 = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn racing_pushes_to_parents_and_extras_on_several_shards() {
    let (db, books) = sharded_parents::<Book>("outlier_race").await;
    for id in 0..BOOKS {
        let buyers = Vec::new();
        books.insert(&Book { id, buyers }).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for writer in 0..WRITERS {
        let books = books.clone();
        tasks.spawn(async move {
            for n in 0..EACH {
                books.push(&(n % BOOKS), writer * EACH + n).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let mut all = Vec::new();
    for id in 0..BOOKS {
        let items: Vec<i64> = books.items(&id).await.unwrap().try_collect().await.unwrap();
        assert_eq!(books.count(&id).await.unwrap(), items.len() as u64);
        // O5: one writer's values, in the order in which they were acknowledged.
        for writer in 0..WRITERS {
            let of_writer = items.iter().filter(|item| **item / EACH == writer);
            assert!(of_writer.is_sorted(), "{id}, {writer}");
        }
        all.extend(items);
    }
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..WRITERS * EACH));
    for parent in documents(&db, "books").await {
        let own = parent.get_array("buyers").unwrap();
        assert!(own.len() <= 5, "O2: {parent}");
        assert_eq!(parent.get_bool("has_extras"), Ok(true), "O3: {parent}");
    }
    let verified = OutlierOps::<Book>::of(&db).verify().await.unwrap();
    assert_eq!(verified.problems, []);
    let extras = documents_on_shards(&db, "extra_books").await;
    assert!(extras.iter().all(|pages| *pages > 0), "{extras:?}");
}

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn parents_that_are_too_large_are_split_across_shards() {
    let (db, books) = sharded_parents::<Book>("outlier_split").await;
    let plain = db.collection("books");
    for id in 0..10_i64 {
        // The validator refuses a parent this long, as it should; this one is older than the validator.
        let book = doc! { "_id": id, "buyers": Vec::from_iter(0..30_i64) };
        let insert = plain.insert_one(book).bypass_document_validation(true);
        insert.await.unwrap();
    }
    assert_eq!(OutlierOps::<Book>::of(&db).repair().await.unwrap().left, []);
    for id in 0..10 {
        let items: Vec<i64> = books.items(&id).await.unwrap().try_collect().await.unwrap();
        assert_eq!(items, Vec::from_iter(0..30));
        books.push(&id, 30).await.unwrap();
        let three = Book::FIELDS.buyers.item().eq(3);
        assert_eq!(books.remove_items(&id, three).await.unwrap(), 1);
    }
    let verified = OutlierOps::<Book>::of(&db).verify().await.unwrap();
    assert_eq!(verified.problems, []);
}
