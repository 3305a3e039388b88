//! G1 in sessions that the driver has used before: a shard remembers the driver's own writes by their
//! numbers, and must not mistake ours for them.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{Document, doc},
};
use futures_util::future::join_all;

use crate::support::{Numbered, Timed, database, stored, timed};

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn what_is_acknowledged_is_stored_though_the_driver_has_used_the_sessions() {
    for writes in [1, 2, 7] {
        let db = database("loss").await;
        Timed::create_collection(&db)
            .sharded_hashed()
            .await
            .unwrap();
        let plain = db.collection::<Document>("plain");
        for first in 0..writes {
            let inserts = (0..40).map(|n| plain.insert_one(doc! { "_id": first * 40 + n }));
            for inserted in join_all(inserts.map(IntoFuture::into_future)).await {
                inserted.unwrap();
            }
        }
        let timed_ = Timed::buckets(&db).await.unwrap();
        let numbered = Numbered::buckets(&db).await.unwrap();
        for keys in [1, 7, 60] {
            let items = Vec::from_iter((0..60).map(|n| timed(n % keys, keys * 1000 + n)));
            let appends = items.iter().map(|item| timed_.append(item).into_future());
            for appended in join_all(appends).await {
                appended.unwrap();
            }
            let items = Vec::from_iter((0..60).map(|n| Numbered {
                k: n % keys,
                n: keys * 1000 + n,
            }));
            let appends = items.iter().map(|item| numbered.append(item).into_future());
            for appended in join_all(appends).await {
                appended.unwrap();
            }
        }
        let all = [1, 7, 60].map(|keys| (keys * 1000)..(keys * 1000 + 60));
        let all = Vec::from_iter(all.into_iter().flatten());
        assert_eq!(stored(&db, "timed", "items").await, all, "{writes}");
        assert_eq!(stored(&db, "numbered", "items").await, all, "{writes}");
    }
}
