//! The settings of a read mean the same before and after the call that asks for parts.

use bucket_runtime::{Bucket, Outlier, Part, mongodb::bson::doc};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::Live;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "notes", id = "{author}_{#}", capacity = 4)]
struct Note {
    author: i64,
    number: i32,
    text: String,
}

#[derive(Debug, PartialEq, Part)]
#[part(of = Note)]
struct Number {
    number: i32,
}

#[bucket_testkit::test]
async fn parts_take_settings_afterwards(db: Live) {
    let notes = Note::buckets(&db).await.unwrap();
    for number in 0..11 {
        let text = format!("note {number}");
        let note = Note {
            author: 1,
            number,
            text,
        };
        notes.append(&note).await.unwrap();
    }
    let large = || Note::FIELDS.number.gte(3);
    let before = notes.items(&1).filter(large()).newest_first().skip(2);
    let parts = before.limit(4).parts::<Number>().await.unwrap();
    let parts: Vec<Number> = parts.try_collect().await.unwrap();
    let later = notes.items(&1).parts::<Number>().limit(4).skip(2);
    let later = later.filter(large()).newest_first().await.unwrap();
    assert_eq!(later.try_collect::<Vec<_>>().await.unwrap(), parts);
    assert_eq!(parts[0].number, 8);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "books", reference = "book_id", threshold = 2)]
struct Book {
    _id: i64,
    title: String,
    #[outlier(items)]
    buyers: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize, Part)]
#[part(of = Book)]
struct Title {
    title: String,
}

#[bucket_testkit::test]
async fn parts_of_parents_take_settings_afterwards(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for _id in 0..5 {
        let title = format!("Title {_id}");
        let buyers = Vec::new();
        books.insert(&Book { _id, title, buyers }).await.unwrap();
    }
    let find = || books.find(Book::FIELDS._id.gte(1));
    let by_title = || doc! { "title": -1 };
    let before = find().sort(by_title()).skip(1).limit(2);
    let before = before.parts::<Title>().await.unwrap();
    let before: Vec<_> = before.try_collect().await.unwrap();
    let later = find().parts::<Title>().limit(2).skip(1).sort(by_title());
    let later = later.await.unwrap();
    assert_eq!(later.try_collect::<Vec<_>>().await.unwrap(), before);
    assert_eq!(before[0].document.title, "Title 3");
    assert_eq!(before.len(), 2);
}
