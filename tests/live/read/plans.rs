//! Which commands a call sends, and how the server carries them out.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};

use crate::support::{
    database::{Record, Recorded, explain, is_cluster},
    plans::{Examined, examined, examined_by, examines},
    zoo::ticks::{Numbered10, Seconds10, Tick},
};

const CAPACITY: i64 = 10;

/// Two collections.
async fn both(db: &Database) -> (Buckets<Seconds10>, Buckets<Numbered10>) {
    let timed = Seconds10::buckets(db).await.unwrap();
    let numbered = Numbered10::buckets_in(db.collection::<Document>("numbered"));
    (timed, numbered.await.unwrap())
}

fn full_bucket(id: String) -> Document {
    let items = vec![doc! { "at": DateTime::from_millis(0), "n": 0_i64 }; CAPACITY as usize];
    doc! { "_id": id, "k": 5_i64, "count": CAPACITY as i32, "items": items }
}

/// The stage with this name, anywhere in the plan.
fn stage<'p>(plan: &'p Document, name: &str) -> Option<&'p Document> {
    if plan.get_str("stage").ok() == Some(name) {
        return Some(plan);
    }
    stage(plan.get_document("inputStage").ok()?, name)
}

fn executed(explained: &Document) -> &Document {
    let stats = explained.get_document("executionStats").unwrap();
    stats.get_document("executionStages").unwrap()
}

#[bucket_testkit::test]
async fn an_append_examines_one_key_and_one_document_however_long_the_history(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let (timed, numbered) = both(&db).await;
    let mut full = 0;
    for history in [0, 100, 10_000] {
        if full < history {
            let new = (full..history).map(|n| full_bucket(format!("5_{n:010}")));
            timed.collection().insert_many(new.clone()).await.unwrap();
            numbered.collection().insert_many(new).await.unwrap();
            full = history;
        }
        // Once without an open bucket, once into the open bucket.
        for _ in 0..2 {
            record.take();
            timed.append(&Seconds10::new(5, 1)).await.unwrap();
            numbered.append(&Numbered10::new(5, 1)).await.unwrap();
            for Examined { keys, documents } in examined(&db, &record).await {
                assert!(keys <= 1 && documents <= 1, "{history}: {keys} {documents}");
            }
        }
        let open = doc! { "count": { "$lt": 10 } };
        timed.collection().delete_many(open.clone()).await.unwrap();
        numbered.collection().delete_many(open).await.unwrap();
    }
}

#[bucket_testkit::test]
async fn an_append_is_one_command(Recorded(db, record): Recorded) {
    let (timed, numbered) = both(&db).await;
    record.take();
    for n in 0..CAPACITY {
        timed.append(&Seconds10::new(5, n)).await.unwrap();
        assert_eq!(record.names(), ["update"]);
    }
    // The eleventh item of one second: its id is taken.
    timed.append(&Seconds10::new(5, 10)).await.unwrap();
    assert_eq!(record.names(), ["update", "find", "update"]);
    timed.append(&Seconds10::new(5, 11)).await.unwrap();
    assert_eq!(record.names(), ["update"]);

    numbered.append(&Numbered10::new(5, 0)).await.unwrap();
    assert_eq!(record.names(), ["update", "find", "update"]);
    numbered.append(&Numbered10::new(5, 1)).await.unwrap();
    assert_eq!(record.names(), ["update"]);
}

#[bucket_testkit::test]
async fn a_deep_page_fetches_one_document(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let (timed, numbered) = both(&db).await;
    let new = (0..1000).map(|n| full_bucket(format!("5_{n:010}")));
    timed.collection().insert_many(new.clone()).await.unwrap();
    numbered.collection().insert_many(new).await.unwrap();
    let explained = async |record: &Record| explain(&db, record.take().remove(0)).await;

    // By skip: the server skips ids before it fetches a document.
    record.take();
    let page = timed.page(&5, 900).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000899");
    let by_skip = explained(&record).await;
    assert_eq!(examined_by(&by_skip), examines(900, 1));
    let plan = executed(&by_skip);
    let fetch = stage(plan, "FETCH").unwrap();
    assert!(stage(fetch, "SKIP").is_some(), "{plan}");

    // By exact id.
    let page = numbered.page(&5, 900).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000899");
    let by_id = explained(&record).await;
    let plan = executed(&by_id);
    // Found without a plan; from 8.0 on this has another name.
    let without_plan = stage(plan, "IDHACK").or(stage(plan, "EXPRESS_IXSCAN"));
    assert!(without_plan.is_some(), "{plan}");
    assert_eq!(examined_by(&by_id), examines(1, 1));

    // The last one.
    let page = timed.latest(&5).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000999");
    assert_eq!(examined(&db, &record).await, [examines(1, 1)]);

    // Counting pages reads no document at all.
    assert_eq!(timed.page_count(&5).await.unwrap(), 1000);
    assert_eq!(examined(&db, &record).await[0].documents, 0);
}
