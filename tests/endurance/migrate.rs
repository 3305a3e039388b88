//! Flat collections are moved into buckets, again and again.

use std::sync::Arc;

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::{
    Bucket, Outlier,
    mongodb::{
        Database,
        bson::{DateTime, Document, doc},
    },
};

use crate::{
    Result,
    items::{Book, Numbered, THRESHOLD},
    load::Load,
};

/// How many documents are moved at once, and how many keys they have.
const DOCUMENTS: i64 = 1000;
const KEYS: i64 = 30;

pub(crate) async fn run(db: Database, load: Arc<Load>) -> Result<()> {
    while load.goes_on().await {
        import_flat(&db).await?;
        load.did_call();
        split(&db).await?;
        load.did_call();
    }
    Ok(())
}

async fn import_flat(db: &Database) -> Result<()> {
    let flat = db.collection::<Document>("flat");
    let grouped = db.collection::<Numbered>("grouped");
    flat.drop().await?;
    grouped.drop().await?;
    let at = DateTime::from_millis(0);
    let item = |n: i64| doc! { "_id": n, "k": n % KEYS, "at": at, "n": n, "value": n };
    flat.insert_many((0..DOCUMENTS).map(item)).await?;
    let buckets = Numbered::buckets_in(grouped).await?;
    let moved = Ops::<Numbered>::in_collection(buckets.collection().clone())
        .import_flat(&flat)
        .sort(doc! { "n": 1 })
        .await?
        .stored;
    let mut found = 0;
    for k in 0..KEYS {
        found += buckets.count(&k).await?;
    }
    match (moved, found) == (DOCUMENTS as u64, DOCUMENTS as u64) {
        true => Ok(()),
        false => Err(format!("{moved} of {DOCUMENTS} moved, {found} found").into()),
    }
}

/// Splits a parent that has grown without bound, then deletes it.
async fn split(db: &Database) -> Result<()> {
    let parents = db.collection::<Book>("books");
    let book = Book {
        id: 7,
        buyers: (0..DOCUMENTS).collect(),
    };
    parents.insert_one(&book).await?;
    let books = Book::outliers_in(parents, db.collection("extra_books")).await?;
    OutlierOps::<Book>::of(db).repair().await?;
    let parent = books.get(&7).await?;
    let parent = parent.map(|parent| parent.document.buyers.len());
    let all = books.get_all(&7).await?.map(|book| book.buyers);
    books.delete(&7).await?;
    match parent == Some(THRESHOLD) && all.as_ref() == Some(&book.buyers) {
        true => Ok(()),
        false => Err(format!("{parent:?} values in the parent, all: {all:?}").into()),
    }
}
