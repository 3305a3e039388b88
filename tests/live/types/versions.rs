//! Two versions of a struct: items of both are in one bucket, and the newer version reads them all.

use bucket_runtime::{
    Bucket, Filter,
    mongodb::bson::{Binary, DateTime, Document, doc, spec::BinarySubtype},
};
use futures_util::TryStreamExt;

use crate::support::{
    database::{Live, documents, items},
    ops,
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

fn before(n: i64) -> Before {
    Before {
        customer: 1,
        date: DateTime::from_millis(n * 1000),
        ticker: "MDB".to_owned(),
        qty: n as i32,
        broker: "Ada".to_owned(),
    }
}

fn after(n: i64, venue: &str) -> After {
    After {
        customer: 1,
        date: DateTime::from_millis(n * 1000),
        ticker: "MDB".to_owned(),
        quantity: n,
        venue: venue.to_owned(),
    }
}

#[bucket_testkit::test]
async fn items_of_two_versions_share_a_bucket_and_the_newer_one_reads_both(db: Live) {
    let old = Before::buckets(&db).await.unwrap();
    for n in 0..3 {
        old.append(&before(n)).await.unwrap();
    }
    let new = After::buckets(&db).await.unwrap();
    for n in 3..5 {
        new.append(&after(n, "XETRA")).await.unwrap();
    }
    assert_eq!(documents(new.collection()).await.len(), 1);
    let venue = |n| if n < 3 { "unknown" } else { "XETRA" };
    let expected: Vec<_> = (0..5).map(|n| after(n, venue(n))).collect();
    assert_eq!(items(&new, &1).await, expected);
    assert_eq!(new.page(&1, 1).await.unwrap().unwrap().items, expected);

    // Conditions know the new name alone, until the items are written anew.
    let large = || After::FIELDS.quantity.gte(0);
    assert_eq!(new.count(&1).filter(large()).await.unwrap(), 2);
    let changed = new
        .update_all_items(Filter::default(), |_| ())
        .await
        .unwrap();
    assert_eq!(changed, 3);
    assert_eq!(new.count(&1).filter(large()).await.unwrap(), 5);
    let stored: Document = documents(new.collection()).await.remove(0);
    let first = stored.get_array("items").unwrap()[0].as_document().unwrap();
    let names: Vec<_> = first.keys().collect();
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
    for n in 0..5 {
        visits.append(&visit(n)).await.unwrap();
    }
    let all: Vec<_> = (0..5).map(visit).collect();
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
    let lines = futures_util::stream::iter(lines.into_iter().map(Ok::<_, std::io::Error>));
    let imported = ops(&visits).import(lines).await.unwrap();
    assert_eq!(imported.refused, []);
    assert_eq!(documents(visits.collection()).await, before);
}
