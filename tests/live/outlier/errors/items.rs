//! Items that cannot be stored: nothing is lost, and the error says what is wrong and what is left.

use bucket_runtime::{Error, Outlier, Outliers, mongodb::bson::doc};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};

use crate::{
    outlier::support::{fresh, verify},
    support::{
        assert_refused,
        database::{Live, documents},
    },
};

const MB: usize = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "albums",
    extras = "more_photos",
    reference = "album",
    threshold = 3,
    extras_capacity = 4
)]
pub(crate) struct Album {
    #[serde(rename = "_id")]
    id: String,
    #[outlier(items)]
    photos: Vec<Photo>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Photo(String);

impl Serialize for Photo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_str() {
            "refuses" => Err(S::Error::custom("refused by itself")),
            text => serializer.serialize_str(text),
        }
    }
}

pub(crate) fn album(photos: &[usize]) -> Album {
    Album {
        id: "summer".into(),
        photos: photos.iter().map(|size| photo(*size)).collect(),
    }
}

fn photo(size: usize) -> Photo {
    Photo("x".repeat(size))
}

async fn sizes(albums: &Outliers<Album>) -> Vec<usize> {
    let photos = albums.items("summer").await.unwrap();
    let photos: Vec<Photo> = photos.try_collect().await.unwrap();
    photos.iter().map(|photo| photo.0.len()).collect()
}

#[bucket_testkit::test]
async fn what_no_document_can_hold_is_too_large_wherever_it_would_go(db: Live) {
    let albums = fresh::<Album>(&db).await;
    for photos in [vec![9 * MB, 9 * MB], vec![50 * MB]] {
        let error = albums.insert(&album(&photos)).await.unwrap_err();
        assert_refused(&error, Error::is_too_large);
        assert_eq!(error.stored(), 0, "{error}");
        assert_eq!(documents(albums.collection()).await, []);
    }
    for begin in [0, 3, 4] {
        let own = vec![1; begin];
        albums.insert(&album(&own)).await.unwrap();
        for known in [false, true] {
            for size in [16 * MB, 50 * MB] {
                let error = albums.push("summer", photo(size)).await.unwrap_err();
                assert_refused(&error, Error::is_too_large);
                assert_eq!(error.key(), Some("\"summer\""));
            }
            albums.push("summer", photo(2)).await.unwrap();
            let pushed = vec![2; usize::from(known) + 1];
            assert_eq!(sizes(&albums).await, [own.clone(), pushed].concat());
        }
        assert_eq!(verify(&albums).await.unwrap(), []);
        albums.delete("summer").await.unwrap();
    }
}

/// The values that earlier commands carried are stored; the others, from that command on, are handed
/// back.
#[bucket_testkit::test]
async fn push_many_hands_back_exactly_what_is_not_stored(db: Live) {
    let albums = fresh::<Album>(&db).await;
    for begin in [0, 3, 5] {
        for at in 0..9 {
            let own = vec![1; begin];
            albums.insert(&album(&own)).await.unwrap();
            let mut photos: Vec<Photo> = (10..24).map(photo).collect();
            photos[at] = photo(17 * MB);
            let pushed = albums.push_many("summer", photos.clone()).await;
            let error = pushed.unwrap_err();
            assert_refused(&error.error, Error::is_too_large);
            let stored = photos.len() - error.rest.len();
            assert!(stored <= at, "the bad value is stored");
            // A command carries at most one page's capacity, so at most three good values before the
            // bad one come back.
            assert!(at - stored < 4, "{at}: {stored}");
            assert_eq!(error.rest, photos[stored..]);
            let expected = [own, (10..10 + stored).collect()].concat();
            assert_eq!(sizes(&albums).await, expected);
            // The rest can be pushed without the bad value.
            let mut rest = error.rest;
            rest.remove(at - stored);
            albums.push_many("summer", rest).await.unwrap();
            let mut expected = [vec![1; begin], (10..24).collect()].concat();
            expected.remove(begin + at);
            assert_eq!(sizes(&albums).await, expected);
            albums.delete("summer").await.unwrap();
        }
    }
    assert_eq!(verify(&albums).await.unwrap(), []);
}

#[bucket_testkit::test]
async fn an_insert_that_fails_in_its_extras_says_how_many_are_stored(db: Live) {
    let albums = fresh::<Album>(&db).await;
    // Somebody else's validator, unknown to the library.
    let is_short = doc! { "$lt": [{ "$strLenBytes": "$$this" }, 1000] };
    let photos = format!("${}", Album::SPEC.extra_items);
    let are_short = doc! { "$map": { "input": photos, "in": is_short } };
    let validator = doc! { "$expr": { "$allElementsTrue": [are_short] } };
    let change = doc! { "collMod": Album::SPEC.extras, "validator": validator };
    db.run_command(change).await.unwrap();
    for at in 3..14 {
        let mut photos: Vec<usize> = (10..24).collect();
        photos[at] = 2000;
        let error = albums.insert(&album(&photos)).await.unwrap_err();
        assert!(!error.is_maybe_stored(), "{error}");
        let stored = error.stored();
        assert!((3..=at).contains(&stored), "{error}");
        let said = format!("first {stored} items");
        assert!(error.to_string().contains(&said), "{error}");
        assert_eq!(sizes(&albums).await, photos[..stored]);
        photos.remove(at);
        let rest = photos[stored..].iter().map(|size| photo(*size));
        albums.push_many("summer", rest).await.unwrap();
        assert_eq!(sizes(&albums).await, photos);
        albums.delete("summer").await.unwrap();
    }
}

#[bucket_testkit::test]
async fn an_item_that_refuses_to_be_written_stops_all_before_anything_is_sent(db: Live) {
    let albums = fresh::<Album>(&db).await;
    let refuses = Photo("refuses".into());
    let mut bad = album(&[1, 2, 3, 4, 5, 6]);
    albums.insert(&bad).await.unwrap();
    let before = sizes(&albums).await;
    let check = |error: &Error| {
        assert_refused(error, Error::is_serialize);
        assert!(error.to_string().contains("refused by itself"), "{error}");
    };
    check(&albums.push("summer", refuses.clone()).await.unwrap_err());
    let many = vec![photo(1), refuses.clone(), photo(2)];
    let error = albums.push_many("summer", many.clone()).await.unwrap_err();
    check(&error.error);
    assert_eq!(error.rest, many);
    assert_eq!(sizes(&albums).await, before);
    bad.id = "winter".into();
    bad.photos.push(refuses);
    check(&albums.insert(&bad).await.unwrap_err());
    assert_eq!(documents(albums.collection()).await.len(), 1);
}
