//! Which commands a call sends, and how the server carries them out.

use bucket_runtime::{
    Outlier,
    mongodb::{
        IndexModel,
        bson::{Document, doc},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::database::{Recorded, documents, explain, is_cluster, number};

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

fn targets(commands: &[Document]) -> Vec<(String, String)> {
    let target = |command: &Document| {
        let (name, collection) = command.iter().next().unwrap();
        (
            name.clone(),
            collection.as_str().unwrap_or_default().to_owned(),
        )
    };
    commands.iter().map(target).collect()
}

fn to(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(name, of)| ((*name).to_owned(), (*of).to_owned()))
        .collect()
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
        assert_eq!(targets(&record.take()), to(&[("insert", "albums")]));
        let written = bucket_runtime::mongodb::bson::Bson::Document(
            albums
                .collection()
                .find_one(doc! { "_id": id })
                .await
                .unwrap()
                .unwrap(),
        );
        let serde = album
            .serialize(bucket_runtime::mongodb::bson::Serializer::new())
            .unwrap();
        assert_eq!(written, serde);
        let names = written.as_document().unwrap().keys();
        assert!(
            names.eq(["_id", "fullTitle", "rating", "heardBy"]),
            "{written}"
        );
    }
    assert_eq!(documents(albums.extras_collection()).await, []);
    record.take();
    albums.insert(&album(4, 51)).await.unwrap();
    let commands = targets(&record.take());
    assert_eq!(commands[0], to(&[("insert", "albums")])[0]);
    assert!(commands.len() <= 4, "{commands:?}");
}

#[bucket_testkit::test]
async fn a_push_is_one_command_and_one_more_to_an_outlier(Recorded(db, record): Recorded) {
    let albums = Album::outliers(&db).await.unwrap();
    albums.insert(&album(1, 0)).await.unwrap();
    record.take();
    for n in 0..50 {
        albums.push(&1, n).await.unwrap();
        assert_eq!(targets(&record.take()), to(&[("update", "albums")]), "{n}");
    }
    albums.push(&1, 50).await.unwrap();
    let commands = record.take();
    assert!(commands.len() <= 6, "{:?}", targets(&commands));
    // From then on the handle knows that it is an outlier, and looks whether it is still there.
    let to_outlier = [("find", "albums"), ("update", "moreListeners")];
    for n in 51..60 {
        albums.push(&1, n).await.unwrap();
        assert_eq!(targets(&record.take()), to(&to_outlier), "{n}");
    }
    // The next page, then two commands again.
    albums.push(&1, 60).await.unwrap();
    assert!(record.take().len() <= 7);
    albums.push(&1, 61).await.unwrap();
    assert_eq!(targets(&record.take()), to(&to_outlier));
    // Another handle learns that from one push.
    let other = Album::outliers(&db).await.unwrap();
    record.take();
    other.push(&1, 62).await.unwrap();
    let learned = record.take().len();
    assert!((2..=4).contains(&learned), "{learned}");
    other.push(&1, 63).await.unwrap();
    assert_eq!(targets(&record.take()), to(&to_outlier));
    // Many values that fit are one command, too.
    albums.insert(&album(2, 0)).await.unwrap();
    record.take();
    albums.push_many(&2, 0..50).await.unwrap();
    assert_eq!(targets(&record.take()), to(&[("update", "albums")]));
}

#[bucket_testkit::test]
async fn reads_cost_what_they_say(Recorded(db, record): Recorded) {
    if is_cluster().await {
        // A `mongos` explains differently.
        return;
    }
    let albums = Album::outliers(&db).await.unwrap();
    for (id, listeners) in [(1, 3), (2, 55), (3, 2000)] {
        albums.insert(&album(id, listeners)).await.unwrap();
    }
    record.take();
    for (id, has_extras) in [(1, false), (2, true), (3, true)] {
        let found = albums.get(&id).await.unwrap().unwrap();
        assert_eq!(found.has_extras, has_extras);
        let commands = record.take();
        assert_eq!(targets(&commands), to(&[("find", "albums")]), "get {id}");
        let explained = explain(&db, commands[0].clone()).await;
        let stats = explained.get_document("executionStats").unwrap();
        assert_eq!(number(stats.get("totalDocsExamined")), 1);
        assert_eq!(
            albums.count(&id).await.unwrap(),
            [3, 55, 2000][id as usize - 1]
        );
        assert_eq!(
            record.take().len(),
            if has_extras { 2 } else { 1 },
            "count {id}"
        );
    }
    assert_eq!(albums.get_all(&1).await.unwrap(), Some(album(1, 3)));
    assert_eq!(targets(&record.take()), to(&[("find", "albums")]));
    let all: Vec<_> = albums.items(&1).await.unwrap().try_collect().await.unwrap();
    assert_eq!((all.len(), record.take().len()), (3, 1));

    let found: Vec<_> = albums
        .find(doc! {})
        .sort(doc! { "_id": -1 })
        .skip(1)
        .limit(2)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let ids: Vec<_> = found
        .iter()
        .map(|found| (found.document.id, found.has_extras))
        .collect();
    assert_eq!(ids, [(2, true), (1, false)]);
    assert_eq!(
        targets(&record.take()),
        to(&[("find", "albums")]),
        "a command reached the extras"
    );
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
            albums
                .extras_collection()
                .insert_many((full..pages).map(page))
                .await
                .unwrap();
            full = pages;
        }
        let albums = Album::outliers(&db).await.unwrap();
        record.take();
        // Pushes of a handle that knows nothing: the flag, a new page, an open page; then of a handle
        // that knows the parent.
        for n in 0..3 {
            albums.push(&2, n).await.unwrap();
            for command in record.take() {
                let explained = explain(&db, command.clone()).await;
                let stats = explained.get_document("executionStats").unwrap();
                let keys = number(stats.get("totalKeysExamined"));
                let documents = number(stats.get("totalDocsExamined"));
                assert!(keys <= 1, "{pages}: {command}: {stats}");
                assert!(documents <= 1, "{pages}: {command}: {stats}");
            }
        }
        albums
            .extras_collection()
            .delete_many(doc! { "count": { "$lt": 10 } })
            .await
            .unwrap();
    }
    // A typical parent.
    albums.insert(&album(4, 7)).await.unwrap();
    record.take();
    albums.push(&4, 1).await.unwrap();
    let explained = explain(&db, record.take().remove(0)).await;
    let stats = explained.get_document("executionStats").unwrap();
    assert_eq!(number(stats.get("totalKeysExamined")), 1);
    assert_eq!(number(stats.get("totalDocsExamined")), 1);
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
    let extras: Vec<_> = albums
        .extras(&7)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(extras.len(), 5);
    for command in record.take() {
        let explained = explain(&db, command.clone()).await;
        let stats = explained.get_document("executionStats").unwrap();
        assert!(
            number(stats.get("totalDocsExamined")) <= 5,
            "{command}: {stats}"
        );
    }
    // A read that goes on from a token does not look at the documents before it.
    let last = albums.items(&7).newest_first().page_of_items(2);
    let token = last.await.unwrap().next.unwrap();
    record.take();
    let rest = albums.items(&7).page_of_items(5).after(&token);
    assert_eq!(rest.await.unwrap().items.len(), 2);
    for command in record.take() {
        let explained = explain(&db, command.clone()).await;
        let stats = explained.get_document("executionStats").unwrap();
        assert!(
            number(stats.get("totalDocsExamined")) <= 1,
            "{command}: {stats}"
        );
    }
    let again = Album::outliers(&db).await.unwrap();
    assert_eq!(record.take().len(), 3, "opening what exists");
    drop(again);
}
