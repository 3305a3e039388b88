//! Migrations that end with an error.

use std::time::Duration;

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket,
    mongodb::bson::{Document, doc},
};

use super::{Trade, Unique, assert_migrated, convert, filled, migrate, old, trade};
use crate::support::database::{Live, documents, number};

#[bucket_testkit::test]
async fn a_changed_item_ends_the_migration_with_an_error(db: Live) {
    let old = filled(&db, 30).await;
    for what in 0..3 {
        let change = async {
            let one = || old::Trade::FIELDS.qty.eq(what);
            let customer = trade(what).customer;
            match what {
                0 => {
                    let change = old.update_item(&customer, one(), |trade| trade.qty = 99);
                    drop(change.await.unwrap());
                }
                1 => drop(old.remove_item(&customer, one()).await.unwrap()),
                _ => drop(old.remove_key(&customer).await.unwrap()),
            }
        };
        let migration = Ops::<Trade>::of(&db).migrate_from(convert).until(async {
            change.await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
        let error = migration.await.unwrap_err();
        assert!(error.is_migrated_item_changed(), "{error}");
        let id = format!("{}_0000000000", trade(what).customer);
        assert!(error.to_string().contains(&id), "{error}");
        // The migration stays done until the new collection is dropped.
        let error = migrate(&db, convert).await.unwrap_err();
        assert!(error.is_migrated_item_changed(), "{error}");
        db.collection::<Document>("trades").drop().await.unwrap();
    }
    let left = old.count_all().await.unwrap();
    assert_eq!(migrate(&db, convert).await.unwrap(), left);
}

/// Once more, a migration compares what is there; and it never advises to remove what has been migrated.
#[bucket_testkit::test]
async fn a_migration_that_has_ended_says_so(db: Live) {
    filled(&db, 30).await;
    assert_eq!(migrate(&db, convert).await.unwrap(), 30);
    let before = documents(&db.collection::<Document>("trades")).await;
    let mut reports = Vec::new();
    let again = Ops::<Trade>::of(&db)
        .migrate_from(convert)
        .on_progress(|at| reports.push(at));
    assert_eq!(again.await.unwrap(), 30);
    let [at] = &reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!((at.found, at.stored, at.is_following), (30, 30, true));

    // As many items, but other ones; then one more.
    let other = |old: old::Trade| Trade {
        quantity: 7,
        ..convert(old)
    };
    let error = migrate(&db, other).await.unwrap_err();
    assert!(error.is_key_taken(), "{error}");
    let trades = db.collection::<Document>("trades");
    assert_eq!(documents(&trades).await, before);
    let trades = Trade::buckets(&db).await.unwrap();
    trades.append(&convert(trade(100))).await.unwrap();
    let error = migrate(&db, convert).await.unwrap_err();
    assert!(error.is_key_taken(), "{error}");
    assert!(
        error.to_string().contains("nothing is left to do"),
        "{error}"
    );
}

#[bucket_testkit::test]
async fn a_foreign_writer_to_the_new_collection_is_found(db: Live) {
    filled(&db, 30).await;
    let trades = Trade::buckets(&db).await.unwrap();
    trades.append(&convert(trade(100))).await.unwrap();
    let error = migrate(&db, convert).await.unwrap_err();
    assert!(error.is_key_taken(), "{error}");
    trades.remove_key("MDB").await.unwrap();

    // As many items as before, but one with another value.
    let changed = async {
        let one = Trade::FIELDS.quantity.eq(4);
        let change = trades.update_item("MDB", one, |trade| trade.quantity = 5);
        change.await.unwrap();
    };
    let migration = Ops::<Trade>::of(&db).migrate_from(convert).until(changed);
    let error = migration.await.unwrap_err();
    assert!(error.is_unverified(), "{error}");
    let one = Trade::FIELDS.quantity.eq(5);
    let back = trades.update_item("MDB", one, |trade| trade.quantity = 4);
    back.await.unwrap();
    assert_eq!(migrate(&db, convert).await.unwrap(), 30);
    assert_migrated(&db, 30, false).await;
}

#[bucket_testkit::test]
async fn items_that_cannot_move_are_named(db: Live) {
    let old = filled(&db, 30).await;
    let numbered = |customer, n| Unique { customer, n };
    let unique = move |old: old::Trade| numbered(old.customer, old.qty % 11);
    let error = migrate(&db, unique).await.unwrap_err();
    assert!(error.is_not_unique(), "{error}");
    let moved = db.collection::<Document>("unique_trades");
    assert_eq!(documents(&moved).await, []);
    let unique = move |old: old::Trade| numbered(old.customer, old.qty);
    assert_eq!(migrate(&db, unique).await.unwrap(), 30);

    let buckets = old.collection();
    let wrong = doc! { "$set": { "items.1.qty": "many" } };
    let first = doc! { "_id": "0_0000000000" };
    buckets.update_one(first.clone(), wrong).await.unwrap();
    let error = migrate(&db, convert).await.unwrap_err();
    let is_named = error.to_string().contains("0_0000000000");
    assert!(error.is_deserialize() && is_named, "{error}");
    let right = doc! { "$set": { "items.1.qty": trade(11).qty } };
    buckets.update_one(first, right).await.unwrap();
    assert_eq!(migrate(&db, convert).await.unwrap(), 30);
    assert_migrated(&db, 30, false).await;
    let bucket = documents(buckets).await;
    assert_eq!(number(bucket[0].get("count")), 3);
}
