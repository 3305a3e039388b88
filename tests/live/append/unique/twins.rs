//! Two items with one `unique` value in a bucket, which only an unguarded writer can store.

use std::slice;

use bucket_ops::{Ops, ProblemKind};
use bucket_runtime::mongodb::{
    Database,
    bson::{DateTime, doc},
};

use crate::support::problems::{assert_found, expected};
use crate::{
    append::unique::repeats::{CUSTOMERS, Numbered7, Order, Seconds7, Windows7, order},
    support::database::Live,
};

/// The index catches twins in two buckets, but not twins in one.
async fn twins<T: Order>(db: &Database) {
    db.drop().await.unwrap();
    T::create_collection(db).await.unwrap();
    let orders = T::buckets(db).await.unwrap();
    for n in 0..3 {
        orders.append(&order(n * CUSTOMERS)).await.unwrap();
    }
    let item = doc! { "at": DateTime::from_millis(1_698_321_600_000), "order": "order 3" };
    let push = doc! { "$push": { "items": item }, "$inc": { "count": 1 } };
    let buckets = orders.collection();
    let refused = buckets.update_one(doc! {}, push.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("121"), "{refused}");
    assert_eq!(Ops::<T>::of(db).verify().await.unwrap().problems, []);

    let off = doc! { "collMod": "orders", "validationLevel": "off" };
    db.run_command(off).await.unwrap();
    buckets.update_one(doc! {}, push).await.unwrap();
    let bucket = buckets.find_one(doc! {}).await.unwrap().unwrap();
    let bucket = bucket.get("_id").unwrap().clone();
    let text = "in the `unique` field `order`; `remove_item` removes one";
    let problem = expected(ProblemKind::Twins, [bucket], "0", text);
    let problem = slice::from_ref(&problem);
    assert_found(&Ops::<T>::of(db).repair().await.unwrap().left, problem);
    assert_found(&Ops::<T>::of(db).verify().await.unwrap().problems, problem);
    let removed = orders
        .remove_item(&0, T::order_is("order 3"))
        .await
        .unwrap();
    assert!(removed.is_some());
    assert_eq!(Ops::<T>::of(db).verify().await.unwrap().problems, []);
    assert_eq!(orders.count(&0).await.unwrap(), 3);
}

#[bucket_testkit::test]
async fn twins_in_a_bucket_are_refused_by_the_validator_and_listed(db: Live) {
    twins::<Seconds7>(&db).await;
    twins::<Numbered7>(&db).await;
    twins::<Windows7>(&db).await;
}
