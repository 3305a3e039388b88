//! The errors of a collection that is not as it should be; and following the advice in each error's
//! text helps.

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::{
        Database, IndexModel,
        bson::{Document, doc},
        options::{Collation, CollationStrength, IndexOptions},
    },
};

use crate::support::{
    database::{Live, documents, fresh, is_cluster, items},
    zoo::entries::{Entry, Numbered10, Numbered20, Seconds5, Seconds10},
};

pub(crate) async fn append<T: Entry>(
    entries: &Buckets<T>,
    k: &str,
    n: impl IntoIterator<Item = i64>,
) -> Result<(), Error> {
    for n in n {
        entries.append(&T::new(k, n)).await?;
    }
    Ok(())
}

pub(crate) async fn read<T: Entry>(entries: &Buckets<T>, k: &str) -> Vec<i64> {
    items(entries, k).await.iter().map(T::n).collect()
}

/// The error of an opening.
pub(crate) async fn refused<T: Entry>(db: &Database) -> Error {
    let error = T::buckets(db)
        .await
        .expect_err("the collection must be refused");
    assert_eq!(error.collection(), format!("{}.entries", db.name()));
    assert!(error.to_string().contains(error.collection()), "{error}");
    assert!(!error.is_maybe_stored(), "{error}");
    error
}

async fn missing_index<T: Entry>(db: &Database) {
    let entries = fresh::<T>(db).await;
    for k in ["fresh", "begun"] {
        append(&entries, "begun", [0]).await.unwrap();
        // It remembers no bucket, which it would fill by its id.
        let other = T::buckets(db).await.unwrap();
        let names = entries.collection().list_index_names().await.unwrap();
        let is_open = |name: &&String| name.starts_with("bucket_open");
        let open = names.iter().find(is_open).unwrap();
        entries.collection().drop_index(open).await.unwrap();
        let before = documents(entries.collection()).await;
        let error = append(&other, k, [1]).await.unwrap_err();
        assert!(
            error.is_index_missing() && !error.is_maybe_stored(),
            "{error}"
        );
        assert_eq!(error.key(), Some(&*format!("{k:?}")));
        let said = "open the collection again with `buckets`";
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(documents(entries.collection()).await, before);
        // The old handle works again, too.
        let _ = T::buckets(db).await.unwrap();
        append(&other, k, [2]).await.unwrap();
        assert_eq!(read(&entries, k).await.last(), Some(&2));
    }
}

#[bucket_testkit::test]
async fn without_the_index_nothing_is_stored_until_the_collection_is_opened_again(db: Live) {
    missing_index::<Seconds10>(&db).await;
    missing_index::<Numbered10>(&db).await;
}

/// Writes with one capacity, is refused with another, follows each advice in the error, and goes on.
async fn change_capacity<Old: Entry, New: Entry>(db: &Database) {
    let old = fresh::<Old>(db).await;
    // Two full buckets and an open one; a full one; one that is full for a smaller capacity; one hardly
    // begun.
    for (k, n) in [("many", 23), ("full", 10), ("most", 7), ("few", 2)] {
        append(&old, k, 0..n).await.unwrap();
    }
    let error = refused::<New>(db).await;
    assert!(
        error.is_capacity_mismatch() && !error.is_index_conflict(),
        "{error}"
    );
    for said in [
        "`capacity = 10`",
        &format!("says {}", New::SPEC.capacity),
        "`stored_capacity(true)`",
        "the struct's `change_capacity`",
    ] {
        assert!(error.to_string().contains(said), "{error}");
    }
    // Nothing has changed: the old struct still works.
    let old = Old::buckets(db).await.unwrap();
    append(&old, "few", [2]).await.unwrap();
    let new = New::buckets(db).stored_capacity(true).await.unwrap();
    append(&new, "few", [3]).await.unwrap();

    Ops::<New>::of(db).change_capacity().await.unwrap();
    let new = New::buckets(db).await.unwrap();
    for (k, n) in [("many", 23), ("full", 10), ("most", 7), ("few", 4)] {
        append(&new, k, n..n + 30).await.unwrap();
        assert_eq!(read(&new, k).await, (0..n + 30).collect::<Vec<_>>(), "{k}");
    }
    // The next change starts from here.
    assert!(refused::<Old>(db).await.is_capacity_mismatch());
}

#[bucket_testkit::test]
async fn following_the_refusal_of_another_capacity_changes_the_capacity(db: Live) {
    change_capacity::<Seconds10, Seconds5>(&db).await;
    change_capacity::<Numbered10, Numbered20>(&db).await;
}

#[bucket_testkit::test]
async fn an_index_of_that_name_that_is_not_ours_is_refused_and_kept(db: Live) {
    if is_cluster().await {
        // No such unique index fits the shard key.
        return;
    }
    let entries = db.collection::<Document>("entries");
    let ours = || doc! { "k": 1, "sealed": 1 };
    let open = || doc! { "count": { "$lt": 10 } };
    let named = || IndexOptions::builder().name("bucket_open".to_owned());
    let unique_if = |filter| named().unique(true).partial_filter_expression(filter);
    let insensitive = Collation::builder()
        .locale("en")
        .strength(CollationStrength::Secondary);
    let foreign = [
        (doc! { "other": 1 }, named().build()),
        (doc! { "k": 1 }, unique_if(open()).build()),
        (doc! { "sealed": 1, "k": 1 }, unique_if(open()).build()),
        // Not unique: it would not refuse a second open bucket.
        (ours(), named().partial_filter_expression(open()).build()),
        // Not partial: it would refuse the second full bucket of a key.
        (ours(), named().unique(true).build()),
        (ours(), unique_if(doc! { "count": 3 }).build()),
        // With this collation "a" and "A" are one key.
        (
            ours(),
            unique_if(open()).collation(insensitive.build()).build(),
        ),
    ];
    for (keys, options) in foreign {
        let model = IndexModel::builder().keys(keys).options(options).build();
        entries.create_index(model.clone()).await.unwrap();
        let Err(error) = Seconds10::buckets(&db).await else {
            panic!("taken for our index: {model:?}")
        };
        assert!(
            error.is_index_conflict() && !error.is_capacity_mismatch(),
            "{error}"
        );
        // The index may guard the buckets of another struct.
        let text = error.to_string();
        assert!(text.contains("a collection of its own"), "{text}");
        assert!(!text.contains("drop"), "{text}");
        entries
            .drop_index("bucket_open")
            .await
            .expect("the index is still there");
    }
    let entries = Seconds10::buckets(&db).await.unwrap();
    append(&entries, "a", [0]).await.unwrap();
}
