//! Whoever leaves this library takes one command, whose result is a flat collection like one that the plain driver filled.

use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Collection,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{Live, fresh};

/// An item, and a flat document of the plain driver. Its buckets keep everything that a bucket can keep.
#[derive(Debug, Clone, PartialEq, Bucket, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "trades",
    id = "{site}/{customer_id}_{date/1h}",
    capacity = 5,
    items = "history",
    expire_after = "24000d"
)]
struct Trade {
    site: String,
    customer_id: i64,
    date: DateTime,
    ticker: String,
    #[bucket(sum, min, max)]
    #[serde(rename = "qty")]
    quantity: i64,
    #[bucket(unique)]
    number: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    venue: Option<String>,
}

/// All documents, without their ids, in an order of the raw driver's.
async fn sorted<T: Send + Sync>(flat: &Collection<T>, sort: Document) -> Vec<Document> {
    let flat = flat.clone_with_type::<Document>();
    let found = flat.find(doc! {}).projection(doc! { "_id": 0 }).sort(sort);
    found.await.unwrap().try_collect().await.unwrap()
}

#[bucket_testkit::test]
async fn leaving_takes_one_command(db: Live) {
    let trades = fresh::<Trade>(&db).await;
    let trade = |n: usize| Trade {
        site: ["Oslo", "Oslo/7", ""][n % 3].into(),
        customer_id: [7, 12, 123][n % 3],
        date: DateTime::from_millis(1_698_335_223_434 + n as i64 * 700_000),
        ticker: ["MDB", "ORCL"][n % 2].into(),
        quantity: n as i64 % 10,
        number: n as i64,
        venue: n.is_multiple_of(5).then(|| "Oslo".to_owned()),
    };
    let history = Vec::from_iter((0..137).map(trade));
    for trade in &history {
        trades.append(trade).await.unwrap();
    }
    // The oracle: the driver stores the vector, one document per trade.
    let plain = db.collection::<Trade>("plain_trades");
    plain.insert_many(&history).await.unwrap();

    let mut leave = Trade::unwind();
    leave.push(doc! { "$out": "flat_trades" });
    trades.collection().aggregate(leave).await.unwrap();

    let flat = db.collection::<Trade>("flat_trades");
    let by_number = || doc! { "number": 1 };
    let expected = sorted(&plain, by_number()).await;
    assert_eq!(sorted(&flat, by_number()).await, expected);
    // The flat documents are read by serde alone.
    let read = flat.find(doc! {}).sort(by_number()).await.unwrap();
    assert_eq!(read.try_collect::<Vec<_>>().await.unwrap(), history);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    extras = "extra_sales",
    reference = "book_id",
    threshold = 5,
    extras_capacity = 10
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    #[outlier(items)]
    customers_purchased: Vec<String>,
}

#[bucket_testkit::test]
async fn leaving_the_outlier_pattern_takes_one_command(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    let mut sold = Vec::new();
    for (id, buyers) in [(1, 0), (2, 37), (3, 5), (4, 6)] {
        let book = Book {
            id,
            title: format!("Book {id}"),
            customers_purchased: (0..buyers).map(|n| format!("user{n:02}")).collect(),
        };
        books.insert(&book).await.unwrap();
        let buyers = book.customers_purchased.into_iter();
        sold.extend(buyers.map(|buyer| doc! { "book_id": Bson::Int64(id), "buyer": buyer }));
    }

    let extras = [doc! { "$project": { "book_id": 1, "buyer": "$customers_purchased_extra" } }];
    let leave = [
        doc! { "$project": { "book_id": "$_id", "buyer": "$customers_purchased" } },
        doc! { "$unionWith": { "coll": "extra_sales", "pipeline": extras.to_vec() } },
        doc! { "$unwind": "$buyer" },
        doc! { "$project": { "_id": 0 } },
        doc! { "$out": "flat_sales" },
    ];
    books.collection().aggregate(leave).await.unwrap();

    let flat = db.collection::<Document>("flat_sales");
    let in_order = doc! { "book_id": 1, "buyer": 1 };
    assert_eq!(sorted(&flat, in_order).await, sold);
}
