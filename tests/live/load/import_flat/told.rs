//! What an import says of documents that it does not store, and of a source that did not stay as it was.

use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Collection,
        bson::{Bson, DateTime, Document, doc},
    },
};

use super::{Photo, Seconds3, fill, flat, flat_of};
use crate::support::{
    assert_sound,
    database::{Live, Recorded, documents, fresh, items},
    ops,
};

/// Beside all others: a wrong key, a wrong field, no time, a time that no id can hold.
#[bucket_testkit::test]
async fn documents_that_are_no_items_are_listed_and_all_others_imported(db: Live) {
    fill(&db, 300).await;
    let collection = flat_of(&db);
    for (id, field, wrong) in [
        (7, "kilometres", Bson::String("far".to_owned())),
        (77, "bikeId", Bson::String("mine".to_owned())),
        (177, "at", Bson::Null),
        (277, "at", DateTime::from_millis(20_000_000_000_000).into()),
    ] {
        let spoil = doc! { "$set": { field: wrong } };
        let spoiled = collection.update_one(doc! { "_id": id }, spoil).await;
        assert_eq!(spoiled.unwrap().modified_count, 1);
    }
    let buckets = fresh::<Seconds3>(&db).await;
    for is_dry in [true, false] {
        let mut listed = Vec::new();
        let import = ops(&buckets).import_flat(&collection);
        let import = import.skip_unreadable(|error| listed.push(error));
        let done = import.dry_run(is_dry).await.unwrap();
        let stored = if is_dry { 0 } else { 296 };
        assert_eq!((done.found, done.stored, done.unreadable), (300, stored, 4));
        for (id, why) in [
            (7, "far"),
            (77, "bikeId"),
            (177, "DateTime"),
            (277, "digits"),
        ] {
            let named = format!(r#"_id Long("{id}") "#);
            let is_its = |error: &Error| {
                let text = error.to_string();
                error.is_deserialize() && text.contains(&named) && text.contains(why)
            };
            assert!(listed.iter().any(is_its), "{named}: {listed:?}");
        }
        assert_eq!(listed.len(), 4);
        assert_eq!(buckets.count_all().await.unwrap(), stored);
    }
    // Whoever does not list them learns of the first.
    let buckets = fresh::<Seconds3>(&db).await;
    for is_dry in [true, false] {
        let import = ops(&buckets).import_flat(&collection).dry_run(is_dry);
        let error = import.await.unwrap_err();
        assert!(error.is_deserialize(), "{error}");
    }
}

#[bucket_testkit::test]
async fn an_item_that_is_too_large_is_named(db: Live) {
    let photo = |n: i64| {
        let pixels = "#".repeat(if n == 7 { 300_000 } else { 10 });
        doc! { "_id": n, "owner": 1_i64, "n": n, "pixels": pixels }
    };
    flat_of(&db).insert_many((0..20).map(photo)).await.unwrap();
    let photos = fresh::<Photo>(&db).await;
    let error = ops(&photos).import_flat(&flat_of(&db)).await.unwrap_err();
    for said in [r#"_id Long("7") "#, "max_bytes"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    let import = ops(&photos).import_flat(&flat_of(&db));
    let import = import.skip_unreadable(|_| ());
    assert_eq!(import.await.unwrap().stored, 19);
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "orders", id = "{customer}_{#}", capacity = 2)]
struct Order {
    customer: i64,
    #[bucket(unique)]
    order: i64,
}

/// Others of the chunk are written as before: together, in whole buckets.
#[bucket_testkit::test]
async fn a_repeated_identity_is_left_out_of_few_commands(Recorded(db, record): Recorded) {
    let orders = fresh::<Order>(&db).await;
    let row = |(id, order)| doc! { "_id": id, "customer": 1_i64, "order": order };
    // In the first chunk, in the open bucket of the second, and from a chunk before.
    let all = (0..1_000)
        .chain([0])
        .chain(1_000..2_000)
        .chain([1_999, 2_000, 5]);
    let all = Vec::from_iter(all.chain(2_001..5_000));
    let rows = (0_i64..).zip(all.iter().copied()).map(row);
    flat_of(&db).insert_many(rows).await.unwrap();
    record.take();
    let done = ops(&orders).import_flat(&flat_of(&db)).await.unwrap();
    assert_eq!((done.found, done.stored, done.left_out), (5_003, 5_000, 3));
    let sent = record.take();
    let writes = |name: &str| sent.iter().filter(|sent| sent.contains_key(name)).count();
    assert!(writes("insert") + writes("update") < 20, "{sent:?}");
    let found = items(&orders, &1).await;
    assert!(found.iter().map(|order| order.order).eq(0..5_000));
    assert_sound(&orders).await;
}

/// Drops the import behind its first transaction, and waits until that is over.
async fn begin(buckets: &Buckets<Seconds3>, collection: &Collection<Document>) -> u64 {
    let (report, mut reported) = tokio::sync::mpsc::unbounded_channel();
    let import = ops(buckets).import_flat(collection).on_progress(move |at| {
        let _ = report.send(at.stored);
    });
    let begun = async { while reported.recv().await == Some(0) {} };
    tokio::select! {
        biased;
        () = begun => {}
        done = import.into_future() => panic!("it has ended: {done:?}"),
    }
    // A transaction that was dropped goes on.
    let db = &buckets.collection().namespace().db;
    let record = buckets.collection().client().database(db);
    let record = record.collection::<Document>("bucket_progress");
    loop {
        let before = documents(&record).await;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        if documents(&record).await == before {
            return before[0].get_i64("items").unwrap() as u64;
        }
    }
}

#[bucket_testkit::test]
async fn an_import_does_not_go_on_in_a_source_that_changed(db: Live) {
    let rides = (0..10_000).map(|n| flat(n, 1, "Bern", 1_698_321_600_000 + n * 1000));
    flat_of(&db).insert_many(rides).await.unwrap();
    let buckets = fresh::<Seconds3>(&db).await;
    let taken = begin(&buckets, &flat_of(&db)).await;
    assert!((1..10_000).contains(&taken), "{taken}");
    let first = flat_of(&db).find_one_and_delete(doc! { "_id": 0 }).await;
    let first = first.unwrap().unwrap();
    let before = documents(buckets.collection()).await;
    let error = ops(&buckets).import_flat(&flat_of(&db)).await.unwrap_err();
    assert!(error.is_unverified(), "{error}");
    assert_eq!(documents(buckets.collection()).await, before);

    // As it was before, it goes on; and from the beginning in a collection that was emptied.
    flat_of(&db).insert_one(first).await.unwrap();
    buckets.collection().delete_many(doc! {}).await.unwrap();
    let before = ops(&buckets).import_flat(&flat_of(&db)).dry_run(true).await;
    let before = before.unwrap();
    assert_eq!((before.found, before.stored), (10_000, 0));
    let done = ops(&buckets).import_flat(&flat_of(&db)).await.unwrap();
    assert_eq!((done.found, done.stored), (10_000, 10_000));
    assert_eq!(buckets.count_all().await.unwrap(), 10_000);
}
