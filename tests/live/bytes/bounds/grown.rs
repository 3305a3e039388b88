//! Large buckets, and items that grow.

use bucket_runtime::{Bucket, mongodb::bson::Bson};
use futures_util::future::try_join_all;

use super::{Item, Large, MB, Numbered, bounded, bytes, most};
use crate::support::database::{Live, documents, items, number};

#[bucket_testkit::test]
async fn the_validator_accepts_sealed_and_large_buckets(db: Live) {
    Numbered::create_collection(&db).await.unwrap();
    let buckets = Numbered::buckets(&db).await.unwrap();
    let all: Vec<_> = (0..60)
        .map(|n| Numbered::new(1, 0, n, bytes(most::<Numbered>())))
        .collect();
    let (first, rest) = all.split_at(30);
    for item in first {
        buckets.append(item).await.unwrap();
    }
    buckets.append_many(rest.to_vec()).await.unwrap();
    bounded(&buckets).await;
    assert!(items(&buckets, &1).await == all);
}

#[bucket_testkit::test]
async fn items_of_megabytes_travel_together(db: Live) {
    let buckets = Large::buckets(&db).await.unwrap();
    let all: Vec<_> = (0..12)
        .map(|n| Large::new(1, 0, n, [4 * MB, 1, MB, 2 * MB][n as usize % 4]))
        .collect();
    try_join_all(all.iter().map(|item| async { buckets.append(item).await }))
        .await
        .unwrap();
    bounded(&buckets).await;
    assert!(items(&buckets, &1).await == all);
}

/// The bytes that edits add and removals free are counted.
#[bucket_testkit::test]
async fn an_edit_that_lets_an_item_grow_keeps_the_bucket_within_its_bytes(db: Live) {
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(
        collection = "notes",
        id = "{key}_{#}",
        capacity = 4,
        max_bytes = 100_000
    )]
    struct Note {
        key: i64,
        n: i64,
        text: String,
    }
    let note = |n: i64, bytes: usize| Note {
        key: 1,
        n,
        text: "x".repeat(bytes),
    };
    let notes = Note::buckets(&db).await.unwrap();
    for n in 0..3 {
        notes.append(&note(n, 10_000)).await.unwrap();
    }
    let grow = |n: i64, bytes: usize| {
        notes.update_item(&1, Note::FIELDS.n.eq(n), move |note| {
            note.text = "y".repeat(bytes);
        })
    };
    grow(0, 50_000).await.unwrap();
    let error = grow(1, 60_000).await.unwrap_err();
    assert!(error.is_too_large() && !error.is_maybe_stored(), "{error}");
    let gone = notes.remove_item(&1, Note::FIELDS.n.eq(0)).await.unwrap();
    assert_eq!(gone.map(|note| note.text.len()), Some(50_000));
    grow(1, 60_000).await.unwrap();
    grow(2, 10).await.unwrap();
    // This item fits, and the next one does not.
    notes.append(&note(3, 20_000)).await.unwrap();
    notes.append(&note(4, 60_000)).await.unwrap();
    let buckets = bounded(&notes).await.remove(&1).unwrap();
    let counts: Vec<_> = (buckets.iter())
        .map(|bucket| number(bucket.get("count")))
        .collect();
    assert_eq!(counts, [3, 1]);
}

/// The rollup of a bucket counts only the items that are in it, not one that had to go to the next
/// bucket.
#[bucket_testkit::test]
async fn what_buckets_keep_is_of_those_items_that_found_room(db: Live) {
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(
        collection = "summed",
        id = "{key}_{#}",
        capacity = 10,
        max_bytes = 2500
    )]
    struct Summed {
        key: i64,
        #[bucket(sum)]
        n: i64,
        text: String,
    }
    let summed = Summed::buckets(&db).await.unwrap();
    // The appends wait at the same time, and so travel together.
    let appends = (0..20).map(|n| {
        let text = "x".repeat(900);
        let (summed, item) = (&summed, Summed { key: 1, n, text });
        async move { summed.append(&item).await }
    });
    try_join_all(appends).await.unwrap();
    bounded(&summed).await;
    for bucket in documents(summed.collection()).await {
        let items = bucket.get_array("items").unwrap().iter();
        let n = |item: &Bson| number(item.as_document().unwrap().get("n"));
        let kept = bucket.get_document("rollup").unwrap();
        let kept = kept.get_document("n").unwrap();
        assert_eq!(number(kept.get("count")), items.len() as i64, "{bucket}");
        assert_eq!(
            number(kept.get("sum")),
            items.map(n).sum::<i64>(),
            "{bucket}"
        );
    }
}
