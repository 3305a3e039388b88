//! Every call, with the span that it has.

use std::convert::Infallible;

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Book, FollowerName, Look, Title, User, Visitor, book, user};
use crate::support::{
    ops,
    visits::{Moved, Visit, visit},
};

pub(super) async fn of_buckets(db: &Database, look: &mut Look) {
    let there = Visit::create_collection(db).await;
    there.unwrap();
    look.at("visits", "create").await;
    let visits = Visit::buckets(db).await.unwrap();
    look.at("visits", "buckets").await;

    let told = {
        visits.append(&visit(0)).await.unwrap();
        look.at("visits", "append").await
    };
    assert_eq!(told.fields["db.system.name"], "mongodb");
    assert_eq!(told.fields["db.operation.name"], "append");
    assert_eq!(told.fields["db.namespace"], db.name());
    assert_eq!(told.fields["otel.kind"], "client");
    assert_eq!(told.fields["otel.name"], "append visits");
    assert!(!told.fields.contains_key("otel.status_code"), "{told:?}");
    for visitor in 1..4 {
        visits.append(&visit(visitor)).await.unwrap();
        look.at("visits", "append").await;
    }
    visits.append(&visit(1)).await.unwrap();
    look.at("visits", "append").await;
    visits.append_many((4..500).map(visit)).await.unwrap();
    look.at("visits", "append_many").await;
    let flat = visit(1000);
    let flat = doc! { "page": 9, "at": flat.at, "visitor": 1000_i64, "seconds": 10_i64 };
    let rows = db.collection::<Document>("flat");
    rows.insert_one(flat).await.unwrap();
    look.record.take();
    ops(&visits).import_flat(&rows).await.unwrap();
    look.at("visits", "import_flat").await;

    visits.page(&1, 2).await.unwrap().unwrap();
    look.at("visits", "page").await;
    visits.latest(&1).await.unwrap();
    look.at("visits", "page").await;
    assert_eq!(visits.pages(&1).await.unwrap().count().await, 250);
    look.at("visits", "pages").await;
    // 101 buckets are in the first batch.
    assert_eq!(visits.items(&1).await.unwrap().count().await, 500);
    look.at("visits", "items").await;
    assert_eq!(visits.items(&1).skip(300).await.unwrap().count().await, 200);
    look.at("visits", "items").await;
    let first = visits.all_items().limit(7).newest_first();
    assert_eq!(first.await.unwrap().count().await, 7);
    look.at("visits", "items").await;
    let page = visits.items(&1).page_of_items(3).await.unwrap();
    look.at("visits", "page_of_items").await;
    let after = page.next.unwrap();
    let page = visits.items(&1).page_of_items(3).after(&after);
    assert_eq!(page.await.unwrap().items.len(), 3);
    look.at("visits", "page_of_items").await;
    let parts = visits.items(&1).parts::<Visitor>();
    parts.page_of_items(3).await.unwrap();
    look.at("visits", "page_of_items").await;
    let parts = visits.items(&1).parts::<Visitor>().await.unwrap();
    assert_eq!(parts.count().await, 500);
    look.at("visits", "items").await;
    visits.count(&1).await.unwrap();
    look.at("visits", "count").await;
    visits.page_count(&1).await.unwrap();
    look.at("visits", "page_count").await;
    visits.rollup(&1).await.unwrap();
    look.at("visits", "rollup").await;
    let series = visits.rollup(&1).per_windows(1).await.unwrap();
    series.count().await;
    look.at("visits", "rollup_series").await;
    let lines = ops(&visits).export(&1).await.unwrap();
    let lines: Vec<_> = lines.try_collect().await.unwrap();
    look.at("visits", "export").await;

    let one = || Visit::FIELDS.visitor.eq(7);
    let shorter = |visit: &mut Visit| visit.seconds = 1;
    visits.update_item(&1, one(), shorter).await.unwrap();
    look.at("visits", "update_item").await;
    visits.upsert_item(&visit(7)).await.unwrap();
    look.at("visits", "upsert_item").await;
    visits.append_or_get(&visit(7)).await.unwrap().unwrap();
    look.at("visits", "append_or_get").await;
    visits.remove_item(&1, one()).await.unwrap();
    look.at("visits", "remove_item").await;
    let another = Visit::FIELDS.visitor.eq(8);
    visits.remove_stored(&1, another).await.unwrap();
    look.at("visits", "remove_stored").await;
    let some = Visit::FIELDS.visitor.between(20..25);
    visits.update_items(&1, some, shorter).await.unwrap();
    look.at("visits", "update_items").await;
    let old = Visit::FIELDS.at.lt(DateTime::from_millis(100 * 60_000));
    visits.remove_items(&1, old).await.unwrap();
    look.at("visits", "remove_items").await;
    visits.remove_key(&1).await.unwrap();
    look.at("visits", "remove_key").await;
    let lines = stream::iter(lines).map(Ok::<_, Infallible>);
    let _ = ops(&visits).import(lines).await.unwrap();
    look.at("visits", "import").await;
    Ops::<Visit>::of(db).verify().await.unwrap();
    look.at("visits", "verify").await;
    Ops::<Visit>::of(db).repair().await.unwrap();
    look.at("visits", "repair").await;
    Ops::<Visit>::of(db).rebuild_rollups().await.unwrap();
    look.at("visits", "rebuild_rollups").await;
    let migrate = Ops::<Moved>::of(db).migrate_from(|visit: Visit| visit.into());
    migrate.await.unwrap();
    look.at("moved", "migrate_from").await;
    Ops::<Visit>::of(db).change_capacity().await.unwrap();
    look.at("visits", "change_capacity").await;
    let mut watched = visits.watch(&1).await.unwrap();
    let late = Visit::buckets(db).await.unwrap();
    late.append(&visit(2000)).await.unwrap();
    watched.try_next().await.unwrap().unwrap();
    drop(watched);
    let spans = look.spans.take();
    assert!(spans.iter().any(|told| told.name == "watch"), "{spans:?}");
    look.record.take();
    drop(visits.watch_all().await.unwrap());
    look.at("visits", "watch").await;
}

pub(super) async fn of_outliers(db: &Database, look: &mut Look) {
    let books = Book::outliers(db).await.unwrap();
    look.at("books", "outliers").await;
    books.insert(&book(1, 1)).await.unwrap();
    look.at("books", "insert").await;
    for buyer in ["a", "b", "c", "d"] {
        books.push(&1, buyer).await.unwrap();
        look.at("books", "push").await;
    }
    let many = (0..9).map(|n| n.to_string());
    books.push_many(&1, many).await.unwrap();
    look.at("books", "push_many").await;
    books.update(&1, |book| book.title.push('!')).await.unwrap();
    look.at("books", "update").await;
    books.get(&1).await.unwrap();
    look.at("books", "get").await;
    books.get_all(&1).await.unwrap();
    look.at("books", "get_all").await;
    assert_eq!(books.items(&1).await.unwrap().count().await, 14);
    look.at("books", "items").await;
    assert!(books.extras(&1).await.unwrap().count().await > 0);
    look.at("books", "extras").await;
    let item = Book::FIELDS.buyers.item();
    let last = books.items(&1).newest_first().limit(3).await.unwrap();
    assert_eq!(last.count().await, 3);
    look.at("books", "items").await;
    books.items(&1).page_of_items(5).await.unwrap();
    look.at("books", "page_of_items").await;
    books.find_item(&1, item.eq("a")).await.unwrap();
    look.at("books", "find_item").await;
    for buyer in ["a", "8"] {
        let same = books.update_item(&1, item.eq(buyer), |buyer| buyer.push('!'));
        same.await.unwrap().unwrap();
        look.at("books", "update_item").await;
    }
    let changed = item.is_in(["a!", "8!"]);
    let back = books.update_items(&1, changed, |buyer| buyer.truncate(1));
    assert_eq!(back.await.unwrap(), 2);
    look.at("books", "update_items").await;
    (books.remove_item(&1, item.eq("7")).await.unwrap()).unwrap();
    look.at("books", "remove_item").await;
    let some = item.is_in(["b", "6"]);
    assert_eq!(books.remove_items(&1, some).await.unwrap(), 2);
    look.at("books", "remove_items").await;
    books.count(&1).await.unwrap();
    look.at("books", "count").await;
    assert_eq!(books.find(doc! {}).await.unwrap().count().await, 1);
    look.at("books", "find").await;
    let titles = books.find(doc! {}).parts::<Title>().await.unwrap();
    assert_eq!(titles.count().await, 1);
    look.at("books", "find").await;
    drop(books.watch(&1).await.unwrap());
    look.at("books", "watch").await;
    drop(books.watch_all().await.unwrap());
    look.at("books", "watch").await;
    OutlierOps::<Book>::of(db).verify().await.unwrap();
    look.at("books", "verify").await;
    OutlierOps::<Book>::of(db).repair().await.unwrap();
    look.at("books", "repair").await;
    books.delete(&1).await.unwrap();
    look.at("books", "delete").await;

    let users = User::outliers(db).await.unwrap();
    look.at("users", "outliers").await;
    users.insert(&user(1, 9)).await.unwrap();
    look.at("users", "insert").await;
    let names = || users.items(&1).parts::<FollowerName>();
    assert_eq!(names().await.unwrap().count().await, 9);
    look.at("users", "items").await;
    names().page_of_items(4).await.unwrap();
    look.at("users", "page_of_items").await;
}
