//! Reads of items in a session and by a renamed key, and typed conditions on parents.

use bucket_runtime::{Bucket, Outlier, mongodb::bson::doc};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::Live,
    zoo::ticks::{Seconds3, Tick},
};

/// Every step of every read sees what the transaction wrote; reads outside do not.
#[bucket_testkit::test]
async fn reads_in_a_transaction_see_what_it_wrote(db: Live) {
    let ticks = Seconds3::buckets(&db).await.unwrap();
    let mut session = db.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for n in 0..8 {
        let tick = Seconds3::new(1, n);
        ticks.append(&tick).session(&mut session).await.unwrap();
    }
    let some = Seconds3::n_is(3).or(Seconds3::n_is(7));
    let reads = [
        (ticks.items(&1).filter(some), vec![3, 7]),
        (ticks.items(&1).skip(4).limit(2), vec![4, 5]),
        (ticks.items(&1).newest_first().skip(4), vec![3, 2, 1, 0]),
        (ticks.all_items(), (0..8).collect()),
    ];
    for (read, expected) in reads {
        let read = read.session(&mut session).await.unwrap();
        let read: Vec<_> = read.map_ok(|tick| tick.n()).try_collect().await.unwrap();
        assert_eq!(read, expected);
    }
    let outside = ticks.all_items().await.unwrap();
    assert_eq!(outside.try_collect::<Vec<_>>().await.unwrap(), []);
    session.abort_transaction().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "readings", id = "{sensor}_{#}", capacity = 3)]
struct Reading {
    #[serde(alias = "device")]
    sensor: i64,
    value: i32,
}

/// A condition finds a key's items under the key's former name, too.
#[bucket_testkit::test]
async fn a_key_under_its_former_name_is_filtered_and_skipped(db: Live) {
    let buckets = Reading::buckets(&db).await.unwrap();
    for n in 0..4 {
        let id = format!("2_{n:010}");
        let old =
            doc! { "_id": &id, "sealed": &id, "device": 2, "count": 1, "items": [{ "value": n }] };
        buckets.collection().insert_one(old).await.unwrap();
    }
    for (items, expected) in [
        (
            buckets.items(&2).filter(Reading::FIELDS.value.gte(2)),
            vec![2, 3],
        ),
        (buckets.items(&2).skip(3), vec![3]),
        (buckets.items(&2).skip(3).limit(5), vec![3]),
        (buckets.items(&2).newest_first(), vec![3, 2, 1, 0]),
    ] {
        let items: Vec<_> = items.await.unwrap().try_collect().await.unwrap();
        assert_eq!(
            items.iter().map(|item| item.value).collect::<Vec<_>>(),
            expected
        );
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(collection = "sales", reference = "book_id", threshold = 2)]
struct Book {
    #[serde(rename = "_id")]
    id: u64,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    sub_title: String,
    year: i32,
    #[outlier(items)]
    buyers: Vec<String>,
}

/// Conditions can test what the parent itself holds, not what is in the extras.
#[bucket_testkit::test]
async fn parents_are_found_by_typed_conditions(db: Live) {
    let books = Book::outliers(&db).await.unwrap();
    for (id, sub_title, year) in [(1, "", 1999), (2, "A Novel", 2020), (3, "", 2023)] {
        let book = Book {
            id,
            sub_title: sub_title.to_owned(),
            year,
            buyers: (0..id * 2).map(|n| format!("user{n}")).collect(),
        };
        books.insert(&book).await.unwrap();
    }
    let book = Book::FIELDS;
    assert_eq!(book.id.name(), "_id");
    let found = async |filter| {
        let found = books.find(filter).sort(doc! { "_id": 1 }).await.unwrap();
        let found = found.map_ok(|parent| parent.document.id);
        found.try_collect::<Vec<_>>().await.unwrap()
    };
    assert_eq!(found(book.year.gte(2000)).await, [2, 3]);
    assert_eq!(found(book.id.eq(2)).await, [2]);
    assert_eq!(found(book.id.lt(u64::MAX)).await, [1, 2, 3]);
    assert_eq!(found(book.sub_title.eq("")).await, [1, 3]);
    assert_eq!(found(book.sub_title.ne("")).await, [2]);
    assert_eq!(found(book.buyers.contains("user1")).await, [1, 2, 3]);
    assert_eq!(found(book.buyers.contains("user2")).await, [0; 0]);
    assert_eq!(found(book.year.lt(2000).or(!book.id.lte(2))).await, [1, 3]);
}
