//! Every call, with the span that it has.

use std::convert::Infallible;

use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Book, FollowerName, Look, Title, User, Visitor, book, user};
use crate::support::visits::{Moved, Visit, visit};

pub(super) async fn of_buckets(db: &Database, look: &mut Look) {
    let there = Visit::create_collection(db).await;
    there.unwrap();
    look.at("visits", "create", 0).await;
    let visits = Visit::buckets(db).await.unwrap();
    look.at("visits", "buckets", 0).await;

    let told = {
        visits.append(&visit(0)).await.unwrap();
        look.at("visits", "append", 1).await
    };
    assert_eq!(told.fields["db.system.name"], "mongodb");
    assert_eq!(told.fields["db.operation.name"], "append");
    assert_eq!(told.fields["db.namespace"], db.name());
    assert_eq!(told.fields["otel.kind"], "client");
    assert_eq!(told.fields["otel.name"], "append visits");
    assert!(!told.fields.contains_key("otel.status_code"), "{told:?}");
    // The element: three fields, and `at` as a date.
    assert!((40..60).contains(&told.number("bucket.bytes")), "{told:?}");
    for visitor in 1..4 {
        visits.append(&visit(visitor)).await.unwrap();
        look.at("visits", "append", 1).await;
    }
    visits.append(&visit(1)).await.unwrap();
    look.at("visits", "append", 0).await;
    visits.append_many((4..500).map(visit)).await.unwrap();
    let told = look.at("visits", "append_many", 496).await;
    assert_eq!(told.number("db.operation.batch.size"), 496);
    assert!(!told.fields.contains_key("db.response.returned_rows"));
    assert!(told.number("bucket.bytes") > 496 * 40, "{told:?}");
    let flat = visit(1000);
    let flat = doc! { "page": 9, "at": flat.at, "visitor": 1000_i64, "seconds": 10_i64 };
    db.collection::<Document>("flat")
        .insert_one(flat)
        .await
        .unwrap();
    look.record.take();
    let flat = db.collection::<Document>("flat");
    visits.import_flat(&flat).await.unwrap();
    look.at("visits", "import_flat", 1).await;

    visits.page(&1, 2).await.unwrap().unwrap();
    let told = look.at("visits", "page", 2).await;
    assert_eq!(told.number("db.response.returned_rows"), 2);
    assert!(told.number("bucket.bytes") > 80, "{told:?}");
    visits.latest(&1).await.unwrap();
    look.at("visits", "page", 2).await;
    assert_eq!(visits.pages(&1).await.unwrap().count().await, 250);
    look.at("visits", "pages", 500).await;
    // 101 buckets are in the first batch.
    assert_eq!(visits.items(&1).await.unwrap().count().await, 500);
    look.at("visits", "items", 500).await;
    assert_eq!(visits.items(&1).skip(300).await.unwrap().count().await, 200);
    look.at("visits", "items", 200).await;
    let first = visits.all_items().limit(7).newest_first();
    assert_eq!(first.await.unwrap().count().await, 7);
    look.at("visits", "items", 7).await;
    let page = visits.items(&1).page_of_items(3).await.unwrap();
    look.at("visits", "page_of_items", 3).await;
    let after = page.next.unwrap();
    let page = visits.items(&1).page_of_items(3).after(&after);
    assert_eq!(page.await.unwrap().items.len(), 3);
    look.at("visits", "page_of_items", 3).await;
    let parts = visits.items(&1).parts::<Visitor>();
    parts.page_of_items(3).await.unwrap();
    look.at("visits", "page_of_parts", 3).await;
    assert_eq!(
        visits
            .items(&1)
            .parts::<Visitor>()
            .await
            .unwrap()
            .count()
            .await,
        500
    );
    look.at("visits", "parts", 500).await;
    visits.count(&1).await.unwrap();
    look.at("visits", "count", 0).await;
    visits.page_count(&1).await.unwrap();
    look.at("visits", "page_count", 0).await;
    visits.rollup(&1).await.unwrap();
    look.at("visits", "rollup", 0).await;
    visits.rollup(&1).per_window().await.unwrap().count().await;
    let told = look.at("visits", "rollup_series", 0).await;
    assert_eq!(told.number("db.response.returned_rows"), 9);
    visits
        .rollup(&1)
        .by(Visit::FIELDS.visitor)
        .await
        .unwrap()
        .count()
        .await;
    let told = look.at("visits", "rollup_groups", 0).await;
    assert_eq!(told.number("db.response.returned_rows"), 500);
    let lines: Vec<_> = visits
        .export(&1)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let told = look.at("visits", "export", 0).await;
    assert_eq!(told.number("db.response.returned_rows"), lines.len());

    let one = || Visit::FIELDS.visitor.eq(7);
    visits
        .update_item(&1, one(), |visit| visit.seconds = 1)
        .await
        .unwrap();
    look.at("visits", "update_item", 1).await;
    visits.upsert_item(&visit(7)).await.unwrap();
    look.at("visits", "upsert_item", 1).await;
    visits.append_or_get(&visit(7)).await.unwrap().unwrap();
    look.at("visits", "append_or_get", 1).await;
    visits.remove_item(&1, one()).await.unwrap();
    look.at("visits", "remove_item", 1).await;
    visits
        .remove_item(&1, Visit::FIELDS.visitor.eq(8))
        .as_stored()
        .await
        .unwrap();
    look.at("visits", "remove_stored", 1).await;
    let some = Visit::FIELDS.visitor.between(20..25);
    visits
        .update_items(&1, some, |visit| visit.seconds = 1)
        .await
        .unwrap();
    look.at("visits", "update_items", 5).await;
    let old = Visit::FIELDS.at.lt(DateTime::from_millis(100 * 60_000));
    visits.remove_items(&1, old).await.unwrap();
    look.at("visits", "remove_items", 98).await;
    visits.remove_key(&1).await.unwrap();
    look.at("visits", "remove_key", 0).await;
    let _ = visits
        .import(stream::iter(lines.into_iter().map(Ok::<_, Infallible>)))
        .await
        .unwrap();
    look.at("visits", "import", 500).await;
    visits.create_view("flat_visits").await.unwrap();
    look.at("visits", "create_view", 0).await;
    Visit::verify(db).await.unwrap();
    look.at("visits", "verify", 0).await;
    Visit::repair(db).await.unwrap();
    look.at("visits", "repair", 0).await;
    Visit::rebuild_rollups(db).await.unwrap();
    look.at("visits", "rebuild_rollups", 0).await;
    Moved::migrate_from(db, |visit: Visit| visit.into())
        .await
        .unwrap();
    look.at("moved", "migrate_from", 501).await;
    Visit::change_capacity(db).await.unwrap();
    look.at("visits", "change_capacity", 0).await;
    let mut watched = visits.watch(&1).await.unwrap();
    let late = Visit::buckets(db).await.unwrap();
    late.append(&visit(2000)).await.unwrap();
    watched.try_next().await.unwrap().unwrap();
    drop(watched);
    let mut spans = look.spans.take().into_iter();
    let told = spans.rfind(|told| told.name == "watch").unwrap();
    assert_eq!(told.number("bucket.items"), 1, "{told:?}");
    assert_eq!(told.number("db.response.returned_rows"), 1);
    look.record.take();
    drop(visits.watch_all().await.unwrap());
    look.at("visits", "watch", 0).await;
}

pub(super) async fn of_outliers(db: &Database, look: &mut Look) {
    let books = Book::outliers(db).await.unwrap();
    look.at("books", "outliers", 0).await;
    books.insert(&book(1, 1)).await.unwrap();
    look.at("books", "insert", 0).await;
    for (n, buyer) in ["a", "b", "c", "d"].into_iter().enumerate() {
        books.push(&1, buyer).await.unwrap();
        let told = look.at("books", "push", 1).await;
        assert_eq!(told.number("bucket.bytes"), 6, "push {n}: {told:?}");
    }
    books
        .push_many(&1, (0..9).map(|n| n.to_string()))
        .await
        .unwrap();
    let told = look.at("books", "push_many", 9).await;
    assert_eq!(told.number("db.operation.batch.size"), 9);
    books.update(&1, |book| book.title.push('!')).await.unwrap();
    look.at("books", "update", 0).await;
    books.get(&1).await.unwrap();
    let told = look.at("books", "get", 0).await;
    assert_eq!(told.number("db.response.returned_rows"), 1);
    books.get_all(&1).await.unwrap();
    look.at("books", "get_all", 14).await;
    assert_eq!(books.items(&1).await.unwrap().count().await, 14);
    look.at("books", "items", 14).await;
    books
        .extras(&1)
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap();
    look.at("books", "extras", 12).await;
    let item = Book::FIELDS.buyers.item();
    let last = books.items(&1).newest_first().limit(3).await.unwrap();
    assert_eq!(last.count().await, 3);
    look.at("books", "items", 3).await;
    books.items(&1).page_of_items(5).await.unwrap();
    look.at("books", "page_of_items", 5).await;
    books.find_item(&1, item.eq("a")).await.unwrap();
    look.at("books", "find_item", 1).await;
    for buyer in ["a", "8"] {
        let same = books.update_item(&1, item.eq(buyer), |buyer| buyer.push('!'));
        same.await.unwrap().unwrap();
        look.at("books", "update_item", 1).await;
    }
    let changed = item.is_in(["a!", "8!"]);
    let back = books.update_items(&1, changed, |buyer| buyer.truncate(1));
    assert_eq!(back.await.unwrap(), 2);
    look.at("books", "update_items", 2).await;
    (books.remove_item(&1, item.eq("7")).await.unwrap()).unwrap();
    look.at("books", "remove_item", 1).await;
    let some = item.is_in(["b", "6"]);
    assert_eq!(books.remove_items(&1, some).await.unwrap(), 2);
    look.at("books", "remove_items", 2).await;
    books.count(&1).await.unwrap();
    look.at("books", "count", 0).await;
    books
        .find(doc! {})
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap();
    let told = look.at("books", "find", 0).await;
    assert_eq!(told.number("db.response.returned_rows"), 1);
    books
        .find(doc! {})
        .parts::<Title>()
        .await
        .unwrap()
        .try_collect::<Vec<_>>()
        .await
        .unwrap();
    look.at("books", "find_parts", 0).await;
    drop(books.watch(&1).await.unwrap());
    look.at("books", "watch", 0).await;
    drop(books.watch_all().await.unwrap());
    look.at("books", "watch", 0).await;
    books.split_existing().await.unwrap();
    look.at("books", "split_existing", 0).await;
    books.remove(&1, "a").await.unwrap();
    look.at("books", "remove", 0).await;
    Book::verify(db).await.unwrap();
    look.at("books", "verify", 0).await;
    Book::repair(db).await.unwrap();
    look.at("books", "repair", 0).await;
    books.delete(&1).await.unwrap();
    look.at("books", "delete", 0).await;

    let users = User::outliers(db).await.unwrap();
    look.at("users", "outliers", 0).await;
    users.insert(&user(1, 9)).await.unwrap();
    look.at("users", "insert", 0).await;
    let names = || users.items(&1).parts::<FollowerName>();
    assert_eq!(names().await.unwrap().count().await, 9);
    look.at("users", "parts", 9).await;
    names().page_of_items(4).await.unwrap();
    look.at("users", "page_of_parts", 4).await;
}
