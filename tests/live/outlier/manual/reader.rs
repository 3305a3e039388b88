//! A reader that follows the manual's page, beside our reads.

use bucket_runtime::{
    Outlier,
    mongodb::bson::{Bson, Document, doc},
};
use futures_util::TryStreamExt;

use crate::{
    outlier::manual::page::{Book, outlier, users},
    support::database::Live,
};

/// The page's own application logic, beside ours: it checks the flag, then pushes to one of the two
/// collections.
#[bucket_testkit::test]
async fn a_reader_by_the_manual_finds_our_values(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&outlier(2222)).await.unwrap();
    let sale = books
        .collection()
        .find_one(doc! { "_id": 2 })
        .await
        .unwrap()
        .unwrap();
    let mut found = sale.get_array("customers_purchased").unwrap().clone();
    assert!(sale.get_bool("has_extras").unwrap());
    let extras = books.extras_collection().find(doc! { "book_id": 2 });
    let extras: Vec<Document> = extras
        .sort(doc! { "_id": 1 })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    for page in extras {
        found.extend(page.get_array("customers_purchased_extra").unwrap().clone());
    }
    assert_eq!(
        found,
        users(0..2222)
            .into_iter()
            .map(Bson::from)
            .collect::<Vec<_>>()
    );
}
