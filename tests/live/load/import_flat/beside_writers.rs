//! Imports beside writers, and beside each other.

use bucket_ops::Ops;
use bucket_runtime::{
    Bucket,
    mongodb::{Database, bson::DateTime},
};

use super::{Ride, Seconds3, Seconds100, Windows3, assert_imported, fill, flat, flat_of};
use crate::support::{
    database::{Live, dense_buckets, fresh, items},
    ops,
};

/// G2: a program of another version imports with the capacity that the collection has.
#[bucket_testkit::test]
async fn g2_an_import_takes_the_capacity_of_the_collection(db: Live) {
    let expected = fill(&db, 1_000).await;
    let before = fresh::<Seconds100>(&db).await;
    Ops::<Seconds3>::of(&db).change_capacity().await.unwrap();
    ops(&before).import_flat(&flat_of(&db)).await.unwrap();
    assert_imported(&Seconds3::buckets(&db).await.unwrap(), &expected).await;
}

/// A dropped call may go on beside the call that takes over its work.
#[bucket_testkit::test(multi_thread)]
async fn several_runs_at_a_time_store_each_item_once(db: Live) {
    let expected = fill(&db, 20_000).await;
    let buckets = fresh::<Seconds3>(&db).await;
    let runs = (0..4).map(|_| {
        let (buckets, flat) = (buckets.clone(), flat_of(&db));
        tokio::spawn(async move { ops(&buckets).import_flat(&flat).await })
    });
    let mut finished = 0;
    for run in futures_util::future::join_all(runs).await {
        match run.unwrap() {
            Ok(done) => finished += usize::from(done.stored == 20_000),
            // Another run took over this one's work, or had already finished it.
            Err(error) => {
                let is_done = error.is_import_overtaken() || error.is_key_taken();
                assert!(is_done, "{error}");
            }
        }
    }
    assert!(finished > 0, "no run has finished");
    assert_imported(&buckets, &expected).await;
}

/// The docs of `import_flat` advise against this; yet nothing is lost, and the guarantees hold.
#[bucket_testkit::test(multi_thread)]
async fn a_writer_of_a_key_that_is_half_imported_is_joined(db: Live) {
    let rides = (0..4_001).map(|n| flat(n, 1, "Bern", 1_698_321_600_000 + n * 10));
    flat_of(&db).insert_many(rides).await.unwrap();
    joined::<Seconds3>(&db).await;
    joined::<Windows3>(&db).await;
}

async fn joined<T: Ride>(db: &Database) {
    let buckets = fresh::<T>(db).await;
    let (live, handle) = (buckets.clone(), tokio::runtime::Handle::current());
    let mut begun = false;
    let import_flat = ops(&buckets).import_flat(&flat_of(db));
    let import_flat = import_flat.on_progress(move |at| {
        if at.stored > 0 && !std::mem::replace(&mut begun, true) {
            let late = T::new(1, "Bern", DateTime::from_millis(1_698_321_639_000), -1);
            let append = async { live.append(&late).await.unwrap() };
            tokio::task::block_in_place(|| handle.block_on(append));
        }
    });
    let done = import_flat.await.unwrap();
    assert_eq!((done.found, done.stored), (4_001, 4_001));
    dense_buckets(&buckets).await;
    let mut stored: Vec<_> = (items(&buckets, ("Bern", &1)).await.iter())
        .map(T::kilometres)
        .collect();
    stored.sort_unstable();
    assert_eq!(stored, (-1..4_001).collect::<Vec<_>>());
}
