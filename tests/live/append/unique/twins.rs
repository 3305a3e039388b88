//! Two items with one `unique` value in a bucket, which only an unguarded writer can store.

use bucket_ops::ProblemKind;
use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, doc},
};

use crate::{
    append::unique::repeats::{CUSTOMERS, Windows7, order},
    support::{
        assert_sound,
        database::{Live, documents},
        ops,
        problems::{assert_found, expected},
    },
};

/// The index catches twins in two buckets, but not twins in one.
#[bucket_testkit::test]
async fn twins_in_a_bucket_are_refused_by_the_validator_and_listed(db: Live) {
    Windows7::create_collection(&db).await.unwrap();
    let orders = Windows7::buckets(&db).await.unwrap();
    for n in 0..3 {
        orders.append(&order(n * CUSTOMERS)).await.unwrap();
    }
    let item = doc! { "at": DateTime::from_millis(1_698_321_600_000), "order": "order 3" };
    let push = doc! { "$push": { "items": item }, "$inc": { "count": 1 } };
    let buckets = orders.collection();
    let refused = buckets.update_one(doc! {}, push.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("121"), "{refused}");
    assert_sound(&orders).await;

    let off = doc! { "collMod": "orders", "validationLevel": "off" };
    db.run_command(off).await.unwrap();
    buckets.update_one(doc! {}, push).await.unwrap();
    let bucket = documents(buckets).await.remove(0).remove("_id").unwrap();
    let text = "in the `unique` field `order`; `remove_item` removes one";
    let problem = [expected(ProblemKind::Twins, [bucket], "0", text)];
    assert_found(&ops(&orders).repair().await.unwrap().left, &problem);
    assert_found(&ops(&orders).verify().await.unwrap().problems, &problem);
    let third = Windows7::FIELDS.order.eq("order 3");
    assert!(orders.remove_item(&0, third).await.unwrap().is_some());
    assert_sound(&orders).await;
    assert_eq!(orders.count(&0).await.unwrap(), 3);
}
