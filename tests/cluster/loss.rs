//! G1 in sessions that the driver has used before: a shard remembers the driver's own writes by their
//! numbers, and must not mistake ours for them.

use bucket_runtime::{
    Bucket,
    mongodb::bson::{Document, doc},
};
use futures_util::future::try_join_all;

use crate::support::{Numbered, Timed, database, stored, timed};

#[tokio::test]
#[ignore = "needs a cluster: BUCKET_TESTKIT_SERVER=8.2-cluster cargo test --test cluster -- --include-ignored"]
async fn what_is_acknowledged_is_stored_though_the_driver_has_used_the_sessions() {
    for writes in [1, 2, 7] {
        let db = database("loss").await;
        let created = Timed::create_collection(&db).sharded_hashed();
        created.await.unwrap();
        let plain = db.collection::<Document>("plain");
        for first in 0..writes {
            let inserts = (0..40).map(|n| plain.insert_one(doc! { "_id": first * 40 + n }));
            let inserts = inserts.map(IntoFuture::into_future);
            try_join_all(inserts).await.unwrap();
        }
        let timed_ = Timed::buckets(&db).await.unwrap();
        let numbered = Numbered::buckets(&db).await.unwrap();
        for keys in [1, 7, 60] {
            let items = (0..60).map(|n| (n % keys, keys * 1000 + n));
            let of_time = Vec::from_iter(items.clone().map(|(k, n)| timed(k, n)));
            let appends = of_time.iter().map(|it| timed_.append(it).into_future());
            try_join_all(appends).await.unwrap();
            let of_number = Vec::from_iter(items.map(|(k, n)| Numbered { k, n }));
            let appends = of_number.iter().map(|it| numbered.append(it).into_future());
            try_join_all(appends).await.unwrap();
        }
        let all = [1, 7, 60].map(|keys| (keys * 1000)..(keys * 1000 + 60));
        let all = Vec::from_iter(all.into_iter().flatten());
        assert_eq!(stored(&db, "timed", "items").await, all, "{writes}");
        assert_eq!(stored(&db, "numbered", "items").await, all, "{writes}");
    }
}
