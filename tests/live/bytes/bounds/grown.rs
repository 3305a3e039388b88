//! Items that grow, and what buckets keep of those that found room.

use bucket_runtime::{Bucket, mongodb::bson::Bson};
use futures_util::future::try_join_all;

use super::bounded;
use crate::support::database::{Live, documents, number};

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
    let counts = buckets.iter().map(|bucket| number(bucket.get("count")));
    assert_eq!(Vec::from_iter(counts), [3, 1]);
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
        let sum = items.map(n).sum::<i64>();
        assert_eq!(number(kept.get("sum")), sum, "{bucket}");
    }
}
