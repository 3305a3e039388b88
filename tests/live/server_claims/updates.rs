//! Assumptions of the protocol about the server, one claim per test, with the raw driver alone. A server
//! on which one of them fails is not supported.

use bucket_runtime::mongodb::{
    Collection, Database,
    bson::{Bson, Document, Regex, doc},
    error::Error,
    options::Hint,
};

use super::{create_open_index, is_taken, refusal};
use crate::support::database::{Live, Recorded, documents, explain, is_cluster, number};

async fn guarded(db: &Database) -> Collection<Document> {
    let trades = db.collection("trades");
    create_open_index(&trades, "bucket_open", 10).await.unwrap();
    trades
}

async fn append(trades: &Collection<Document>, id: &str) -> Result<bool, Error> {
    let filter = doc! { "customerId": 123, "sealed": { "$exists": false }, "count": { "$lt": 10 } };
    let update = doc! {
        "$push": { "history": { "qty": 1 } },
        "$inc": { "count": 1 },
        "$setOnInsert": { "_id": id },
    };
    let result = (trades.update_one(filter, update).upsert(true))
        .hint(Hint::Name("bucket_open".to_owned()))
        .await?;
    Ok(result.upserted_id.is_some())
}

#[bucket_testkit::test]
async fn the_upsert_joins_the_open_bucket_and_opens_the_next_one(db: Live) {
    let trades = guarded(&db).await;
    for n in 0..25 {
        let opened = append(&trades, &format!("123_{n:010}")).await.unwrap();
        assert_eq!(opened, n % 10 == 0);
        if n == 0 {
            // The equality on the key becomes a field, as in the manual's documents.
            let first = doc! {
                "_id": "123_0000000000", "customerId": 123, "count": 1, "history": [{ "qty": 1 }],
            };
            assert_eq!(documents(&trades).await, [first]);
        }
    }
    let counts = documents(&trades).await;
    let counts = counts.iter().map(|bucket| number(bucket.get("count")));
    assert_eq!(Vec::from_iter(counts), [10, 10, 5]);

    // With the id of a full bucket no other one is opened.
    for _ in 0..5 {
        assert!(!append(&trades, "").await.unwrap());
    }
    let taken = append(&trades, "123_0000000000").await;
    is_taken(&taken.unwrap_err(), "_id_");
}

#[bucket_testkit::test]
async fn a_second_open_bucket_is_refused_by_the_index(db: Live) {
    let trades = guarded(&db).await;
    append(&trades, "123_0000000000").await.unwrap();
    let second = doc! { "_id": "other", "customerId": 123, "count": 3 };
    is_taken(&trades.insert_one(second).await.unwrap_err(), "bucket_open");

    // A full bucket and a sealed one are not open.
    let full = doc! { "_id": "full", "customerId": 123, "count": 10 };
    trades.insert_one(full).await.unwrap();
    for id in ["sealed 1", "sealed 2"] {
        let sealed = doc! { "_id": id, "customerId": 123, "count": 3, "sealed": id };
        trades.insert_one(sealed).await.unwrap();
    }
    // Numbers are compared by value, whatever their type.
    let double = doc! { "_id": "double", "customerId": 123.0, "count": 3 };
    is_taken(&trades.insert_one(double).await.unwrap_err(), "bucket_open");
}

#[bucket_testkit::test]
async fn a_sealed_bucket_takes_nothing(db: Live) {
    let trades = guarded(&db).await;
    append(&trades, "123_0000000000").await.unwrap();
    let seal = vec![doc! { "$set": { "sealed": "$_id" } }];
    let sealed = trades.update_one(doc! { "_id": "123_0000000000" }, seal);
    assert_eq!(sealed.await.unwrap().modified_count, 1);
    assert!(append(&trades, "123_0000000001").await.unwrap());
    let [sealed, open] = &documents(&trades).await[..] else {
        panic!("two buckets")
    };
    assert_eq!(sealed.get_str("sealed").unwrap(), "123_0000000000");
    assert_eq!(number(sealed.get("count")), 1);
    assert!(!open.contains_key("sealed"));
}

/// This is why the filter says `$exists: false` and not `null`.
#[bucket_testkit::test]
async fn an_equality_with_null_would_be_copied_into_the_new_document(db: Live) {
    let trades = guarded(&db).await;
    let filter = doc! { "_id": "a", "customerId": 1, "sealed": null, "count": { "$lt": 10 } };
    let upsert = trades.update_one(filter, doc! { "$inc": { "count": 1 } });
    upsert.upsert(true).await.unwrap();
    assert_eq!(documents(&trades).await[0].get("sealed"), Some(&Bson::Null));
}

/// This is why `$inc` counts the first item, and not `$setOnInsert`.
#[bucket_testkit::test]
async fn one_field_cannot_be_counted_and_set_on_insert(db: Live) {
    let trades = guarded(&db).await;
    let update = doc! { "$inc": { "count": 1 }, "$setOnInsert": { "count": 1 } };
    let upsert = trades.update_one(doc! { "_id": "a" }, update).upsert(true);
    assert_eq!(refusal(&upsert.await.unwrap_err()).0, 40);
}

/// No bucket is sealed with a text before the empty one. So this upsert always inserts, and does not look
/// at the key's open buckets; the range is not copied into the new document. Both indexes still guard it.
#[bucket_testkit::test]
async fn an_upsert_that_matches_nothing_asks_the_index_for_nothing(db: Live) {
    let trades = guarded(&db).await;
    let filter = |id: &str| {
        doc! { "_id": id, "customerId": 123, "sealed": { "$lt": "" }, "count": { "$lt": 10 } }
    };
    let insert = async |id: &str, items: i32| {
        let update = doc! { "$inc": { "count": items } };
        let hint = Hint::Name("bucket_open".to_owned());
        let upsert = trades.update_one(filter(id), update).upsert(true);
        upsert.hint(hint).await
    };
    insert("123_1", 3).await.unwrap();
    insert("123_2", 10).await.unwrap();
    if !is_cluster().await {
        let update = doc! { "$inc": { "count": 10 } };
        let statement =
            doc! { "q": filter("123_3"), "u": update, "upsert": true, "hint": "bucket_open" };
        let db = trades.client().database(&trades.namespace().db);
        let explained = explain(&db, doc! { "update": "trades", "updates": [statement] }).await;
        let stats = explained.get_document("executionStats").unwrap();
        assert_eq!(number(stats.get("totalDocsExamined")), 0);
        assert!(number(stats.get("totalKeysExamined")) <= 1, "{explained}");
    }
    let inserted = doc! { "_id": "123_1", "customerId": 123, "count": 3 };
    assert_eq!(documents(&trades).await[0], inserted);
    for (id, items, index) in [("123_2", 10, "_id_"), ("123_3", 3, "bucket_open")] {
        is_taken(&insert(id, items).await.unwrap_err(), index);
    }
    trades.drop_index("bucket_open").await.unwrap();
    assert_eq!(refusal(&insert("123_4", 10).await.unwrap_err()).0, 2);
}

#[bucket_testkit::test]
async fn the_index_is_made_once_for_one_capacity_and_not_over_several_open_buckets(db: Live) {
    let trades = guarded(&db).await;
    create_open_index(&trades, "bucket_open", 10).await.unwrap();
    let error = create_open_index(&trades, "bucket_open", 5).await;
    assert_eq!(refusal(&error.unwrap_err()).0, 86);
    trades.drop_index("bucket_open").await.unwrap();
    let open = ["a", "b"].map(|id| doc! { "_id": id, "customerId": 1, "count": 3 });
    trades.insert_many(open).await.unwrap();
    let error = create_open_index(&trades, "bucket_open", 10).await;
    assert_eq!(refusal(&error.unwrap_err()).0, 11000);
}

/// This is why elements are pushed in `$each`: alone, an element could be taken for a modifier.
#[bucket_testkit::test]
async fn an_element_that_looks_like_a_modifier_is_a_value_inside_each(db: Live) {
    let trades = guarded(&db).await;
    let element = doc! { "$each": [1, 2, 3], "$slice": 1 };
    let update = doc! { "$push": { "history": { "$each": [element.clone()] } } };
    let upsert = trades.update_one(doc! { "_id": "a" }, update).upsert(true);
    upsert.await.unwrap();
    let history = documents(&trades).await.remove(0).remove("history");
    assert_eq!(history, Some(Bson::Array(vec![element.into()])));
}

/// The cost of the manual's own upsert, and the reason why the append has an index: the regex walks
/// every full bucket of the key.
#[bucket_testkit::test]
async fn the_manuals_upsert_walks_every_full_bucket(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let trades = db.collection::<Document>("trades");
    let full = |n: i32| doc! { "_id": format!("123_{n:010}"), "customerId": 123, "count": 10 };
    trades.insert_many((0..1000).map(full)).await.unwrap();
    record.take();
    let regex = Regex {
        pattern: "^123_".try_into().unwrap(),
        options: "".try_into().unwrap(),
    };
    let filter = doc! { "_id": regex, "count": { "$lt": 10 } };
    let update = doc! {
        "$inc": { "count": 1 }, "$setOnInsert": { "_id": "123_1698939791", "customerId": 123 },
    };
    let upsert = trades.update_one(filter, update).upsert(true);
    upsert.await.unwrap();
    let opened = trades.delete_one(doc! { "_id": "123_1698939791" });
    assert_eq!(opened.await.unwrap().deleted_count, 1);
    let explained = explain(&db, record.take().remove(0)).await;
    let stats = explained.get_document("executionStats").unwrap();
    assert!(number(stats.get("totalDocsExamined")) >= 1000, "{stats}");
}

/// This is why a bucket's sum can be trusted: the server refuses to exceed 64 bits.
#[bucket_testkit::test]
async fn an_increment_beyond_64_bits_is_refused_and_changes_nothing(db: Live) {
    let sums = db.collection::<Document>("sums");
    let largest = doc! { "_id": 1, "count": 1, "sum": i64::MAX };
    sums.insert_one(&largest).await.unwrap();
    let update = doc! { "$inc": { "count": 1, "sum": 1_i64 } };
    let error = sums.update_one(doc! {}, update).await.unwrap_err();
    let (code, message) = refusal(&error);
    assert_eq!(code, 2);
    assert!(message.contains("Failed to apply $inc"), "{message}");
    assert_eq!(documents(&sums).await, [largest]);
}

/// This is why such sums are computed as decimals: `$sum` silently switches to floats.
#[bucket_testkit::test]
async fn a_sum_beyond_64_bits_is_a_float_and_of_decimals_exact(db: Live) {
    let sums = db.collection::<Document>("sums");
    let two = [doc! { "sum": i64::MAX }, doc! { "sum": i64::MAX }];
    sums.insert_many(two).await.unwrap();
    let group = doc! { "$group": {
        "_id": null,
        "plain": { "$sum": "$sum" },
        "decimal": { "$sum": { "$toDecimal": "$sum" } },
    } };
    let mut found = sums.aggregate([group]).await.unwrap();
    assert!(found.advance().await.unwrap());
    let found = found.deserialize_current().unwrap();
    let plain = found.get_f64("plain").unwrap();
    assert_eq!(plain, 18_446_744_073_709_551_616.0);
    let decimal = found.get("decimal").unwrap();
    assert_eq!(decimal.to_string(), "18446744073709551614");
}
