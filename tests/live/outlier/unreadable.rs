//! O1, for what other programs stored: an unreadable item takes no other item with it.

use bucket_runtime::{
    Error, Outlier, Outliers,
    mongodb::{
        Database,
        bson::{Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::Live;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "sales",
    reference = "book_id",
    threshold = 3,
    extras_capacity = 2
)]
pub(crate) struct Book {
    pub(crate) _id: i64,
    pub(crate) title: String,
    #[outlier(items)]
    pub(crate) buyers: Vec<Buyer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Buyer {
    n: i32,
    name: String,
}

pub(crate) fn book(_id: i64, buyers: i32) -> Book {
    let (title, name) = ("Dune".to_owned(), || "Alice".to_owned());
    let buyers = (0..buyers).map(|n| Buyer { n, name: name() }).collect();
    Book { _id, title, buyers }
}

/// Book 1 has three buyers, and six extras on three pages; buyers 1 and 4 have lost their names. Book 2
/// has one buyer.
async fn damaged(db: &Database) -> Outliers<Book> {
    let books = Book::outliers(db).await.unwrap();
    books.insert(&book(1, 9)).await.unwrap();
    books.insert(&book(2, 1)).await.unwrap();
    for (collection, filter, field) in [
        (books.collection(), doc! { "_id": 1_i64 }, "buyers.1.name"),
        (
            books.extras_collection(),
            doc! { "buyers_extra.1.n": 4 },
            "buyers_extra.1.name",
        ),
    ] {
        let raw = collection.clone_with_type::<Document>();
        let changed = raw.update_one(filter, doc! { "$unset": { field: 1 } });
        assert_eq!(changed.await.unwrap().modified_count, 1);
    }
    books
}

fn numbers(buyers: impl IntoIterator<Item = Buyer>) -> Vec<i32> {
    buyers.into_iter().map(|buyer| buyer.n).collect()
}

/// Each error names the document and the place, and says what is missing.
fn check(told: &[Error], places: &[&str]) {
    assert_eq!(told.len(), places.len(), "{told:?}");
    for (error, place) in told.iter().zip(places) {
        assert!(error.is_deserialize());
        let text = error.to_string();
        assert!(
            text.contains(place) && text.contains("missing field `name`"),
            "{text}"
        );
    }
}

const BOTH: [&str; 2] = ["buyers.1: ", "buyers_extra.1: "];

#[bucket_testkit::test]
async fn items_and_extras_go_on_past_it(db: Live) {
    let books = damaged(&db).await;
    assert!(books.items(&1).await.err().unwrap().is_deserialize());

    let mut told = Vec::new();
    let buyers = books.items(&1).skip_unreadable(|error| told.push(error));
    let buyers: Vec<Buyer> = buyers.await.unwrap().try_collect().await.unwrap();
    assert_eq!(numbers(buyers), [0, 2, 3, 5, 6, 7, 8]);
    check(&told, &BOTH);

    let mut session = books.collection().client().start_session().await.unwrap();
    let mut told = Vec::new();
    let buyers = books
        .items(&1)
        .skip_unreadable(|error| told.push(error))
        .session(&mut session);
    let buyers: Vec<Buyer> = buyers.await.unwrap().try_collect().await.unwrap();
    assert_eq!(buyers.len(), 7);
    check(&told, &BOTH);

    let pages = books.extras(&1).await.unwrap();
    let pages = pages.try_collect::<Vec<_>>().await;
    assert!(pages.unwrap_err().is_deserialize());

    let mut told = Vec::new();
    let pages = books.extras(&1).skip_unreadable(|error| told.push(error));
    let pages: Vec<_> = pages.await.unwrap().try_collect().await.unwrap();
    let pages = pages.into_iter().map(|page| numbers(page.items));
    assert_eq!(Vec::from_iter(pages), [vec![3], vec![5, 6], vec![7, 8]]);
    check(&told, &BOTH[1..]);
    assert_eq!(told[0].key(), Some("\"1\""));
}

#[bucket_testkit::test]
async fn a_parent_is_read_without_it(db: Live) {
    let books = damaged(&db).await;
    assert!(books.get(&1).await.unwrap_err().is_deserialize());
    assert!(books.get_all(&1).await.unwrap_err().is_deserialize());

    let mut told = Vec::new();
    let parent = books.get(&1).skip_unreadable(|error| told.push(error));
    let parent = parent.await.unwrap().unwrap();
    assert!(parent.has_extras);
    assert_eq!(parent.document.title, "Dune");
    assert_eq!(numbers(parent.document.buyers), [0, 2]);
    check(&told, &BOTH[..1]);
    assert_eq!(told[0].key(), Some("\"1\""));

    let mut told = Vec::new();
    let all = books.get_all(&1).skip_unreadable(|error| told.push(error));
    let all = all.await.unwrap().unwrap();
    assert_eq!(numbers(all.buyers), [0, 2, 3, 5, 6, 7, 8]);
    check(&told, &BOTH);

    // A parent that is unreadable itself is an error.
    let raw = books.collection().clone_with_type::<Document>();
    let untitled = doc! { "$unset": { "title": 1 } };
    let changed = raw.update_one(doc! { "_id": 1_i64 }, untitled);
    assert_eq!(changed.await.unwrap().modified_count, 1);
    let mut told = Vec::new();
    let all = books.get_all(&1).skip_unreadable(|error| told.push(error));
    let error = all.await.unwrap_err();
    assert!(error.is_deserialize(), "{error}");
    assert!(
        error.to_string().contains("missing field `title`"),
        "{error}"
    );
    assert!(told.is_empty(), "{told:?}");
}

#[bucket_testkit::test]
async fn a_find_goes_on_past_items_and_past_whole_parents(db: Live) {
    let books = damaged(&db).await;
    let raw = books.collection().clone_with_type::<Document>();
    let without_title = doc! { "_id": 0_i64, "buyers": [] };
    raw.insert_one(without_title).await.unwrap();
    let sorted = || books.find(doc! {}).sort(doc! { "_id": 1 });
    let none = sorted().limit(0).await.unwrap();
    assert!(none.try_collect::<Vec<_>>().await.unwrap().is_empty());
    let found = sorted().await.unwrap().try_collect::<Vec<_>>().await;
    let error = found.unwrap_err();
    assert!(
        error.is_deserialize()
            && error
                .to_string()
                .contains("the parent with _id Long(\"0\") is "),
        "{error}"
    );

    let mut told = Vec::new();
    let found = sorted().skip_unreadable(|error| told.push(error));
    let found: Vec<_> = found.await.unwrap().try_collect().await.unwrap();
    let found = found.into_iter().map(|parent| parent.document);
    let found = found.map(|book| (book._id, numbers(book.buyers)));
    assert_eq!(Vec::from_iter(found), [(1, vec![0, 2]), (2, vec![0])]);
    assert!(told[0].to_string().contains("missing field `title`"));
    check(&told[1..], &BOTH[..1]);
}
