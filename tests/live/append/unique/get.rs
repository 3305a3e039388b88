//! `append_or_get`: of all calls for an identity one stores its item, and the others get that one.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, Document, doc},
};

use crate::support::{
    database::{Live, Recorded, dense_buckets, fresh, items},
    tasks::JoinSet,
};

/// Orders whose other fields may differ from those of another one with their number.
macro_rules! sales {
    ($($name:ident($id:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "sales", id = $id, capacity = 4)]
        struct $name {
            customer: i64,
            at: DateTime,
            #[bucket(unique)]
            number: i64,
            #[bucket(sum)]
            cents: i64,
        }

        impl $name {
            fn new(number: i64, at: i64, cents: i64) -> Self {
                Self { customer: 1, at: DateTime::from_millis(at), number, cents }
            }
        }
    )+};
}

sales! {
    ByMinute("{customer}_{at/1m}")
    Numbered("{customer}_{#}")
}

/// In any bucket, and in another window.
#[bucket_testkit::test]
async fn an_item_that_is_there_comes_back_wherever_it_stands(db: Live) {
    let sales = fresh::<ByMinute>(&db).await;
    for n in 0..22 {
        let sale = ByMinute::new(n, n * 20_000, n);
        assert_eq!(sales.append_or_get(&sale).await.unwrap(), None);
    }
    for n in [21, 20, 19, 7, 0] {
        let other = ByMinute::new(n, 999_000, -1);
        let there = sales.append_or_get(&other).await.unwrap();
        assert_eq!(there, Some(ByMinute::new(n, n * 20_000, n)));
    }
    assert_eq!(items(&sales, &1).await.len(), 22);
    dense_buckets(&sales).await;
}

#[bucket_testkit::test(multi_thread)]
async fn g1_of_calls_at_once_one_stores_and_the_others_get_its_item(db: Live) {
    let sales = fresh::<Numbered>(&db).await;
    let mut calls = JoinSet::new();
    for cents in 0..8 {
        let sales = sales.clone();
        calls.spawn(async move {
            let mut kept = Vec::new();
            for number in 0..30 {
                let mine = Numbered::new(number, 0, cents);
                let there = sales.append_or_get(&mine).await.unwrap();
                kept.push((there.is_none(), there.unwrap_or(mine)));
            }
            kept
        });
    }
    let kept = calls.join_all().await;
    for number in 0..30 {
        let of = Vec::from_iter(kept.iter().map(|kept| &kept[number]));
        assert_eq!(of.iter().filter(|(is_new, _)| *is_new).count(), 1);
        assert!(of.iter().all(|(_, sale)| *sale == of[0].1), "{of:?}");
    }
    assert_eq!(items(&sales, &1).await.len(), 30);
}

/// A removal between the two steps leads back to the append, so each call stores the item or gets one.
#[bucket_testkit::test(multi_thread)]
async fn a_call_beside_removals_stores_or_gets(db: Live) {
    let sales = fresh::<Numbered>(&db).await;
    let sale = Numbered::new(7, 0, 5);
    let mut calls = JoinSet::new();
    for _ in 0..3 {
        let (sales, sale) = (sales.clone(), sale.clone());
        calls.spawn(async move {
            let mut stored = 0;
            for _ in 0..60 {
                match sales.append_or_get(&sale).await.unwrap() {
                    None => stored += 1,
                    Some(there) => assert_eq!(there, sale),
                }
            }
            stored
        });
    }
    calls.spawn({
        let sales = sales.clone();
        async move {
            let mut removed = 0;
            for _ in 0..120 {
                let seven = Numbered::FIELDS.number.eq(7);
                let gone = sales.remove_item(&1, seven).await.unwrap();
                removed -= i64::from(gone.is_some());
            }
            removed
        }
    });
    let left: i64 = calls.join_all().await.into_iter().sum();
    assert_eq!(items(&sales, &1).await.len() as i64, left);
}

#[bucket_testkit::test]
async fn it_takes_one_more_round_trip_if_the_item_is_there(Recorded(db, record): Recorded) {
    let sales = fresh::<Numbered>(&db).await;
    for n in 0..9 {
        sales.append(&Numbered::new(n, 0, n)).await.unwrap();
    }
    record.take();
    let new = sales.append_or_get(&Numbered::new(9, 0, 9)).await.unwrap();
    assert_eq!((new, record.names()), (None, vec!["update".to_owned()]));
    let there = sales.append_or_get(&Numbered::new(3, 0, 0)).await.unwrap();
    assert_eq!(there, Some(Numbered::new(3, 0, 3)));
    assert_eq!(record.names(), ["update", "aggregate", "aggregate"]);
}

#[bucket_testkit::test]
async fn a_transaction_sees_its_own_items(db: Live) {
    let sales = fresh::<Numbered>(&db).await;
    let sale = |cents| Numbered::new(1, 0, cents);
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let (first, other) = (sale(1), sale(2));
    let new = sales.append_or_get(&first).session(&mut session).await;
    assert_eq!(new.unwrap(), None);
    let there = sales.append_or_get(&other).session(&mut session).await;
    assert_eq!(there.unwrap(), Some(first));
    session.abort_transaction().await.unwrap();
    assert_eq!(sales.append_or_get(&other).await.unwrap(), None);
}

#[bucket_testkit::test]
async fn an_item_that_is_there_and_cannot_be_read_is_an_error(db: Live) {
    let sales = fresh::<Numbered>(&db).await;
    let sale = Numbered::new(1, 0, 1);
    sales.append(&sale).await.unwrap();
    let raw = sales.collection().clone_with_type::<Document>();
    let damage = doc! { "$unset": { "items.0.at": 1 } };
    raw.update_one(doc! {}, damage).await.unwrap();
    let error = sales.append_or_get(&sale).await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    assert!(error.to_string().contains("1_0000000000"), "{error}");
}
