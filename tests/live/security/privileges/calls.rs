//! Each call, with its row in the table of privileges.

use std::convert::Infallible;

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Error, Outlier, Result,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};
use futures_util::{TryStream, TryStreamExt, future::BoxFuture, stream};

use super::{Book, book, larger};
use crate::support::{
    ops,
    visits::{Moved, Visit, visit},
};

/// The calls of one row of the guide's table, in a database where a user with all privileges has stored
/// visits and books.
pub(super) type Calls = fn(Database) -> BoxFuture<'static, Result<()>>;

macro_rules! rows {
    ($($name:literal: $is_filled:literal, $calls:ident;)+) => {
        &[$(($name, $is_filled, |db| Box::pin($calls(db)))),+]
    };
}

/// The rows by their first cells, and whether the collections are there before.
pub(super) const ROWS: &[(&str, bool, Calls)] = rows! {
    "opening, where the indexes are there": true, open;
    "opening, where they have to be created": false, open;
    "reading pages, items, counts, rollups, parents and extras; `export`": true, read;
    "`verify`": true, verify;
    "`watch`, `watch_all` of buckets": true, watch;
    "`watch`, `watch_all` of outliers": true, watch_outliers;
    "`append`, `append_or_get`, `append_many`, `append_stream`, `upsert_item`": true, append;
    "`update_item`, `update_items`, `update_all_items`": true, edit;
    "`remove_item`, `remove_items`, `remove_all_items`": true, remove_items;
    "`remove_key`": true, remove_key;
    "`insert`, `push`, `push_many` of outliers": true, push;
    "`update`, `update_item`, `update_items` of outliers": true, update;
    "`remove_item`, `remove_items` of outliers": true, remove;
    "`delete` of outliers": true, delete;
    "`repair`, `rebuild_rollups`": true, repair;
    "`import`": true, import;
    "`import_flat`": true, import_flat;
    "`migrate_from`": true, migrate;
    "`change_capacity`": true, change_capacity;
    "`create_collection` of a new collection": false, create_collection;
    "`create_collection` of one without a validator": true, create_collection;
};

/// Reads a stream to its end.
async fn drain<T>(stream: impl TryStream<Ok = T, Error = Error>) -> Result<()> {
    stream.try_for_each(async |_| Ok(())).await
}

async fn open(db: Database) -> Result<()> {
    Visit::buckets(&db).await?;
    Book::outliers(&db).await?;
    Ok(())
}

pub(super) async fn read(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    let long = Visit::FIELDS.seconds.gte(1);
    visits.page(&1, 1).await?;
    visits.latest(&1).await?;
    drain(visits.pages(&1).await?).await?;
    drain(visits.items(&1).skip(3).await?).await?;
    let list = visits.all_items().filter(long.clone());
    list.page_of_items(2).await?;
    visits.count_all().filter(long).await?;
    visits.page_count(&1).await?;
    visits.rollup(&1).await?;
    drain(visits.rollup(&1).per_windows(1).await?).await?;
    let books = Book::outliers(&db).await?;
    books.get_all(&1).await?;
    drain(books.extras(&1).await?).await?;
    books.count(&1).await?;
    drain(books.find(doc! {}).await?).await?;
    drain(ops(&visits).export_all().await?).await?;
    Ok(())
}

async fn verify(db: Database) -> Result<()> {
    Ops::<Visit>::of(&db).verify().await?;
    OutlierOps::<Book>::of(&db).verify().await?;
    Ok(())
}

async fn watch(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    visits.watch(&1).await?;
    visits.watch_all().await?;
    Ok(())
}

pub(super) async fn watch_outliers(db: Database) -> Result<()> {
    let books = Book::outliers(&db).await?;
    books.watch(&1).await?;
    books.watch_all().await?;
    Ok(())
}

async fn append(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    for visitor in 10..15 {
        visits.append(&visit(visitor)).await?;
    }
    visits.append_many((15..20).map(visit)).await?;
    visits.append_or_get(&visit(14)).await?;
    visits.upsert_item(&visit(20)).await?;
    visits.upsert_item(&visit(20)).await?;
    Ok(())
}

async fn edit(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    let first = || Visit::FIELDS.visitor.eq(0);
    let change = |visit: &mut Visit| visit.seconds += 1;
    visits.update_item(&1, first(), change).await?;
    visits.update_items(&1, first(), change).await?;
    visits.update_all_items(first(), change).await?;
    Ok(())
}

async fn remove_items(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    // The last removal deletes the bucket that it empties.
    for visitor in 0..2 {
        let one = Visit::FIELDS.visitor.eq(visitor);
        visits.remove_item(&1, one).await?;
    }
    let some = Visit::FIELDS.visitor.lt(3);
    visits.remove_items(&1, some).await?;
    let old = Visit::FIELDS.at.lt(DateTime::now());
    visits.remove_all_items(old).await?;
    Ok(())
}

async fn remove_key(db: Database) -> Result<()> {
    Visit::buckets(&db).await?.remove_key(&1).await.map(drop)
}

async fn push(db: Database) -> Result<()> {
    let books = Book::outliers(&db).await?;
    books.insert(&book(3, 1)).await?;
    books.insert(&book(4, 5)).await?;
    for buyer in ["user1", "user2", "user3", "user4"] {
        books.push(&3, buyer).await?;
    }
    books.push_many(&3, ["user5", "user6"]).await?;
    Ok(())
}

async fn update(db: Database) -> Result<()> {
    let books = Book::outliers(&db).await?;
    // The second one is among the extras.
    for buyer in ["user1", "user4"] {
        let one = || Book::FIELDS.buyers.item().eq(buyer);
        let change = |buyer: &mut String| buyer.push('!');
        books.update_item(&1, one(), change).await?;
        books.update_items(&1, one(), change).await?;
    }
    books.update(&1, |book| book.title.push('!')).await?;
    Ok(())
}

async fn remove(db: Database) -> Result<()> {
    let books = Book::outliers(&db).await?;
    let one = |buyer| Book::FIELDS.buyers.item().eq(buyer);
    books.remove_item(&1, one("user1")).await?;
    books.remove_item(&1, one("user2")).await?;
    books.remove_item(&1, one("user4")).await?;
    // The last removal deletes the extras document that it empties.
    books.remove_items(&1, one("user3")).await?;
    Ok(())
}

async fn delete(db: Database) -> Result<()> {
    Book::outliers(&db).await?.delete(&1).await.map(drop)
}

pub(super) async fn repair(db: Database) -> Result<()> {
    Ops::<Visit>::of(&db).repair().await?;
    Ops::<Visit>::of(&db).rebuild_rollups().await?;
    OutlierOps::<Book>::of(&db).repair().await?;
    Ok(())
}

async fn import(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    let line = r#"{"_id": "5_0000000000", "page": 5, "window": {"$date": "1970-01-01T00:00:00Z"},
        "count": 1, "items": [{"at": {"$date": "1970-01-01T00:00:00Z"}, "visitor": 5, "seconds": 1}],
        "rollup": {"seconds": {"count": 1, "sum": 1}}}"#;
    // The bucket of the second line is there, and empty.
    let of_another_page = line.replace("5_", "2_").replace("page\": 5", "page\": 2");
    let lines = [line.to_owned(), of_another_page].map(Ok::<_, Infallible>);
    let _ = ops(&visits).import(stream::iter(lines)).await?;
    Ok(())
}

async fn import_flat(db: Database) -> Result<()> {
    let visits = Visit::buckets(&db).await?;
    let flat = db.collection::<Document>("flat");
    ops(&visits).import_flat(&flat).await.map(drop)
}

async fn migrate(db: Database) -> Result<()> {
    Ops::<Visit>::of(&db).repair().await?;
    let migration = Ops::<Moved>::of(&db).migrate_from(|visit: Visit| visit.into());
    migration.await.map(drop)
}

async fn change_capacity(db: Database) -> Result<()> {
    Ops::<larger::Visit>::of(&db).change_capacity().await
}

async fn create_collection(db: Database) -> Result<()> {
    Visit::create_collection(&db).await?;
    Book::create_collections(&db).await?;
    Ok(())
}
