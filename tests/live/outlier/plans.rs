//! Which commands a call sends, and how the server carries them out.

use bucket_runtime::{
    Outlier,
    mongodb::{
        IndexModel,
        bson::{Document, Serializer, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Recorded, documents, is_cluster},
    plans::{examined, examines},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[serde(rename_all = "camelCase")]
#[outlier(
    collection = "albums",
    extras = "moreListeners",
    reference = "albumId",
    threshold = 50,
    extras_capacity = 10
)]
struct Album {
    #[serde(rename = "_id")]
    id: i64,
    full_title: String,
    rating: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[outlier(items)]
    heard_by: Vec<i64>,
}

fn album(id: i64, listeners: i64) -> Album {
    Album {
        id,
        full_title: format!("album {id}"),
        rating: None,
        tags: vec![],
        heard_by: (0..listeners).collect(),
    }
}

/// The names of these commands, each with its collection.
fn targets(commands: &[Document]) -> Vec<String> {
    let target = |command: &Document| {
        let (name, collection) = command.iter().next().unwrap();
        format!("{name} {}", collection.as_str().unwrap_or_default())
    };
    commands.iter().map(target).collect()
}

#[bucket_testkit::test]
async fn an_insert_of_a_typical_parent_is_one_insert_of_what_serde_writes(
    Recorded(db, record): Recorded,
) {
    let albums = Album::outliers(&db).await.unwrap();
    for (id, listeners) in [(1, 0), (2, 3), (3, 50)] {
        record.take();
        let album = album(id, listeners);
        albums.insert(&album).await.unwrap();
        assert_eq!(targets(&record.take()), ["insert albums"]);
        let written = albums.collection().find_one(doc! { "_id": id }).await;
        let written: Document = written.unwrap().unwrap();
        let serde = album.serialize(Serializer::new()).unwrap();
        assert_eq!(Some(&written), serde.as_document());
        let names = ["_id", "fullTitle", "rating", "heardBy"];
        assert!(written.keys().eq(names), "{written}");
    }
    assert_eq!(documents(albums.extras_collection()).await, []);
    record.take();
    albums.insert(&album(4, 51)).await.unwrap();
    let commands = targets(&record.take());
    assert_eq!(commands[0], "insert albums");
    assert!(commands.len() <= 4, "{commands:?}");
}

#[bucket_testkit::test]
async fn a_push_is_one_command_and_one_more_to_an_outlier(Recorded(db, record): Recorded) {
    let albums = Album::outliers(&db).await.unwrap();
    albums.insert(&album(1, 0)).await.unwrap();
    record.take();
    for n in 0..50 {
        albums.push(&1, n).await.unwrap();
        assert_eq!(targets(&record.take()), ["update albums"], "{n}");
    }
    albums.push(&1, 50).await.unwrap();
    let commands = record.take();
    assert!(commands.len() <= 6, "{:?}", targets(&commands));
    // From then on the handle knows that it is an outlier, and looks whether it is still there.
    let to_outlier = ["find albums", "update moreListeners"];
    for n in 51..60 {
        albums.push(&1, n).await.unwrap();
        assert_eq!(targets(&record.take()), to_outlier, "{n}");
    }
    // The next page, then two commands again.
    albums.push(&1, 60).await.unwrap();
    assert!(record.take().len() <= 6);
    albums.push(&1, 61).await.unwrap();
    assert_eq!(targets(&record.take()), to_outlier);
    // Another handle learns that from one push.
    let other = Album::outliers(&db).await.unwrap();
    record.take();
    other.push(&1, 62).await.unwrap();
    let learned = record.take().len();
    assert!((2..=4).contains(&learned), "{learned}");
    other.push(&1, 63).await.unwrap();
    assert_eq!(targets(&record.take()), to_outlier);
    // Many values that fit are one command, too.
    albums.insert(&album(2, 0)).await.unwrap();
    record.take();
    albums.push_many(&2, 0..50).await.unwrap();
    assert_eq!(targets(&record.take()), ["update albums"]);
}

#[bucket_testkit::test]
async fn a_push_examines_one_key_and_one_document_however_many_extras(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let albums = Album::outliers(&db).await.unwrap();
    // Neighbouring ids on both sides.
    for id in [1, 2, 3, 22] {
        albums.insert(&album(id, 50)).await.unwrap();
    }
    let mut full = 0;
    for pages in [0, 100, 2000] {
        if full < pages {
            let page = |n: i64| {
                doc! { "_id": format!("2_{n:010}"), "albumId": 2_i64, "count": 10, "heardBy_extra": vec![0_i64; 10] }
            };
            let extras = albums.extras_collection();
            extras.insert_many((full..pages).map(page)).await.unwrap();
            full = pages;
        }
        let albums = Album::outliers(&db).await.unwrap();
        record.take();
        // Pushes of a handle that knows nothing: the flag, a new page, an open page; then of a handle
        // that knows the parent.
        for n in 0..3 {
            albums.push(&2, n).await.unwrap();
            for plan in examined(&db, &record).await {
                assert!(
                    plan.keys <= 1 && plan.documents <= 1,
                    "{pages}, {n}: {plan:?}"
                );
            }
        }
        let open = doc! { "count": { "$lt": 10 } };
        albums.extras_collection().delete_many(open).await.unwrap();
    }
    // A typical parent.
    albums.insert(&album(4, 7)).await.unwrap();
    record.take();
    albums.push(&4, 1).await.unwrap();
    assert_eq!(examined(&db, &record).await, [examines(1, 1)]);
}

/// The index on the reference field that the manual asks for, and the one that pages need.
#[bucket_testkit::test]
async fn the_extras_have_the_manuals_index_and_the_reads_by_reference_use_one(
    Recorded(db, record): Recorded,
) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let albums = Album::outliers(&db).await.unwrap();
    record.assert_opened(true).await;
    let indexes = albums.extras_collection().list_indexes().await.unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let plain = |index: &&IndexModel| {
        let options = index.options.clone().unwrap_or_default();
        index.keys.keys().next().unwrap() == "albumId"
            && options.partial_filter_expression.is_none()
    };
    assert!(indexes.iter().any(|index| plain(&index)), "{indexes:?}");
    for id in 0..20 {
        albums.insert(&album(id, 100)).await.unwrap();
    }
    record.take();
    let extras = albums.extras(&7).await.unwrap();
    let extras: Vec<_> = extras.try_collect().await.unwrap();
    assert_eq!(extras.len(), 5);
    for plan in examined(&db, &record).await {
        assert!(plan.documents <= 5, "{plan:?}");
    }
    // A read that goes on from a token does not look at the documents before it.
    let last = albums.items(&7).newest_first().page_of_items(2);
    let token = last.await.unwrap().next.unwrap();
    record.take();
    let rest = albums.items(&7).page_of_items(5).after(&token);
    assert_eq!(rest.await.unwrap().items.len(), 2);
    for plan in examined(&db, &record).await {
        assert!(plan.documents <= 1, "{plan:?}");
    }
    let again = Album::outliers(&db).await.unwrap();
    assert_eq!(record.take().len(), 3, "opening what exists");
    drop(again);
}
