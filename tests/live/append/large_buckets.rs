//! Buckets that are decoded ahead of their reader come in order, and so do the errors among them.

use bucket_runtime::{
    Bucket, Buckets, Error,
    mongodb::bson::{DateTime, doc},
};
use futures_util::{StreamExt, TryStreamExt};
use rand::Rng;

use crate::support::database::{Live, items, pages};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "photos", id = "{album}_{#}", capacity = 5)]
struct Photo {
    album: String,
    n: usize,
    at: DateTime,
    pixels: String,
}

/// Fills buckets of which some are large enough to be decoded in a task of their own.
async fn fill(buckets: &Buckets<Photo>, photos: usize) -> Vec<Photo> {
    let photo = |n| {
        let mut random = rand::rng();
        let most = [10, 10_000][random.random_range(0..2)];
        Photo {
            album: "a".into(),
            n,
            at: DateTime::from_millis(n as i64),
            pixels: "x".repeat(random.random_range(0..most)),
        }
    };
    let photos = Vec::from_iter((0..photos).map(photo));
    buckets.append_many(photos.clone()).await.unwrap();
    photos
}

#[bucket_testkit::test(multi_thread)]
async fn large_and_small_buckets_come_in_order(db: Live) {
    let buckets = Photo::buckets(&db).await.unwrap();
    // More buckets than the 101 documents of the server's first batch.
    let mut expected = fill(&buckets, 1_203).await;
    assert!(items(&buckets, "a").await == expected, "oldest first");
    let pages = pages(&buckets, "a").await.into_iter();
    let of_pages = Vec::from_iter(pages.flat_map(|page| page.items));
    assert!(of_pages == expected, "by pages");

    let mut client = db.client().start_session().await.unwrap();
    let in_session = buckets.items("a").session(&mut client).await.unwrap();
    let in_session: Vec<_> = in_session.try_collect().await.unwrap();
    assert!(in_session == expected, "in a session");

    expected.reverse();
    let newest = buckets.items("a").newest_first().skip(7).limit(600);
    let newest: Vec<_> = newest.await.unwrap().try_collect().await.unwrap();
    assert!(newest == expected[7..607], "newest first");
}

#[bucket_testkit::test]
async fn a_bucket_that_cannot_be_read_comes_after_those_before_it(db: Live) {
    let buckets = Photo::buckets(&db).await.unwrap();
    let expected = fill(&buckets, 300).await;
    for unreadable in [0, 1, 7, 30, 59] {
        let id = format!("a_{unreadable:010}");
        let bucket = doc! { "_id": &id };
        let pixels = "x".repeat(40_000);
        let broken = doc! { "$push": { "items": { "n": "none", "pixels": &pixels } } };
        let collection = buckets.collection();
        collection.update_one(bucket.clone(), broken).await.unwrap();
        let mut items = buckets.items("a").await.unwrap();
        let mut read = Vec::new();
        let error: Error = loop {
            match items.next().await.unwrap() {
                Ok(photo) => read.push(photo),
                Err(error) => break error,
            }
        };
        let of_earlier = &expected[..unreadable * 5];
        assert!(read == of_earlier, "{unreadable}: {}", read.len());
        assert!(error.is_deserialize(), "{error}");
        assert!(error.to_string().contains(&id), "{error}");
        assert!(items.next().await.is_none(), "{error}");
        let mend = doc! { "$pop": { "items": 1 } };
        collection.update_one(bucket, mend).await.unwrap();
    }
}
