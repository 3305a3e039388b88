//! Documents that cannot be read: nothing is lost, other keys are unaffected, and the error says where
//! to look.

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::bson::{Bson, DateTime, Document, doc},
};
use futures_util::TryStreamExt;

use crate::support::{
    assert_refused,
    database::{Live, documents, items},
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "texts", id = "{k}_{at}", capacity = 10)]
struct Text {
    k: String,
    at: DateTime,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "numbered", id = "{k}_{#}", capacity = 10)]
struct Numbered {
    k: String,
    text: String,
}

fn text(k: &str, bytes: usize) -> Text {
    Text {
        k: k.into(),
        at: DateTime::from_millis(1_698_335_223_434),
        text: "x".repeat(bytes),
    }
}

fn numbered(k: &str, bytes: usize) -> Numbered {
    Numbered {
        k: k.into(),
        text: "x".repeat(bytes),
    }
}

/// Documents among the buckets of key "bad" that are no buckets.
fn bad_documents() -> Vec<Document> {
    let at = DateTime::from_millis(0);
    let good = || Bson::from(doc! { "at": at, "text": "x" });
    let with_items = |items: Bson| doc! { "k": "bad", "count": 1, "items": items };
    let with_element = |element: Bson| with_items(vec![good(), element].into());
    let mut all = vec![
        with_items("text".into()),
        with_items(doc! { "0": good() }.into()),
        with_items(Bson::Null),
        doc! { "k": "bad", "count": 1 },
        with_element(5.into()),
        with_element(Bson::Null),
        with_element(vec![good()].into()),
        with_element(doc! { "at": at }.into()),
        with_element(doc! { "text": "x" }.into()),
        with_element(doc! { "at": at, "text": 5 }.into()),
        with_element(doc! { "at": "2023-10-26", "text": "x" }.into()),
    ];
    for bad in &mut all {
        bad.insert("_id", "bad_1698335223");
    }
    all
}

/// Documents among the ids of the key "bad" that belong to other keys.
fn documents_of_others() -> Vec<Document> {
    let good = || Bson::from(doc! { "at": DateTime::from_millis(0), "text": "x" });
    let with_key = |key: Bson| doc! { "k": key, "count": 1, "items": [good()] };
    let mut all = vec![
        doc! { "count": 1, "items": [good()] },
        with_key(5.into()),
        with_key(Bson::Null),
        with_key(doc! { "k": "bad" }.into()),
        with_key("bad ".into()),
        with_key("good".into()),
    ];
    for other in &mut all {
        other.insert("_id", "bad_1698335223");
    }
    // An id that no bucket of this format has.
    all.push(doc! { "_id": "bad_good", "k": "good_", "count": 1, "items": [good()] });
    all
}

async fn reads(texts: &Buckets<Text>, k: &str) -> Vec<Result<(), Error>> {
    let items = texts.items(k).await.unwrap();
    let pages = texts.pages(k).await.unwrap();
    vec![
        texts.page(k, 1).await.map(drop),
        texts.latest(k).await.map(drop),
        texts.items(k).page_of_items(5).await.map(drop),
        items.try_collect::<Vec<_>>().await.map(drop),
        pages.try_collect::<Vec<_>>().await.map(drop),
    ]
}

#[bucket_testkit::test]
async fn a_document_that_is_no_bucket_is_an_error_that_names_it_and_other_keys_are_readable(
    db: Live,
) {
    let texts = Text::buckets(&db).await.unwrap();
    let good = [text("good", 1), text("good", 2)];
    for good in &good {
        texts.append(good).await.unwrap();
    }
    for mut bad in bad_documents() {
        let id = bad.get_str("_id").unwrap().to_owned();
        // The index would refuse a second open bucket for "good", but not a full one.
        bad.insert("count", 10);
        texts.collection().insert_one(&bad).await.unwrap();
        for read in reads(&texts, "bad").await {
            let error = read.expect_err(&format!("{bad} was read"));
            assert_refused(&error, Error::is_deserialize);
            let namespace = texts.collection().namespace();
            assert_eq!(error.collection(), namespace.to_string());
            assert_eq!(error.key(), Some("\"bad\""));
            for said in [error.collection(), "\"bad\"", &*format!("{id:?}")] {
                assert!(error.to_string().contains(said), "{error}");
            }
        }
        assert_eq!(items(&texts, "good").await, good);
        let deleted = texts.collection().delete_one(doc! { "_id": id }).await;
        assert_eq!(deleted.unwrap().deleted_count, 1);
    }
}

/// G4: what another program stored among the ids of a key is not the key's, and `verify` lists it.
#[bucket_testkit::test]
async fn a_document_without_the_key_is_not_read_as_the_keys_and_is_listed(db: Live) {
    let texts = Text::buckets(&db).await.unwrap();
    for mut other in documents_of_others() {
        // The index would refuse a second open bucket for "good", but not a full one.
        other.insert("count", 10);
        texts.collection().insert_one(&other).await.unwrap();
        assert!(texts.latest("bad").await.unwrap().is_none(), "{other}");
        assert_eq!(items(&texts, "bad").await, [], "{other}");
        assert_eq!(texts.count("bad").await.unwrap(), 0, "{other}");
        let verified = Ops::<Text>::of(&db).verify().await.unwrap();
        assert_ne!(verified.problems, [], "{other}");
        let all = texts.collection().delete_many(doc! {}).await.unwrap();
        assert_eq!(all.deleted_count, 1);
    }
}

/// Fields that another tool added do not matter.
#[bucket_testkit::test]
async fn a_bucket_with_further_fields_is_read(db: Live) {
    let texts = Text::buckets(&db).await.unwrap();
    texts.append(&text("k", 1)).await.unwrap();
    let update = doc! { "$set": { "note": { "by": ["someone"] }, "items.0.more": 1 } };
    let updated = texts.collection().update_one(doc! {}, update).await;
    assert_eq!(updated.unwrap().modified_count, 1);
    texts.append(&text("k", 2)).await.unwrap();
    assert_eq!(items(&texts, "k").await, [text("k", 1), text("k", 2)]);
}

#[bucket_testkit::test]
async fn an_append_into_a_bucket_without_an_array_is_refused_and_changes_nothing(db: Live) {
    let texts = Text::buckets(&db).await.unwrap();
    let bad = doc! { "_id": "k_1698335223", "k": "k", "count": 1, "items": "text" };
    texts.collection().insert_one(&bad).await.unwrap();
    let error = texts.append(&text("k", 1)).await.unwrap_err();
    assert!(!error.is_maybe_stored(), "{error}");
    assert!(!error.is_index_conflict(), "{error}");
    assert_eq!(error.key(), Some("\"k\""));
    assert_eq!(documents(texts.collection()).await, [bad]);
}

/// No next number follows from an id that has no number.
#[bucket_testkit::test]
async fn a_foreign_id_among_the_numbers_is_an_error_that_names_it(db: Live) {
    let numbers = Numbered::buckets(&db).await.unwrap();
    let foreign = doc! { "_id": "k_zebra", "k": "k", "count": 10, "items": [] };
    numbers.collection().insert_one(&foreign).await.unwrap();
    let error = numbers.append(&numbered("k", 1)).await.unwrap_err();
    assert_refused(&error, Error::is_deserialize);
    assert!(error.to_string().contains("\"k_zebra\""), "{error}");
    assert_eq!(documents(numbers.collection()).await, [foreign]);
    numbers.append(&numbered("other", 1)).await.unwrap();
}

/// An open bucket of the key whose id is outside the key's range. A change of the struct's id format
/// leaves such buckets behind, and the manual's upsert creates them for a key that this library
/// escapes. No read would ever find an item in there, so the append must be refused.
#[bucket_testkit::test]
async fn an_item_is_never_put_where_no_read_finds_it(db: Live) {
    let texts = Text::buckets(&db).await.unwrap();
    let numbers = Numbered::buckets(&db).await.unwrap();
    let element = doc! { "at": DateTime::from_millis(0), "text": "x" };
    for (id, k) in [("a_b_1698335223", "a_b"), ("c-1698335223", "c")] {
        let open = doc! { "_id": id, "k": k, "count": 1, "items": [element.clone()] };
        texts.collection().insert_one(&open).await.unwrap();
        numbers.collection().insert_one(&open).await.unwrap();
        match texts.append(&text(k, 2)).await {
            Ok(_) => assert_eq!(items(&texts, k).await.last(), Some(&text(k, 2))),
            Err(error) => assert!(error.to_string().contains(id), "{error}"),
        }
        match numbers.append(&numbered(k, 2)).await {
            Ok(_) => assert_eq!(items(&numbers, k).await.last(), Some(&numbered(k, 2))),
            Err(error) => assert!(error.to_string().contains(id), "{error}"),
        }
    }
}
