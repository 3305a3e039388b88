//! The manual's page "Group Data with the Bucket Pattern": its documents load, its commands work on our
//! collection beside our own calls, and our documents look like those of the page.

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{
        Collection,
        bson::{Bson, DateTime, Document, Regex, doc},
        error::Error,
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{Live, dense_buckets, documents, ids, items, number};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Buy,
    Sell,
}

/// The fields in the order of the manual's elements.
#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "trades",
    id = "{customer_id}_{date}",
    capacity = 10,
    items = "history"
)]
pub(crate) struct Trade {
    customer_id: i64,
    #[serde(rename = "type")]
    side: Side,
    ticker: String,
    #[serde(rename = "qty", alias = "quantity")]
    quantity: i32,
    date: DateTime,
}

pub(crate) fn trade(
    customer_id: i64,
    side: Side,
    ticker: &str,
    quantity: i32,
    millis: i64,
) -> Trade {
    let date = DateTime::from_millis(millis);
    Trade {
        customer_id,
        side,
        ticker: ticker.into(),
        quantity,
        date,
    }
}

/// The dates on the page. Its ids were made in the zone UTC-4, so they are four hours later.
const OCT_26: i64 = 1_698_335_223_434;
const OCT_30: i64 = 1_698_658_377_765;
const OCT_31: i64 = 1_698_750_962_120;
pub(crate) const NOV_2: i64 = 1_698_925_390_000;

fn manual_trades() -> [Trade; 3] {
    [
        trade(123, Side::Buy, "MDB", 419, OCT_26),
        trade(123, Side::Sell, "MDB", 29, OCT_30),
        trade(456, Side::Buy, "GOOG", 50, OCT_31),
    ]
}

/// The two documents as the page inserts them: one says `qty`, the other `quantity`, and the shell
/// stores the numbers as 32 bits.
fn manual_documents() -> [Document; 2] {
    let date = DateTime::from_millis;
    [
        doc! { "_id": "123_1698349623", "customerId": 123, "count": 2, "history": [
            { "type": "buy", "ticker": "MDB", "qty": 419, "date": date(OCT_26) },
            { "type": "sell", "ticker": "MDB", "qty": 29, "date": date(OCT_30) },
        ] },
        doc! { "_id": "456_1698765362", "customerId": 456, "count": 1, "history": [
            { "type": "buy", "ticker": "GOOG", "quantity": 50, "date": date(OCT_31) },
        ] },
    ]
}

fn of_customer_123() -> Regex {
    Regex {
        pattern: "^123_".try_into().unwrap(),
        options: "".try_into().unwrap(),
    }
}

/// The page's query for one page.
async fn manual_page(trades: &Collection<Document>, number: u64) -> Option<Document> {
    let found = trades.find(doc! { "_id": of_customer_123() });
    let found = found.sort(doc! { "_id": 1 });
    let found = found.skip(number - 1).limit(1).await.unwrap();
    found.try_collect::<Vec<_>>().await.unwrap().pop()
}

/// The page's upsert. Returns whether it opened a bucket.
pub(crate) async fn manual_upsert(
    trades: &Collection<Document>,
    id: &str,
    qty: i32,
) -> Result<bool, Error> {
    let element =
        doc! { "type": "buy", "ticker": "MSFT", "qty": qty, "date": DateTime::from_millis(NOV_2) };
    let update = doc! {
        "$push": { "history": element },
        "$inc": { "count": 1 },
        "$setOnInsert": { "_id": id, "customerId": 123 },
    };
    let filter = doc! { "_id": of_customer_123(), "count": { "$lt": 10 } };
    let upsert = trades.update_one(filter, update).upsert(true);
    Ok(upsert.await?.upserted_id.is_some())
}

/// The page's result, with our append instead of its upsert.
#[bucket_testkit::test]
async fn the_manuals_documents_load_and_an_append_joins_the_open_bucket(db: Live) {
    let collection = db.collection::<Document>("trades");
    collection.insert_many(manual_documents()).await.unwrap();
    // The collection is older than the index.
    let trades = Trade::buckets(&db).await.unwrap();
    let [bought, sold, other] = manual_trades();
    let page = trades.page(&123, 1).await.unwrap().unwrap();
    assert_eq!(page.items, [bought, sold]);
    assert_eq!(page.id(), "123_1698349623");
    assert_eq!(items(&trades, &456).await, [other]);
    assert_eq!(trades.count(&123).await.unwrap(), 2);
    assert_eq!(trades.page(&123, 2).await.unwrap(), None);

    let bought = trade(123, Side::Buy, "MSFT", 42, NOV_2);
    trades.append(&bought).await.unwrap();
    let [mut expected, other] = manual_documents();
    expected.insert("count", 3);
    let date = DateTime::from_millis(NOV_2);
    let bought = doc! { "type": "buy", "ticker": "MSFT", "qty": 42, "date": date };
    let history = expected.get_array_mut("history").unwrap();
    history.push(bought.into());
    assert_eq!(documents(&collection).await, [expected, other]);
}

#[bucket_testkit::test]
async fn our_documents_have_the_manuals_shape_and_the_true_epoch_second(db: Live) {
    let trades = Trade::buckets(&db).await.unwrap();
    for trade in manual_trades() {
        trades.append(&trade).await.unwrap();
    }
    let [mut first, mut second] = manual_documents();
    first.extend(doc! { "_id": "123_1698335223", "customerId": 123_i64 });
    let date = DateTime::from_millis(OCT_31);
    let google = doc! { "type": "buy", "ticker": "GOOG", "qty": 50, "date": date };
    second.extend(doc! { "_id": "456_1698750962", "customerId": 456_i64, "history": [google] });
    let stored = documents(trades.collection()).await;
    assert_eq!(stored, [first, second]);
    // Documents are equal in whatever order their fields are.
    let names = ["_id", "customerId", "count", "history"];
    assert!(stored[0].keys().eq(names), "{}", stored[0]);
    let element = stored[0].get_array("history").unwrap()[0].as_document();
    let names = ["type", "ticker", "qty", "date"];
    assert!(element.unwrap().keys().eq(names), "{}", stored[0]);
}

async fn fill(trades: &Buckets<Trade>, customer: i64, items: i32) {
    for n in 0..items {
        let millis = OCT_26 + i64::from(n) * 1000;
        let bought = trade(customer, Side::Buy, "MDB", n, millis);
        trades.append(&bought).await.unwrap();
    }
}

pub(crate) async fn quantities(trades: &Buckets<Trade>) -> Vec<i32> {
    let items = items(trades, &123).await;
    items.iter().map(|trade| trade.quantity).collect()
}

#[bucket_testkit::test]
async fn the_manuals_page_query_finds_our_pages(db: Live) {
    let trades = Trade::buckets(&db).await.unwrap();
    for customer in [12, 123, 1234] {
        fill(&trades, customer, 25).await;
    }
    for n in 1..=3 {
        let theirs = manual_page(trades.collection(), n).await.unwrap();
        let ours = trades.page(&123, n).await.unwrap().unwrap();
        assert_eq!(theirs.get_str("_id").unwrap(), ours.id());
        let quantities = ours.items.iter().map(|trade| i64::from(trade.quantity));
        let quantity = |item: &Bson| number(item.as_document().unwrap().get("qty"));
        let history = theirs.get_array("history").unwrap().iter();
        assert!(history.map(quantity).eq(quantities), "{theirs}");
    }
    assert_eq!(manual_page(trades.collection(), 4).await, None);
}

#[bucket_testkit::test]
async fn the_manuals_upsert_joins_our_open_bucket_and_opens_the_next_one(db: Live) {
    let trades = Trade::buckets(&db).await.unwrap();
    fill(&trades, 12, 3).await;
    fill(&trades, 123, 9).await;
    let collection = trades.collection();
    for (qty, opens) in [(42, false), (43, true)] {
        let upsert = manual_upsert(collection, "123_1698939791", qty);
        assert_eq!(upsert.await.unwrap(), opens);
    }
    let sold = trade(123, Side::Sell, "MDB", 44, NOV_2);
    trades.append(&sold).await.unwrap();

    let expected = ["123_1698335223", "123_1698939791", "12_1698335223"];
    assert_eq!(ids(&trades).await, expected);
    let read = quantities(&trades).await;
    assert_eq!(read, [0, 1, 2, 3, 4, 5, 6, 7, 8, 42, 43, 44]);
    assert_eq!(items(&trades, &12).await.len(), 3, "G4");
    // G2 and G3 across both kinds of writers: a key that the shell stored as 32 bits and we as 64 bits
    // is one key.
    assert_eq!(dense_buckets(&trades).await.values().flatten().count(), 3);
}
