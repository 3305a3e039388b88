//! Edits and removals of items that have an identity: they are found by it, and keep it.

use bucket_runtime::{
    Appended::{AlreadyThere, Stored},
    Bucket,
    mongodb::bson::{DateTime, doc},
};

use crate::support::{
    database::{Live, Recorded, documents, is_cluster},
    plans::examined,
};

macro_rules! orders {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "orders", id = $id, capacity = 3)]
        struct $name {
            customer: i64,
            at: DateTime,
            #[bucket(unique)]
            order: i64,
            #[bucket(max_len = 5)]
            note: String,
        }
    )+};
}

orders! {
    Timed("{customer}_{at}")
    Numbered("{customer}_{#}")
}

fn timed(customer: i64, order: i64) -> Timed {
    let at = DateTime::from_millis(1_698_321_600_000 + order * 1000);
    Timed {
        customer,
        at,
        order,
        note: String::new(),
    }
}

/// The unique index finds the item, however many buckets the key has: the server examines one bucket.
#[bucket_testkit::test]
async fn an_item_is_found_by_its_identity_alone(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let orders = Timed::buckets(&db).await.unwrap();
    let many = (0..1500).map(|order| timed(order % 2, order / 2));
    orders.append_many(many).await.unwrap();
    record.take();
    let of_701 = Timed::FIELDS.order.eq(701);
    let update = orders.update_item(&1, of_701.clone(), |order| order.note = "late".into());
    assert!(update.await.unwrap().is_some());
    orders.remove_item(&1, of_701).await.unwrap().unwrap();
    let examined = examined(&db, &record).await;
    assert_eq!(examined.len(), 4);
    for examined in examined {
        assert!(
            examined.documents <= 1 && examined.keys <= 2,
            "{examined:?}"
        );
    }
}

#[bucket_testkit::test]
async fn an_identity_is_not_changed(db: Live) {
    let orders = Numbered::buckets(&db).await.unwrap();
    let order = |order: i64| Numbered {
        customer: 1,
        at: DateTime::MIN,
        order,
        note: String::new(),
    };
    for n in 0..5 {
        assert_eq!(orders.append(&order(n)).await.unwrap(), Stored);
    }
    let before = documents(orders.collection()).await;
    let third = Numbered::FIELDS.order.eq(3);
    let change = |to: i64| orders.update_item(&1, third.clone(), move |order| order.order = to);
    for to in [4, 9] {
        let error = change(to).await.unwrap_err();
        assert!(error.is_item_moved() && !error.is_maybe_stored(), "{error}");
        assert!(error.to_string().contains("identity"), "{error}");
    }
    let long = |order: &mut Numbered| order.note = "longer".into();
    let error = orders
        .update_item(&1, third.clone(), long)
        .await
        .unwrap_err();
    assert!(error.is_too_long() && !error.is_maybe_stored(), "{error}");
    assert_eq!(documents(orders.collection()).await, before);

    // Other changes are accepted, and a removed item may be added again.
    change(3).await.unwrap().unwrap();
    assert_eq!(orders.append(&order(3)).await.unwrap(), AlreadyThere);
    orders.remove_item(&1, third).await.unwrap().unwrap();
    assert_eq!(orders.append(&order(3)).await.unwrap(), Stored);
    assert_eq!(orders.append(&order(3)).await.unwrap(), AlreadyThere);
    // Identities stay known after two buckets are emptied, the sealed one of which stays.
    for n in 0..5 {
        let gone = orders.remove_item(&1, Numbered::FIELDS.order.eq(n)).await;
        assert_eq!(gone.unwrap(), Some(order(n)));
    }
    let empty = documents(orders.collection()).await;
    assert_eq!(empty.len(), 1, "{empty:?}");
    for n in 0..5 {
        assert_eq!(orders.append(&order(n)).await.unwrap(), Stored);
    }
    let counts = orders
        .collection()
        .distinct("count", doc! {})
        .await
        .unwrap();
    assert_eq!(counts.len(), 3, "{counts:?}");
}
