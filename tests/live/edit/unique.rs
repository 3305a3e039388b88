//! Edits and removals of items that have an identity: they are found by it, and keep it.

use bucket_runtime::{
    Appended::{AlreadyThere, Stored},
    Bucket, Error,
    mongodb::bson::doc,
};

use crate::{
    edit::upsert::{Numbered, Order, Seconds},
    support::{
        assert_refused,
        database::{Live, Recorded, documents, is_cluster},
        plans::{Examined, examined},
    },
};

/// The unique index finds the item, however many buckets the key has: the server examines one bucket.
#[bucket_testkit::test]
async fn an_item_is_found_by_its_identity_alone(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let orders = Seconds::buckets(&db).await.unwrap();
    let many = (0..1500).map(|order| Seconds::new(order % 2, order / 2, 0));
    orders.append_many(many).await.unwrap();
    record.take();
    let late = |order: &mut Seconds| order.note = "late".into();
    let update = orders.update_item(&1, Seconds::is(701), late);
    assert!(update.await.unwrap().is_some());
    let removed = orders.remove_item(&1, Seconds::is(701)).await;
    assert!(removed.unwrap().is_some());
    let examined = examined(&db, &record).await;
    assert_eq!(examined.len(), 4);
    let is_one = |of: &Examined| of.documents <= 1 && of.keys <= 2;
    assert!(examined.iter().all(is_one), "{examined:?}");
}

#[bucket_testkit::test]
async fn an_identity_is_not_changed(db: Live) {
    let orders = Numbered::buckets(&db).await.unwrap();
    let order = |order| Numbered::new(1, order, 0);
    for n in 0..5 {
        assert_eq!(orders.append(&order(n)).await.unwrap(), Stored);
    }
    let before = documents(orders.collection()).await;
    let third = || Numbered::is(3);
    let change = |to: i64| orders.update_item(&1, third(), move |order| order.order = to);
    for to in [4, 9] {
        let error = change(to).await.unwrap_err();
        assert_refused(&error, Error::is_item_moved);
        assert!(error.to_string().contains("identity"), "{error}");
    }
    assert_eq!(documents(orders.collection()).await, before);

    // Other changes are accepted, and a removed item may be added again.
    change(3).await.unwrap().unwrap();
    assert_eq!(orders.append(&order(3)).await.unwrap(), AlreadyThere);
    assert!(orders.remove_item(&1, third()).await.unwrap().is_some());
    assert_eq!(orders.append(&order(3)).await.unwrap(), Stored);
    assert_eq!(orders.append(&order(3)).await.unwrap(), AlreadyThere);
    // Identities stay known after two buckets are emptied, the sealed one of which stays.
    for n in 0..5 {
        let gone = orders.remove_item(&1, Numbered::is(n)).await;
        assert_eq!(gone.unwrap(), Some(order(n)));
    }
    let empty = documents(orders.collection()).await;
    assert_eq!(empty.len(), 1, "{empty:?}");
    for n in 0..5 {
        assert_eq!(orders.append(&order(n)).await.unwrap(), Stored);
    }
    let counts = orders.collection().distinct("count", doc! {}).await;
    assert_eq!(counts.unwrap().len(), 3);
}
