//! The manual's page on the outlier pattern: once they are taken over, its documents accept pushes and removals, and
//! our documents look like those of the page.

use bucket_ops::{OutlierOps, ProblemKind};
use bucket_runtime::{
    Outlier, Outliers,
    mongodb::{
        Collection, Database, IndexModel,
        bson::{Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::{
    outlier::support::{items, remove, verify},
    support::database::{Live, documents},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    extras = "extra_sales",
    reference = "book_id",
    threshold = 50
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    year: i32,
    author: String,
    #[outlier(items)]
    customers_purchased: Vec<String>,
}

fn users(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|n| format!("user{n:02}")).collect()
}

fn typical() -> Book {
    Book {
        id: 1,
        title: "Invisible Cities".into(),
        year: 1972,
        author: "Italo Calvino".into(),
        customers_purchased: users(0..3),
    }
}

fn outlier(buyers: u32) -> Book {
    Book {
        id: 2,
        title: "The Wooden Amulet".into(),
        year: 2023,
        author: "Lesley Moreno".into(),
        customers_purchased: users(0..buyers),
    }
}

/// The documents as the page inserts them; the shell stores these numbers as 32 bits.
fn manual_documents() -> [Document; 2] {
    [
        doc! {
            "_id": 1, "title": "Invisible Cities", "year": 1972, "author": "Italo Calvino",
            "customers_purchased": users(0..3),
        },
        doc! {
            "_id": 2, "title": "The Wooden Amulet", "year": 2023, "author": "Lesley Moreno",
            "customers_purchased": users(0..50), "has_extras": true,
        },
    ]
}

/// The page's own two collections, taken over by this library.
async fn opened(db: &Database) -> Outliers<Book> {
    let sales: Collection<Document> = db.collection("sales");
    sales.insert_many(manual_documents()).await.unwrap();
    let extras: Collection<Document> = db.collection("extra_sales");
    let manual = doc! { "book_id": 2, "customers_purchased_extra": users(50..1000) };
    extras.insert_one(manual).await.unwrap();
    let index = IndexModel::builder().keys(doc! { "book_id": 1 }).build();
    extras.create_index(index).await.unwrap();
    let repaired = OutlierOps::<Book>::of(db).repair().await.unwrap();
    assert_eq!(repaired.repaired, [(ProblemKind::ForeignId, 1)].into());
    assert_eq!(repaired.left, []);
    Book::outliers(db).await.unwrap()
}

#[bucket_testkit::test]
async fn the_manuals_documents_load(db: Live) {
    let books = opened(&db).await;
    let found = books.get(&1).await.unwrap().unwrap();
    assert_eq!((found.document, found.has_extras), (typical(), false));
    let found = books.get(&2).await.unwrap().unwrap();
    assert_eq!((found.document, found.has_extras), (outlier(50), true));
    assert_eq!(books.get_all(&1).await.unwrap(), Some(typical()));
    assert_eq!(books.get_all(&2).await.unwrap(), Some(outlier(1000)));
    assert_eq!(items(&books, 1).await, users(0..3));
    assert_eq!(items(&books, 2).await, users(0..1000));
    assert_eq!(books.count(&1).await.unwrap(), 3);
    assert_eq!(books.count(&2).await.unwrap(), 1000);
    let pages: Vec<_> = books.extras(&2).await.unwrap().try_collect().await.unwrap();
    assert_eq!(pages.len(), 1);
    assert_eq!(pages[0].id, "2_-9999999999");
    assert_eq!(pages[0].items, users(50..1000));
    let found = books.find(doc! {}).sort(doc! { "_id": 1 });
    let found: Vec<_> = found.await.unwrap().try_collect().await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].document, outlier(50));
    assert_eq!(verify(&books).await.unwrap(), []);
    assert_eq!(
        (books.get(&3).await.unwrap(), books.count(&3).await.unwrap()),
        (None, 0)
    );
}

#[bucket_testkit::test]
async fn the_manuals_documents_take_pushes_and_removals(db: Live) {
    let books = opened(&db).await;
    for n in 3..53 {
        books.push(&1, format!("user{n:02}")).await.unwrap();
    }
    books.push(&2, "user1000").await.unwrap();
    books.push_many(&2, users(1001..3100)).await.unwrap();
    assert_eq!(items(&books, 1).await, users(0..53));
    assert_eq!(items(&books, 2).await, users(0..3100));
    assert_eq!(books.count(&2).await.unwrap(), 3100);
    assert_eq!(books.get_all(&2).await.unwrap(), Some(outlier(3100)));
    // The manual's parents are as its own commands would leave them.
    let [mut typical, outlier] = manual_documents();
    typical.insert("customers_purchased", users(0..50));
    typical.insert("has_extras", true);
    assert_eq!(documents(books.collection()).await, [typical, outlier]);
    // From the parent, from what was the manual's extras document, and from ours.
    for user in ["user10", "user70", "user1000"] {
        assert!(remove(&books, &2, user).await.unwrap(), "{user}");
        assert!(!remove(&books, &2, user).await.unwrap(), "{user}");
    }
    let left = users((0..3100).filter(|n| ![10, 70, 1000].contains(n)));
    assert_eq!(items(&books, 2).await, left);
    assert_eq!(verify(&books).await.unwrap(), []);
}

/// Our documents have the fields of the page in its order, with 64-bit ids and pages with a number and a count.
#[bucket_testkit::test]
async fn our_documents_have_the_manuals_shape(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    books.insert(&typical()).await.unwrap();
    books.insert(&outlier(0)).await.unwrap();
    books.push_many(&2, users(0..1000)).await.unwrap();
    let [mut first, mut second] = manual_documents();
    first.insert("_id", 1_i64);
    second.insert("_id", 2_i64);
    let parents = documents(books.collection()).await;
    assert_eq!(parents, [first.clone(), second.clone()]);
    // Documents are equal whatever the order of their fields.
    assert!(parents[0].keys().eq(first.keys()) && parents[1].keys().eq(second.keys()));
    let page = doc! {
        "_id": "2_0000000000", "book_id": 2_i64, "count": 950,
        "customers_purchased_extra": users(50..1000),
    };
    let extras = async || documents(books.extras_collection()).await;
    assert_eq!(extras().await, std::slice::from_ref(&page));

    // A single insert stores it as well.
    books.delete(&2).await.unwrap();
    books.insert(&outlier(1000)).await.unwrap();
    assert_eq!(documents(books.collection()).await, [first, second]);
    assert_eq!(extras().await, [page]);
}
