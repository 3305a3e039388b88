//! The code that `bucket advise` prints compiles, and stores and reads back every document that it was made of.
//!
//! `tests/advise.rs` compares the code in `advised/` with what is printed.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::fmt::Debug;

use bucket_ops::{Ops, OutlierOps};
use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::{Bucket, KeyField, Outlier};
use futures_util::TryStreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[path = "advised/newcomer.rs"]
mod newcomer;
#[path = "advised/own.rs"]
mod own;
#[path = "advised/shapes.rs"]
mod shapes;

use newcomer::Newcomer;

/// A document, by its names in order, its numbers by value, without what is null.
fn canonical(value: &Bson) -> String {
    match value {
        Bson::Document(document) => {
            let fields = document
                .iter()
                .filter(|(_, value)| !matches!(value, Bson::Null));
            let mut fields: Vec<_> = fields
                .map(|(name, value)| format!("{name:?}: {}", canonical(value)))
                .collect();
            fields.sort();
            format!("{{ {} }}", fields.join(", "))
        }
        Bson::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(", ")
        ),
        Bson::Int32(number) => f64::from(*number).to_string(),
        Bson::Int64(number) => (*number as f64).to_string(),
        Bson::Double(number) => number.to_string(),
        other => other.to_string(),
    }
}

/// Documents in any order, without these fields.
fn set(documents: &[Document], without: &[&str]) -> Vec<String> {
    let one = |document: &Document| {
        let mut document = document.clone();
        for name in without {
            document.remove(name);
        }
        canonical(&Bson::from(document))
    };
    let mut all: Vec<_> = documents.iter().map(one).collect();
    all.sort();
    all
}

async fn rows(newcomer: &Newcomer, collection: &str, stages: Vec<Document>) -> Vec<Document> {
    let collection = newcomer.db.collection::<Document>(collection);
    let rows = collection.aggregate(stages).await.unwrap();
    rows.try_collect().await.unwrap()
}

/// The struct imports the items from `flat`, reads each of them, and stores each of them again.
async fn import<T: Bucket + Debug>(newcomer: &Newcomer, flat: &str, without: &[&str]) {
    let flat = newcomer.db.collection::<Document>(flat);
    let ops = Ops::<T>::of(&newcomer.db);
    ops.import_flat(&flat).await.unwrap();
    let items = rows(newcomer, flat.name(), vec![]).await;
    let stored = rows(newcomer, T::SPEC.collection, T::unwind()).await;
    assert_eq!(set(&stored, without), set(&items, without));
    copy::<T>(newcomer, without).await;
}

/// The struct opens the buckets as they are, and reads and stores again each item.
async fn take_over<T: Bucket + Debug>(newcomer: &Newcomer) {
    let ops = Ops::<T>::of(&newcomer.db);
    assert!(ops.repair().await.unwrap().repaired.is_empty());
    copy::<T>(newcomer, &[]).await;
    assert!(ops.verify().await.unwrap().problems.is_empty());
}

/// Appends all items of the struct's collection to another one.
async fn copy<T: Bucket + Debug>(newcomer: &Newcomer, without: &[&str]) {
    let buckets = T::buckets(&newcomer.db).await.unwrap();
    let read: Vec<T> = buckets
        .all_items()
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let copies = T::buckets_in(newcomer.db.collection::<Document>("copies"))
        .await
        .unwrap();
    copies.append_many(read).await.unwrap();
    let stored = rows(newcomer, T::SPEC.collection, T::unwind()).await;
    let copies = rows(newcomer, "copies", T::unwind()).await;
    assert_eq!(set(&copies, without), set(&stored, without));
}

/// The struct splits the documents, and reads each of them with all of its items.
async fn split<T: Outlier + Serialize + DeserializeOwned>(newcomer: &Newcomer) {
    let before = rows(newcomer, T::SPEC.collection, vec![]).await;
    let repaired = OutlierOps::<T>::of(&newcomer.db).repair().await.unwrap();
    assert!(repaired.left.is_empty(), "{:?}", repaired.left);
    let outliers = T::outliers(&newcomer.db).await.unwrap();
    let copies = newcomer.db.collection::<T>("copies");
    for document in &before {
        let id = T::Id::from_bson(document.get("_id").unwrap().clone()).unwrap();
        let whole = outliers.get_all(id.borrowed()).await.unwrap().unwrap();
        copies.insert_one(whole).await.unwrap();
    }
    let extras = rows(newcomer, T::SPEC.extras, vec![]).await;
    assert!(!extras.is_empty());
    let copies = rows(newcomer, "copies", vec![]).await;
    let empty = |documents: &[Document]| {
        let mut documents = documents.to_vec();
        for document in &mut documents {
            document
                .entry(T::SPEC.items.to_owned())
                .or_insert(Bson::Array(Vec::new()));
        }
        set(&documents, &[T::SPEC.flag])
    };
    assert_eq!(empty(&copies), empty(&before));
}

/// Makes a module of the printed code, and a test for each collection.
macro_rules! advised {
    ($($name:ident: $type:ident, |$newcomer:ident| $check:expr;)+) => {$(
        #[allow(dead_code, unreachable_pub, missing_docs, reason = "printed code")]
        mod $name {
            include!(concat!("advised/", stringify!($name), ".rs"));

            #[bucket_testkit::test]
            async fn stores_and_reads_every_document(newcomer: super::Newcomer) {
                type Advised = $type;
                let $newcomer = &newcomer;
                let name = stringify!($name);
                $newcomer.store(name, &super::shapes::$name()).await;
                $check
            }
        }
    )+};
}

advised! {
    flights: Flight, |new| super::import::<Advised>(new, "flights", &["_id"]).await;
    airports: Airport, |new| super::split::<Advised>(new).await;
    trades: Trade, |new| super::take_over::<Advised>(new).await;
    sales: Sale, |new| super::split::<Advised>(new).await;
    orders: Order, |new| super::import::<Advised>(new, "orders", &["_id"]).await;
    readings: Reading, |new| super::import::<Advised>(new, "readings", &["_id"]).await;
    late_events: LateEvent, |new| super::import::<Advised>(new, "late_events", &["_id"]).await;
    notes: Note, |new| super::import::<Advised>(new, "notes", &["_id"]).await;
    mixtures: Mixture, |new| super::import::<Advised>(new, "mixtures", &["_id"]).await;
    odd_names: OddName, |new| super::import::<Advised>(new, "odd_names", &["_id", "$price", "a.b"]).await;
    wide: Wide, |new| super::import::<Advised>(new, "wide", &["_id"]).await;
    types: Type, |new| super::import::<Advised>(new, "types", &["_id"]).await;
    quotes: Quote, |new| super::import::<Advised>(new, "quotes", &["_id"]).await;
    posts: Post, |new| super::split::<Advised>(new).await;
    grids: Grid, |new| super::split::<Advised>(new).await;
    playlists: Playlist, |new| super::split::<Advised>(new).await;
    quarters: Quarter, |new| super::take_over::<Advised>(new).await;
    pages: Page, |new| super::take_over::<Advised>(new).await;
    machines: Log, |new| {
        let stages = super::doc! { "$replaceRoot": { "newRoot": { "$mergeObjects": ["$log", { "machine_id": "$_id" }] } } };
        super::rows(new, "machines", vec![super::doc! { "$unwind": "$log" }, stages, super::doc! { "$out": "machines_log_flat" }]).await;
        super::import::<Advised>(new, "machines_log_flat", &["_id"]).await;
    };
}

#[allow(dead_code, unreachable_pub, missing_docs, reason = "printed code")]
mod ledgers {
    include!("advised/ledgers.rs");

    /// The struct opens the collection of another one with all of its indexes and rollups, and knows each item.
    #[bucket_testkit::test]
    async fn opens_what_another_struct_has_written(newcomer: super::Newcomer) {
        use futures_util::TryStreamExt;

        super::own::write(&newcomer.db).await;
        let indexes = newcomer.db.collection::<super::Document>("ledgers");
        let indexes = async || indexes.list_index_names().await.unwrap();
        let before = indexes().await;
        let ledgers = Ledger::buckets(&newcomer.db)
            .check_items(true)
            .await
            .unwrap();
        let items = ledgers.all_items().await.unwrap();
        let items: Vec<Ledger> = items.try_collect().await.unwrap();
        assert_eq!(items.len(), 240);
        for item in &items {
            let appended = ledgers.append(item).await.unwrap();
            assert_eq!(appended, bucket_runtime::Appended::AlreadyThere);
        }
        let verified = bucket_ops::Ops::<Ledger>::of(&newcomer.db)
            .verify()
            .await
            .unwrap();
        assert!(verified.problems.is_empty());
        let totals = ledgers.rollup_all().await.unwrap();
        assert_eq!(totals.cents.sum(), 239 * 240 * 50);
        assert_eq!(totals.grams.max(), Some(59.5));
        assert_eq!(indexes().await, before);
    }
}
