//! Lines that are left out, mended or listed.

use std::io;

use bucket_ops::RefusedReason;
use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, Document, doc},
};
use futures_util::{TryStreamExt, stream};

use super::{Hours, Seconds, export, file, filled};
use crate::support::{
    assert_sound,
    database::{Live, documents, is_cluster},
    ops,
};

#[bucket_testkit::test]
async fn only_the_windows_that_were_asked_for(db: Live) {
    let visits = filled::<Hours>(&db).await;
    let all = documents(visits.collection()).await;
    let hour = |bucket: &Document| *bucket.get_datetime("window").unwrap();
    let limit = hour(&all[3]);
    for key in [None, Some("a")] {
        let old = match key {
            None => ops(&visits).export_all(),
            Some(key) => ops(&visits).export(key),
        };
        let old = old.windows(..limit).await.unwrap();
        let old: Vec<String> = old.try_collect().await.unwrap();
        let is_asked_for = |bucket: &&Document| {
            key.is_none_or(|key| bucket.get_str("page").unwrap() == key) && hour(bucket) < limit
        };
        let expected = all.iter().filter(is_asked_for);
        let expected = Vec::from_iter(expected.map(|bucket| bucket.get_str("_id").unwrap()));
        assert_eq!(old.len(), expected.len());
        for (line, id) in old.iter().zip(expected) {
            let id = id.replace('"', "\\\"");
            assert!(line.contains(&format!("\"_id\":\"{id}\"")), "{line}");
        }
    }
}

#[bucket_testkit::test]
async fn a_line_that_is_no_bucket_is_listed_and_the_others_are_stored(db: Live) {
    let visits = filled::<Seconds>(&db).await;
    let good = export(&visits).await;
    let count = "\"count\":{\"$numberInt\":\"3\"}";
    let is_full = |line: &String| line.contains(count) && line.contains("\"_id\":\"a_1");
    let place = good.iter().position(is_full).unwrap();
    let edited = |from: &str, to: &str| good[place].replacen(from, to, 1);
    let wrong = [
        ("no json", "{".to_owned()),
        ("no bucket", "{\"_id\":\"a_1\"}".to_owned()),
        ("the count", edited(count, &count.replace('3', "2"))),
        ("another key's id", edited("\"_id\":\"a_", "\"_id\":\"b_")),
        ("an item", edited("\"value\":", "\"valu\":")),
    ];
    for (what, wrong) in wrong {
        assert_ne!(wrong, good[place], "{what}");
        visits.collection().delete_many(doc! {}).await.unwrap();
        let mut edited = good.clone();
        edited.insert(0, String::new());
        edited[place + 1] = wrong;
        let imported = ops(&visits).import(file(&edited)).await.unwrap();
        assert_eq!(imported.refused_lines, 1, "{what}");
        let refused = &imported.refused[0];
        let text = refused.to_string();
        let is_told = matches!(refused.reason, RefusedReason::NotABucket(_))
            && text.starts_with(&format!("line {}", place + 2));
        assert!(is_told, "{what}: {text}");
        assert_eq!(imported.buckets, good.len() as u64 - 1, "{what}");
        // Corrected.
        let corrected = ops(&visits).import(file(&good)).await.unwrap();
        assert_eq!(corrected.buckets, 1);
        assert_eq!(export(&visits).await, good, "{what}");
    }
    // Another document with the same id. On a cluster the key decides the shard, and an id is unique on its
    // shard only: where the document moves to another shard, the bucket comes back beside it.
    let raw = visits.collection();
    let first = raw.find_one(doc! {}).await.unwrap().unwrap();
    let by_id = doc! { "_id": first.get("_id") };
    let update = doc! { "$unset": { "page": "" } };
    raw.update_one(first.clone(), update).await.unwrap();
    let imported = ops(&visits).import(file(&good)).await.unwrap();
    if is_cluster().await && imported.refused_lines == 0 {
        assert_eq!(imported.buckets, 1);
        assert_eq!(raw.count_documents(by_id.clone()).await.unwrap(), 2);
        assert_eq!(raw.count_documents(first).await.unwrap(), 1);
    } else {
        assert_eq!(imported.refused_lines, 1);
        assert_eq!(imported.refused[0].reason, RefusedReason::IdTaken);
    }
    raw.delete_many(by_id).await.unwrap();
    // A reader that fails.
    let gone = io::Error::other("the disk is gone");
    let broken = stream::iter([Ok(good[0].clone()), Err(gone)]);
    let error = ops(&visits).import(broken).await.unwrap_err();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
}

/// Fields that can be computed are computed, and a line that would break a guarantee is listed, with its place.
#[bucket_testkit::test]
async fn g2_unsound_lines_are_mended_or_listed(db: Live) {
    #[derive(Debug, Clone, PartialEq, Bucket)]
    #[bucket(
        collection = "visits",
        id = "{page}_{at/1h}",
        capacity = 3,
        expire_after = "90d"
    )]
    struct Expiring {
        page: i64,
        at: DateTime,
        #[bucket(unique)]
        n: i64,
        #[bucket(sum)]
        seconds: i64,
    }
    let hour = DateTime::now().timestamp_millis() / 3_600_000 * 3_600_000;
    let line = |start: i64, id: i64, items: &[(i64, i64)], more: &str| {
        let count = items.len();
        let item = |(at, n): &(i64, i64)| {
            format!(
                r#"{{"at":{{"$date":{{"$numberLong":"{at}"}}}},"n":{{"$numberLong":"{n}"}},"seconds":{{"$numberLong":"2"}}}}"#
            )
        };
        let items = items.iter().map(item).collect::<Vec<_>>().join(",");
        let id = id / 1000;
        format!(
            r#"{{"_id":"1_{id}","page":1,"window":{{"$date":{{"$numberLong":"{start}"}}}},"count":{count},"items":[{items}]{more}}}"#
        )
    };
    let earlier = hour - 3_600_000;
    let old = hour - 2400 * 3_600_000;
    let false_sum = r#","rollup":{"seconds":{"count":2,"sum":7}}"#;
    let lines = [
        line(hour, hour, &[(hour, 1), (hour + 5, 2)], false_sum),
        line(earlier, earlier, &[(earlier, 3), (earlier, 3)], ""),
        line(earlier, earlier, &[(earlier, 4), (hour, 5)], ""),
        line(earlier, hour, &[(earlier, 6)], ""),
        line(old, old, &[(old, 7)], ""),
    ];
    let visits = Expiring::buckets(&db).await.unwrap();
    let imported = ops(&visits).import(file(&lines)).await.unwrap();
    assert_eq!((imported.buckets, imported.refused_lines), (1, 4));
    for (refused, part) in imported.refused.iter().zip([
        "line 2, bucket \"1_",
        "item 1 (from 0) lies outside of its time window",
        "has the _id",
        "`expired(true)`",
    ]) {
        assert!(refused.to_string().contains(part), "{refused}");
    }
    assert_eq!(imported.refused[3].reason, RefusedReason::Expired);
    let stored = documents(visits.collection()).await;
    let newest = stored[0].get_datetime("newest").unwrap();
    assert_eq!(newest.timestamp_millis(), hour + 5);
    assert_eq!(visits.rollup(&1).await.unwrap().seconds.sum(), 4);
    assert_sound(&visits).await;

    let expired = ops(&visits).import(file(&lines[4..])).expired(true).await;
    assert_eq!(expired.unwrap().buckets, 1);
}
