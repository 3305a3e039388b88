//! Handles that take the collection's capacity, which is greater than the struct's, keep buckets within their size limit.

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, doc},
};

use crate::support::database::{Live, documents, items};

/// A note by a struct of capacity 10, in a collection of capacity 40.
macro_rules! notes {
    ($($module:ident $id:literal $(#[$text:meta])?)+) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Bucket)]
            #[bucket(collection = "notes", id = $id, capacity = 10, max_bytes = 100_000)]
            struct Ten {
                key: i64,
                at: DateTime,
                $(#[$text])?
                text: String,
            }

            #[derive(Debug, Clone, PartialEq, Bucket)]
            #[bucket(collection = "notes", id = $id, capacity = 40, max_bytes = 100_000)]
            struct Forty {
                key: i64,
                at: DateTime,
                text: String,
            }

            fn note(n: usize) -> Ten {
                let at = DateTime::from_millis(1_698_335_223_434);
                let text = char::from(b'a' + n as u8).to_string().repeat(3_000);
                Ten { key: 1, at, text }
            }

            #[bucket_testkit::test]
            async fn a_bucket_keeps_within_its_bytes_though_more_items_may_follow(db: Live) {
                let _ = Ten::buckets(&db).await.unwrap();
                Ops::<Forty>::of(&db).change_capacity().await.unwrap();
                let notes = Ten::buckets(&db).stored_capacity(true).await.unwrap();
                let all: Vec<_> = (0..60).map(|n| note(n % 26)).collect();
                for note in &all[..20] {
                    notes.append(note).await.unwrap();
                }
                notes.append_many(all[20..].to_vec()).await.unwrap();
                assert_eq!(items(&notes, &1).await, all);
                let buckets = documents(notes.collection()).await;
                let counts = buckets.iter().map(|bucket| bucket.get_array("items").unwrap().len());
                let counts: Vec<_> = counts.collect();
                // More items than the struct's capacity.
                assert!(counts[0] > 10, "{counts:?}");
                let largest = doc! { "$group": { "_id": null, "bytes": { "$max": { "$bsonSize": "$$ROOT" } } } };
                let mut largest = notes.collection().aggregate([largest]).await.unwrap();
                assert!(largest.advance().await.unwrap());
                let bytes = largest.current().get_i32("bytes").unwrap();
                assert!(bytes <= 100_000, "{bytes} bytes in one of {counts:?}");
            }
        }
    )+};
}

notes! {
    unproven "{key}_{#}"
    unproven_in_windows "{key}_{at/1h}"
    proven_in_seconds "{key}_{at}" #[bucket(max_len = 9_000)]
}
