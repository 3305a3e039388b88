//! The errors of an unreachable server, and of a collection that was not made for buckets.

use bucket_runtime::{
    Bucket,
    mongodb::{
        Client,
        bson::{DateTime, Document, doc},
        error::ErrorKind,
        options::{Collation, CollationStrength},
    },
};
use bucket_testkit::ReplicaSet;

use crate::{
    error::{
        collection::{append, read, refused},
        text::assert_names,
    },
    support::{database::Live, zoo::entries::Seconds10},
};

#[bucket_testkit::test]
async fn several_open_buckets_are_refused_until_all_but_the_newest_are_sealed(db: Live) {
    let unguarded = db.collection::<Document>("entries");
    let bucket = |id: &str, n: i64| {
        let item = doc! { "at": DateTime::from_millis(0), "n": n };
        doc! { "_id": id, "k": "a", "count": 1, "items": [item] }
    };
    let ids = ["a_1698335200", "a_1698335201", "a_1698335202"];
    let buckets = ids.iter().zip(0..).map(|(id, n)| bucket(id, n));
    unguarded.insert_many(buckets).await.unwrap();
    let error = refused::<Seconds10>(&db).await;
    assert!(error.is_several_open(), "{error}");
    let advice = "seals all but the newest";
    assert!(error.to_string().contains(advice), "{error}");

    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
    let filter = doc! { "k": "a", "_id": { "$lt": ids[2] } };
    unguarded.update_many(filter, seal).await.unwrap();
    let entries = Seconds10::buckets(&db).await.unwrap();
    append(&entries, "a", [3, 4]).await.unwrap();
    assert_eq!(read(&entries, "a").await, [0, 1, 2, 3, 4]);
    assert_eq!(entries.latest("a").await.unwrap().unwrap().items.len(), 3);
}

#[bucket_testkit::test]
async fn a_collection_that_takes_different_keys_for_equal_is_refused(db: Live) {
    let collation = Collation::builder()
        .locale("en")
        .strength(CollationStrength::Secondary);
    let create = db.create_collection("entries").collation(collation.build());
    create.await.unwrap();
    let error = refused::<Seconds10>(&db).await;
    assert!(error.is_collation(), "{error}");
    let indexes = db
        .collection::<Document>("entries")
        .list_index_names()
        .await;
    assert_eq!(indexes.unwrap(), ["_id_"]);
}

#[bucket_testkit::test]
async fn a_server_that_is_not_there_is_an_error_of_the_driver_and_none_that_refuses() {
    for host in ["127.0.0.1:1", "no-such-host.invalid:27017"] {
        let uri = format!("mongodb://{host}/?serverSelectionTimeoutMS=200");
        let db = Client::with_uri_str(uri).await.unwrap().database("nowhere");
        let error = refused::<Seconds10>(&db).await;
        assert!(error.driver().is_some(), "{error}");
        assert_names(&error, &["could not be reached"]);
        assert!(!error.to_string().contains("refused the call"), "{error}");
    }
}

/// An item that was never sent was not stored, and the error says so for certain.
#[bucket_testkit::test(multi_thread)]
async fn an_append_that_finds_no_server_is_known_not_to_be_stored() {
    let set = ReplicaSet::start(1).await.unwrap();
    let separator = if set.uri().contains('?') { "&" } else { "/?" };
    let uri = format!("{}{separator}serverSelectionTimeoutMS=2000", set.uri());
    let db = Client::with_uri_str(uri).await.unwrap().database("killed");
    let entries = Seconds10::buckets(&db).await.unwrap();
    append(&entries, "a", [0]).await.unwrap();
    set.primary().await.unwrap().kill().await.unwrap();
    // The first append or two may still be sent over a dying connection.
    for _ in 0..10 {
        let error = append(&entries, "a", [1]).await.unwrap_err();
        assert_eq!(error.collection(), "killed.entries");
        assert_eq!(error.key(), Some("\"a\""));
        if let ErrorKind::ServerSelection { .. } = &*error.driver().unwrap().kind {
            assert!(!error.is_maybe_stored(), "{error}");
            return;
        }
    }
    panic!("the driver still finds a server");
}

#[bucket_testkit::test]
async fn a_view_is_refused(db: Live) {
    let create = db.create_collection("entries").view_on("others".to_owned());
    create.await.unwrap();
    let error = refused::<Seconds10>(&db).await;
    assert!(error.driver().is_some(), "{error}");
}

/// A capped collection deletes old documents by itself; if it accepts items, they must be readable.
#[bucket_testkit::test]
async fn a_capped_collection_is_refused_or_takes_items(db: Live) {
    let create = db.create_collection("entries").capped(true).size(1 << 20);
    create.await.unwrap();
    let mut taken = Vec::new();
    if let Ok(entries) = Seconds10::buckets(&db).await {
        for n in 0..25 {
            match append(&entries, "a", [n]).await {
                Ok(()) => taken.push(n),
                Err(error) => assert!(!error.is_maybe_stored(), "{error}"),
            }
        }
        assert_eq!(read(&entries, "a").await, taken);
    }
}
