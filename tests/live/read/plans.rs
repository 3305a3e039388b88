//! Which commands a call sends, and how the server carries them out.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, Document, doc},
};

use crate::support::{
    database::{Recorded, explain, is_cluster, number},
    plans::examined_by,
};

const CAPACITY: i64 = 10;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "timed", id = "{sensor}_{at}", capacity = 10)]
struct Timed {
    sensor: i64,
    at: DateTime,
    value: f64,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "numbered", id = "{sensor}_{#}", capacity = 10)]
struct Numbered {
    sensor: i64,
    at: DateTime,
    value: f64,
}

fn full_bucket(id: String) -> Document {
    let items = vec![doc! { "at": DateTime::from_millis(0), "value": 0.0 }; CAPACITY as usize];
    doc! { "_id": id, "sensor": 5_i64, "count": CAPACITY as i32, "items": items }
}

/// The stage with this name, anywhere in the plan.
fn stage<'p>(plan: &'p Document, name: &str) -> Option<&'p Document> {
    if plan.get_str("stage").ok() == Some(name) {
        return Some(plan);
    }
    stage(plan.get_document("inputStage").ok()?, name)
}

fn stats(explained: &Document) -> &Document {
    explained.get_document("executionStats").unwrap()
}

#[bucket_testkit::test]
async fn an_append_examines_one_key_and_one_document_however_long_the_history(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let timed = Timed::buckets(&db).await.unwrap();
    let numbered = Numbered::buckets(&db).await.unwrap();
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
            let at = DateTime::from_millis(1_000_000_000_000);
            timed
                .append(&Timed {
                    sensor: 5,
                    at,
                    value: 1.0,
                })
                .await
                .unwrap();
            numbered
                .append(&Numbered {
                    sensor: 5,
                    at,
                    value: 1.0,
                })
                .await
                .unwrap();
            for command in record.take() {
                let explained = explain(&db, command.clone()).await;
                let stats = stats(&explained);
                let (keys, documents) = (
                    stats.get("totalKeysExamined"),
                    stats.get("totalDocsExamined"),
                );
                assert!(number(keys) <= 1, "{history}: {command} {stats}");
                assert!(number(documents) <= 1, "{history}: {command} {stats}");
            }
        }
        timed
            .collection()
            .delete_many(doc! { "count": { "$lt": 10 } })
            .await
            .unwrap();
        numbered
            .collection()
            .delete_many(doc! { "count": { "$lt": 10 } })
            .await
            .unwrap();
    }
}

#[bucket_testkit::test]
async fn an_append_is_one_command(Recorded(db, record): Recorded) {
    let timed = Timed::buckets(&db).await.unwrap();
    let numbered = Numbered::buckets(&db).await.unwrap();
    record.take();
    let at = DateTime::from_millis(1_000_000_000_000);
    for _ in 0..CAPACITY {
        timed
            .append(&Timed {
                sensor: 5,
                at,
                value: 1.0,
            })
            .await
            .unwrap();
        assert_eq!(record.names(), ["update"]);
    }
    // The eleventh item of one second: its id is taken.
    timed
        .append(&Timed {
            sensor: 5,
            at,
            value: 1.0,
        })
        .await
        .unwrap();
    assert_eq!(record.names(), ["update", "find", "update"]);
    timed
        .append(&Timed {
            sensor: 5,
            at,
            value: 1.0,
        })
        .await
        .unwrap();
    assert_eq!(record.names(), ["update"]);

    numbered
        .append(&Numbered {
            sensor: 5,
            at,
            value: 1.0,
        })
        .await
        .unwrap();
    assert_eq!(record.names(), ["update", "find", "update"]);
    numbered
        .append(&Numbered {
            sensor: 5,
            at,
            value: 1.0,
        })
        .await
        .unwrap();
    assert_eq!(record.names(), ["update"]);
}

#[bucket_testkit::test]
async fn opening_asks_once_and_makes_the_index_once(Recorded(db, record): Recorded) {
    let _ = Timed::buckets(&db).await.unwrap();
    record.assert_opened(true).await;
    let _ = Timed::buckets(&db).await.unwrap();
    record.assert_opened(false).await;
}

#[bucket_testkit::test]
async fn a_deep_page_fetches_one_document(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let timed = Timed::buckets(&db).await.unwrap();
    let numbered = Numbered::buckets(&db).await.unwrap();
    let new = (0..1000).map(|n| full_bucket(format!("5_{n:010}")));
    timed.collection().insert_many(new.clone()).await.unwrap();
    numbered.collection().insert_many(new).await.unwrap();

    // By skip: the server skips ids before it fetches a document.
    record.take();
    let page = timed.page(&5, 900).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000899");
    let explained = explain(&db, record.take().remove(0)).await;
    assert_eq!(number(stats(&explained).get("totalKeysExamined")), 900);
    assert_eq!(number(stats(&explained).get("totalDocsExamined")), 1);
    let plan = stats(&explained).get_document("executionStages").unwrap();
    let fetch = stage(plan, "FETCH").unwrap();
    assert!(stage(fetch, "SKIP").is_some(), "{plan}");

    // By exact id.
    let page = numbered.page(&5, 900).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000899");
    let explained = explain(&db, record.take().remove(0)).await;
    let plan = stats(&explained).get_document("executionStages").unwrap();
    // Found without a plan; from 8.0 on this has another name.
    let without_plan = ["IDHACK", "EXPRESS_IXSCAN"];
    assert!(
        without_plan.iter().any(|name| stage(plan, name).is_some()),
        "{plan}"
    );
    assert_eq!(number(stats(&explained).get("totalKeysExamined")), 1);
    assert_eq!(number(stats(&explained).get("totalDocsExamined")), 1);

    // The last one.
    let page = timed.latest(&5).await.unwrap().unwrap();
    assert_eq!(page.id(), "5_0000000999");
    let explained = explain(&db, record.take().remove(0)).await;
    assert_eq!(number(stats(&explained).get("totalKeysExamined")), 1);
    assert_eq!(number(stats(&explained).get("totalDocsExamined")), 1);

    // Counting pages reads no document at all.
    assert_eq!(timed.page_count(&5).await.unwrap(), 1000);
    let commands = record.take();
    let explained = db
        .run_command(doc! { "explain": {
            "aggregate": "timed",
            "pipeline": commands[0].get("pipeline").unwrap().clone(),
            "cursor": {},
        }, "verbosity": "executionStats" })
        .await
        .unwrap();
    assert_eq!(examined_by(&explained).documents, 0);
}
