//! Shared by the tests of interrupted writes: handles of both patterns, and calls of each kind.

use std::{future::Future, pin::Pin};

use bucket_runtime::{
    Bucket, Buckets, Error, Outlier, Outliers,
    mongodb::{Database, bson::DateTime},
};
use serde::{Deserialize, Serialize};

use crate::append::combine::support::NOON;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "marks", id = "{k}_{at}", capacity = 5)]
pub(crate) struct Mark {
    pub(crate) k: i64,
    pub(crate) at: DateTime,
    pub(crate) n: i64,
}

impl Mark {
    pub(crate) fn new(k: i64, n: i64) -> Self {
        let at = DateTime::from_millis(NOON + n * 100);
        Self { k, at, n }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "extra_books",
    reference = "book",
    threshold = 3,
    extras_capacity = 3
)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    #[outlier(items)]
    pub(crate) buyers: Vec<i64>,
}

/// A change within the window.
fn later(mark: &mut Mark) {
    mark.at = DateTime::from_millis(mark.at.timestamp_millis() + 1);
}

/// Handles of both patterns on a database.
pub(crate) struct Handles {
    pub(crate) db: Database,
    pub(crate) combined: Buckets<Mark>,
    pub(crate) alone: Buckets<Mark>,
    pub(crate) books: Outliers<Book>,
}

impl Handles {
    pub(crate) async fn new(db: &Database) -> Self {
        let marks = db.collection::<Mark>("marks");
        Self {
            db: db.clone(),
            combined: Mark::buckets(db).await.unwrap(),
            alone: Mark::buckets_in(marks).combine(false).await.unwrap(),
            books: Book::outliers(db).await.unwrap(),
        }
    }
}

type Answer<'h> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'h>>;

/// The name of a call, and the call for the `n`th round.
pub(crate) type Call = (&'static str, fn(&Handles, i64) -> Answer<'_>);

/// Each kind of write.
pub(crate) const CALLS: [Call; 15] = [
    ("append", |on, n| {
        Box::pin(async move { on.combined.append(&Mark::new(1, n)).await.map(drop) })
    }),
    ("append alone", |on, n| {
        Box::pin(async move { on.alone.append(&Mark::new(2, n)).await.map(drop) })
    }),
    ("append in a session", |on, n| {
        Box::pin(async move {
            let mut session = on.db.client().start_session().await.unwrap();
            let append = on.alone.append(&Mark::new(3, n));
            append.session(&mut session).await.map(drop)
        })
    }),
    ("append many", |on, n| {
        Box::pin(async move {
            let items = (0..12).map(|i| Mark::new(4, n * 100 + i));
            on.alone.append_many(items).await?;
            Ok(())
        })
    }),
    ("update item", |on, _| {
        Box::pin(async move {
            let seventh = Mark::FIELDS.n.eq(7);
            on.alone.update_item(&9, seventh, later).await.map(drop)
        })
    }),
    ("update items", |on, _| {
        Box::pin(async move {
            let seventh = Mark::FIELDS.n.eq(7);
            let edit = on.alone.update_items(&9, seventh, later).await;
            edit.map(drop).map_err(Error::from)
        })
    }),
    ("remove item", |on, _| {
        Box::pin(async move {
            let any = Mark::FIELDS.n.gte(0);
            on.alone.remove_item(&9, any).await.map(drop)
        })
    }),
    ("remove key", |on, _| {
        Box::pin(async move { on.alone.remove_key(&8).await.map(drop) })
    }),
    ("push", |on, n| {
        Box::pin(async move { on.books.push(&1, n).await.map(drop) })
    }),
    ("push to extras", |on, n| {
        Box::pin(async move { on.books.push(&2, n).await.map(drop) })
    }),
    ("insert", |on, n| {
        Box::pin(async move {
            let id = 1000 + n;
            let buyers = vec![1, 2];
            on.books.insert(&Book { id, buyers }).await
        })
    }),
    ("remove", |on, _| {
        Box::pin(async move {
            let any = Book::FIELDS.buyers.item().gte(0);
            on.books.remove_item(&2, any).await.map(drop)
        })
    }),
    ("delete", |on, n| {
        Box::pin(async move { on.books.delete(&(500 + n)).await.map(drop) })
    }),
    ("create collection", |on, n| {
        Box::pin(async move {
            let db = on.db.client().database(&format!("{}_{n}", on.db.name()));
            Mark::create_collection(&db).await
        })
    }),
    ("open", |on, n| {
        Box::pin(async move {
            let name = format!("{}_open_{n}", on.db.name());
            let db = on.db.client().database(&name);
            Mark::buckets(&db).await.map(drop)
        })
    }),
];

/// Stores what the calls change.
pub(crate) async fn fill(on: &Handles) {
    let items = (0..200).map(|n| Mark::new(9, n));
    on.alone.append_many(items).await.unwrap();
    for id in [1, 2] {
        let buyers = if id == 1 { vec![] } else { (0..8).collect() };
        on.books.insert(&Book { id, buyers }).await.unwrap();
    }
}
