//! Parts of items: a read of some fields gives the fields of the same items in the same order, and the server sends no
//! others.

use bucket_runtime::{
    Bucket, Buckets, Part,
    action::Items,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::TryStreamExt;

use crate::{
    support::database::{Live, Recorded, first_batch},
    types::keys::CustomerId,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "trades",
    id = "{exchange}/{customer}_{made_at}",
    capacity = 4
)]
struct Trade {
    exchange: String,
    customer: CustomerId,
    made_at: chrono::DateTime<chrono::Utc>,
    #[serde(rename = "t", alias = "symbol")]
    ticker: String,
    quantity: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(with = "bucket_runtime::bson_date")]
    settled: chrono::DateTime<chrono::Utc>,
    long_text: String,
}

/// A key field, the time, and fields under each kind of attribute.
#[derive(Debug, Clone, PartialEq, Part)]
#[part(of = Trade)]
struct Quote {
    customer: CustomerId,
    made_at: chrono::DateTime<chrono::Utc>,
    ticker: String,
    note: Option<String>,
    tags: Vec<String>,
    settled: chrono::DateTime<chrono::Utc>,
}

/// Only fields of the key: the elements then come without any field.
#[derive(Debug, Clone, PartialEq, Part)]
#[part(of = Trade)]
struct Owner {
    exchange: String,
}

fn moment(n: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_millis(1_700_000_000_000 + n * 1000).unwrap()
}

fn trade(customer: i64, n: i64) -> Trade {
    Trade {
        exchange: "XETRA".to_owned(),
        customer: CustomerId(customer),
        made_at: moment(n),
        ticker: format!("T{}", n % 3),
        quantity: i32::try_from(n).unwrap(),
        note: (n % 2 == 0).then(|| format!("note {n}")),
        tags: (0..n % 3).map(|tag| tag.to_string()).collect(),
        settled: moment(n + 5),
        long_text: "x".repeat(100),
    }
}

fn quote(trade: Trade) -> Quote {
    Quote {
        customer: trade.customer,
        made_at: trade.made_at,
        ticker: trade.ticker,
        note: trade.note,
        tags: trade.tags,
        settled: trade.settled,
    }
}

/// Eleven trades of each of two customers, in buckets of four.
async fn filled(db: &Database) -> Buckets<Trade> {
    let trades = Trade::buckets(db).await.unwrap();
    for n in 0..11 {
        for customer in [1, 2] {
            trades.append(&trade(customer, n)).await.unwrap();
        }
    }
    trades
}

type Read = Items<'static, Trade>;

/// Every kind of read, by whole buckets and by single items.
fn reads(trades: &Buckets<Trade>) -> Vec<Read> {
    let key = CustomerId(1);
    let of_key = || trades.items(("XETRA", &key));
    let large = || Trade::FIELDS.quantity.gte(3);
    vec![
        of_key(),
        of_key().newest_first(),
        of_key().skip(2),
        of_key().skip(6).newest_first(),
        of_key().limit(5),
        of_key().skip(5).limit(3),
        of_key().filter(large()),
        of_key().filter(large()).newest_first().limit(2),
        trades.all_items(),
        trades.all_items().filter(large()).skip(1),
        trades.items(("XETRA", &CustomerId(3))),
    ]
}

#[bucket_testkit::test]
async fn parts_are_the_fields_of_the_items(db: Live) {
    let trades = filled(&db).await;
    let mut all = 0;
    for (whole, parts) in reads(&trades).into_iter().zip(reads(&trades)) {
        let whole: Vec<Trade> = whole.await.unwrap().try_collect().await.unwrap();
        let parts = parts.parts::<Quote>().await.unwrap();
        let parts: Vec<Quote> = parts.try_collect().await.unwrap();
        all += parts.len();
        assert_eq!(parts, Vec::from_iter(whole.into_iter().map(quote)));
    }
    assert!(all > 80, "{all}");
    // The settings mean the same before and after the call that asks for parts.
    let (key, large) = (CustomerId(1), || Trade::FIELDS.quantity.gte(3));
    let of_key = || trades.items(("XETRA", &key));
    let before = of_key().filter(large()).newest_first().skip(2).limit(4);
    let before = before.parts::<Quote>().await.unwrap();
    let before: Vec<Quote> = before.try_collect().await.unwrap();
    assert_eq!(before[0].made_at, moment(8));
    let later = of_key().parts::<Quote>().limit(4).skip(2);
    let later = later.filter(large()).newest_first().await.unwrap();
    assert_eq!(later.try_collect::<Vec<_>>().await.unwrap(), before);
    for owners in reads(&trades).into_iter().take(5) {
        let owners = owners.parts::<Owner>().await.unwrap();
        let owners: Vec<Owner> = owners.try_collect().await.unwrap();
        assert!(!owners.is_empty());
        assert!(owners.iter().all(|owner| owner.exchange == "XETRA"));
    }
}

fn names(document: &Document) -> Vec<&str> {
    let mut names = Vec::from_iter(document.keys().map(String::as_str));
    names.sort_unstable();
    names
}

#[bucket_testkit::test]
async fn the_server_sends_the_fields_of_a_part_and_no_others(Recorded(db, record): Recorded) {
    let trades = filled(&db).await;
    // The last one finds nothing.
    let mut reads = reads(&trades);
    reads.pop();
    for read in reads {
        record.take();
        let quotes = read.parts::<Quote>().await.unwrap();
        quotes.try_collect::<Vec<_>>().await.unwrap();
        let command = record.take().pop().unwrap();
        let rows = first_batch(&db, command).await;
        assert!(!rows.is_empty());
        for row in rows {
            let mut sent = names(&row);
            // Of a single item, the number of elements before it.
            sent.retain(|name| *name != "count");
            assert_eq!(sent, ["_id", "customer", "exchange", "items"]);
            for element in row.get_array("items").unwrap() {
                let element = element.as_document().unwrap();
                let allowed = ["madeAt", "note", "settled", "t", "tags"];
                assert!(names(element).iter().all(|name| allowed.contains(name)));
                assert!(element.contains_key("madeAt"), "{element}");
            }
        }
    }
}

/// Items that another program wrote: an earlier name, and a field that is missing.
#[bucket_testkit::test]
async fn a_part_reads_what_it_names_and_reports_what_is_missing(db: Live) {
    let trades = filled(&db).await;
    let raw = trades.collection().clone_with_type::<Document>();
    let first = doc! { "_id": "XETRA/C%5F1_1700000000", "items.quantity": 0 };
    let former = doc! {
        "$set": { "items.0.symbol": "OLD" },
        "$unset": { "items.0.t": 1, "items.0.longText": 1, "items.1.t": 1 },
    };
    let changed = raw.update_one(first, former).await.unwrap();
    assert_eq!(changed.modified_count, 1);
    let key = CustomerId(1);
    let read = || trades.items(("XETRA", &key));

    let missing = read().parts::<Quote>().await.unwrap();
    let error = missing.try_collect::<Vec<_>>().await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    assert!(error.to_string().contains("items.1"), "{error}");

    for read in [read(), read().limit(20)] {
        let mut skipped = Vec::new();
        let quotes = read.skip_unreadable(|error| skipped.push(error));
        let quotes = quotes.parts::<Quote>().await.unwrap();
        let quotes: Vec<Quote> = quotes.try_collect().await.unwrap();
        assert_eq!(quotes.len(), 10);
        // The whole item lacks its `long_text`, and the part does not need it.
        assert_eq!(quotes[0].ticker, "OLD");
        assert_eq!(skipped.len(), 1);
    }
}
