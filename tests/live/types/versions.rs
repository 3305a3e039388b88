//! Two versions of a struct: items of both are in one bucket, and the newer version reads them all.

use std::convert::Infallible;

use bucket_runtime::{
    Bucket, Filter,
    mongodb::bson::{Binary, DateTime, doc, spec::BinarySubtype},
};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::{
    support::{
        database::{Live, documents, items},
        ops,
    },
    types::round_trip::elements,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "trades", id = "{customer}_{date}", capacity = 10)]
struct Before {
    customer: i64,
    date: DateTime,
    ticker: String,
    qty: i32,
    broker: String,
}

/// `qty` got another name and a wider type, `venue` is new, `broker` is gone.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "trades", id = "{customer}_{date}", capacity = 10)]
struct After {
    customer: i64,
    date: DateTime,
    ticker: String,
    #[serde(alias = "qty")]
    quantity: i64,
    #[serde(default = "unknown")]
    venue: String,
}

fn unknown() -> String {
    "unknown".to_owned()
}

#[bucket_testkit::test]
async fn items_of_two_versions_share_a_bucket_and_the_newer_one_reads_both(db: Live) {
    let date = |n: i64| DateTime::from_millis(n * 1000);
    let old = Before::buckets(&db).await.unwrap();
    let before = |n: i64| Before {
        customer: 1,
        date: date(n),
        ticker: "MDB".to_owned(),
        qty: n as i32,
        broker: "Ada".to_owned(),
    };
    old.append_many((0..3).map(before)).await.unwrap();
    let new = After::buckets(&db).await.unwrap();
    let after = |quantity| After {
        customer: 1,
        date: date(quantity),
        ticker: "MDB".to_owned(),
        quantity,
        venue: ["unknown", "XETRA"][usize::from(quantity >= 3)].to_owned(),
    };
    new.append_many((3..5).map(after)).await.unwrap();
    assert_eq!(documents(new.collection()).await.len(), 1);
    let expected = Vec::from_iter((0..5).map(after));
    assert_eq!(items(&new, &1).await, expected);

    // Conditions know the new name alone, until the items are written anew.
    let large = || After::FIELDS.quantity.gte(0);
    assert_eq!(new.count(&1).filter(large()).await.unwrap(), 2);
    let changed = new.update_all_items(Filter::default(), |_| ());
    assert_eq!(changed.await.unwrap(), 3);
    assert_eq!(new.count(&1).filter(large()).await.unwrap(), 5);
    let stored = documents(new.collection()).await;
    let names = Vec::from_iter(elements(&stored)[0].keys());
    assert_eq!(names, ["date", "ticker", "quantity", "venue"]);
    assert_eq!(items(&new, &1).await, expected);

    // The older version does not know the newer name.
    let read: Result<Vec<Before>, _> = old.items(&1).await.unwrap().try_collect().await;
    assert!(read.unwrap_err().is_deserialize());
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "visits", id = "{patient}_{#}", capacity = 3)]
struct Visit {
    patient: i64,
    code: Binary,
    note: Binary,
}

/// Values that a program encrypts itself are binary values of a subtype.
#[bucket_testkit::test]
async fn g1_encrypted_values_stay_as_they_are(db: Live) {
    let visits = Visit::buckets(&db).await.unwrap();
    let sealed = |n: u8| Binary {
        subtype: BinarySubtype::Encrypted,
        bytes: vec![1, n, 255 - n, n, n],
    };
    let visit = |n: u8| Visit {
        patient: 1,
        code: sealed(n),
        note: sealed(100 + n),
    };
    let all = Vec::from_iter((0..5).map(visit));
    for visit in &all {
        visits.append(visit).await.unwrap();
    }
    assert_eq!(items(&visits, &1).await, all);
    let with_code = Visit::FIELDS.code.eq(sealed(3));
    let found = visits.items(&1).filter(with_code.clone()).await.unwrap();
    assert_eq!(found.try_collect::<Vec<_>>().await.unwrap(), [visit(3)]);
    let changed = visits.update_item(&1, with_code, |visit| visit.note = sealed(9));
    assert_eq!(changed.await.unwrap().unwrap().note, sealed(9));

    let before = documents(visits.collection()).await;
    let lines = ops(&visits).export(&1).await.unwrap();
    let lines: Vec<String> = lines.try_collect().await.unwrap();
    visits.collection().delete_many(doc! {}).await.unwrap();
    let lines = stream::iter(lines).map(Ok::<_, Infallible>);
    assert_eq!(ops(&visits).import(lines).await.unwrap().refused, []);
    assert_eq!(documents(visits.collection()).await, before);
}
