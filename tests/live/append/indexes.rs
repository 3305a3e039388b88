//! The indexes that a struct asks for: opening the collection creates each one, unless an existing
//! index does the same.

use bucket_runtime::{
    Bucket, Outlier, RequiredIndex,
    mongodb::{
        Collection, Database, IndexModel,
        bson::{DateTime, Document, doc},
        options::IndexOptions,
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{Live, Recorded, explain, is_cluster, number};

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

async fn with_index(db: &Database, keys: Document, options: IndexOptions) {
    let index = IndexModel::builder().keys(keys).options(options).build();
    let trades = db.collection::<Document>("trades");
    trades.create_index(index).await.unwrap();
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
}

/// The texts of these indexes.
fn commands<'i>(indexes: impl IntoIterator<Item = &'i RequiredIndex>) -> Vec<String> {
    indexes.into_iter().map(ToString::to_string).collect()
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
        assert!(
            error.is_index_missing() && !error.is_maybe_stored(),
            "{error}"
        );
        assert!(
            error.to_string().ends_with(&commands(indexes).join("; ")),
            "{error}"
        );
        assert_eq!(error.missing_indexes(), commands(indexes));
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
async fn an_index_of_the_users_that_serves_is_taken_and_none_is_ever_dropped(db: Live) {
    let plain = IndexOptions::default;
    with_index(&db, doc! { "customerId": -1, "market": 1 }, plain()).await;
    let partial = IndexOptions::builder()
        .name("only_large".to_owned())
        .partial_filter_expression(doc! { "count": { "$gte": 5 } })
        .build();
    with_index(&db, doc! { "history.symbol": 1 }, partial).await;

    let trades = Trade::buckets(&db).await.unwrap();
    assert_eq!(
        names(trades.collection()).await,
        [
            "_id_",
            "bucket_open",
            "customerId_-1_market_1",
            "history.symbol_1",
            "only_large",
        ]
    );
}

#[bucket_testkit::test]
async fn an_index_with_the_name_of_ours_that_lacks_documents_is_refused(db: Live) {
    let sparse = IndexOptions::builder().sparse(true).build();
    with_index(&db, doc! { "history.symbol": 1 }, sparse).await;
    let error = Trade::buckets(&db).await.unwrap_err();
    assert!(error.is_index_conflict(), "{error}");
    let text = error.to_string();
    assert!(text.contains("`history.symbol_1`"), "{text}");
    assert!(text.contains("sparse"), "{text}");

    let trades = db.collection::<Document>("trades");
    trades.drop_index("history.symbol_1").await.unwrap();
    Trade::buckets(&db).await.unwrap();
}

#[bucket_testkit::test]
async fn the_indexes_of_parents_are_made_and_used(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let books = Book::outliers(&db).await.unwrap();
    let all = ["_id_", "author_1", "buyers_1"];
    assert_eq!(names(books.collection()).await, all);
    for id in 0..100 {
        let book = Book {
            id,
            author: format!("author {}", id % 10),
            buyers: vec![format!("user {id}")],
        };
        books.insert(&book).await.unwrap();
    }

    record.take();
    let of_author = books
        .find(Book::FIELDS.author.eq("author 3"))
        .await
        .unwrap();
    assert_eq!(of_author.try_collect::<Vec<_>>().await.unwrap().len(), 10);
    let explained = explain(&db, record.take().remove(0)).await;
    let stats = explained.get_document("executionStats").unwrap();
    assert_eq!(number(stats.get("totalDocsExamined")), 10);

    Book::outliers(&db).await.unwrap();
    assert!(!record.names().contains(&"createIndexes".to_owned()));
}
