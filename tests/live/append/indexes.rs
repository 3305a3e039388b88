//! The indexes that a struct asks for: opening the collection creates each one, unless an existing
//! index does the same.

use bucket_runtime::{
    Bucket, Error, Outlier,
    mongodb::{
        Collection, IndexModel,
        bson::{DateTime, Document, doc},
        options::IndexOptions,
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    assert_refused,
    database::{Live, Recorded, explain, is_cluster},
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(
    collection = "trades",
    id = "{market}/{customer_id}_{date}",
    capacity = 10,
    items = "history"
)]
struct Trade {
    market: String,
    #[bucket(index)]
    customer_id: i64,
    date: DateTime,
    #[bucket(index)]
    #[serde(rename = "symbol")]
    ticker: String,
    quantity: i32,
}

impl Trade {
    fn new(n: i64) -> Self {
        Self {
            market: "NYSE".into(),
            customer_id: n % 7,
            date: DateTime::from_millis(1_698_335_223_434 + n),
            ticker: format!("T{}", n % 50),
            quantity: 1,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "sales", reference = "book_id", threshold = 3)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(index)]
    author: String,
    #[outlier(items, index)]
    buyers: Vec<String>,
}

async fn names<T: Send + Sync>(collection: &Collection<T>) -> Vec<String> {
    let mut names = collection.list_index_names().await.unwrap();
    // A hashed index shards the tests' cluster.
    names.retain(|name| !name.ends_with("_hashed"));
    names.sort();
    names
}

#[bucket_testkit::test]
async fn all_indexes_are_made_by_one_command_and_found_by_the_next_opening(
    Recorded(db, record): Recorded,
) {
    let trades = Trade::buckets(&db).await.unwrap();
    record.assert_opened(true).await;
    let all = ["_id_", "bucket_open", "customerId_1", "history.symbol_1"];
    assert_eq!(names(trades.collection()).await, all);

    record.take();
    Trade::buckets(&db).await.unwrap();
    record.assert_opened(false).await;

    let books = Book::outliers(&db).await.unwrap();
    let all = ["_id_", "author_1", "buyers_1"];
    assert_eq!(names(books.collection()).await, all);
}

#[bucket_testkit::test]
async fn indexes_that_somebody_else_is_to_make_are_named_and_not_made(
    Recorded(db, record): Recorded,
) {
    let missing = [Trade::indexes(), Book::indexes()];
    let opened = async || {
        let trades = Trade::buckets(&db).create_indexes(false).await;
        let books = Book::outliers(&db).create_indexes(false).await;
        [trades.err(), books.err()]
    };
    for (error, indexes) in opened().await.iter().zip(&missing) {
        let error = error.as_ref().unwrap();
        assert_refused(error, Error::is_index_missing);
        let commands = Vec::from_iter(indexes.iter().map(ToString::to_string));
        let text = error.to_string();
        assert!(text.ends_with(&commands.join("; ")), "{text}");
        assert_eq!(error.missing_indexes(), commands);
    }
    assert_eq!(db.list_collection_names().await.unwrap(), [""; 0]);

    // Made by somebody else, all but the last of each.
    for indexes in &missing {
        for index in &indexes[..indexes.len() - 1] {
            let collection = db.collection::<Document>(&index.collection);
            collection.create_index(index.model.clone()).await.unwrap();
        }
    }
    for (error, indexes) in opened().await.iter().zip(&missing) {
        let text = error.as_ref().unwrap().to_string();
        let last = indexes.last().unwrap();
        assert!(text.contains(&last.to_string()), "{text}");
        assert_eq!(text.matches("createIndex(").count(), 1, "{text}");
        let collection = db.collection::<Document>(&last.collection);
        collection.create_index(last.model.clone()).await.unwrap();
    }
    record.take();
    assert!(opened().await.iter().all(Option::is_none));
    assert!(!record.names().contains(&"createIndexes".to_owned()));
    Trade::buckets(&db).await.unwrap();
    Book::outliers(&db).await.unwrap();
    let is_sent = record.names().contains(&"createIndexes".to_owned());
    assert_eq!(is_sent, is_cluster().await);
}

#[bucket_testkit::test]
async fn a_filter_on_an_indexed_field_visits_the_buckets_with_a_match_only(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let trades = Trade::buckets(&db).await.unwrap();
    trades.append_many((0..1000).map(Trade::new)).await.unwrap();

    record.take();
    let rare = trades.all_items().filter(Trade::FIELDS.ticker.eq("T7"));
    let found: Vec<Trade> = rare.await.unwrap().try_collect().await.unwrap();
    assert_eq!(found.len(), 20);
    let command = record.take().remove(0);
    let plan = explain(&db, command).await.to_string();
    assert!(plan.contains("history.symbol_1"), "{plan}");
    assert!(!plan.contains("COLLSCAN"), "{plan}");
}

#[bucket_testkit::test]
async fn an_index_with_the_name_of_ours_that_lacks_documents_is_refused(db: Live) {
    let sparse = IndexOptions::builder().sparse(true).build();
    let index = IndexModel::builder().keys(doc! { "history.symbol": 1 });
    let index = index.options(sparse).build();
    let trades = db.collection::<Document>("trades");
    trades.create_index(index).await.unwrap();
    let error = Trade::buckets(&db).await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
    for said in ["`history.symbol_1`", "sparse"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    trades.drop_index("history.symbol_1").await.unwrap();
    Trade::buckets(&db).await.unwrap();
}
