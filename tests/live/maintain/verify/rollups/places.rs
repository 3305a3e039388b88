//! Items and buckets where they do not belong.

use std::{collections::BTreeMap, sync::Arc};

use bucket_ops::{Ops, ProblemKind as Kind};
use bucket_runtime::{
    Bucket,
    mongodb::bson::{DateTime, doc},
};
use tokio::sync::RwLock;

use super::{Reading, reading};
use crate::{
    maintain::verify::damage::{Numbered, Windowed, damage, healthy, id, raw, repair, verify},
    support::{
        assert_sound,
        database::{Live, items},
        ops,
        problems::{assert_found, expected},
        tasks::JoinSet,
    },
};

#[bucket_testkit::test]
async fn an_item_outside_its_window_is_listed(db: Live) {
    let notes = healthy::<Windowed>(&db).await;
    let late = DateTime::from_millis(3_600_000);
    let update = doc! { "$set": { "items.2.at": late } };
    let bucket = id(&damage(&notes, doc! { "topic": "a_b", "count": 3 }, update).await);
    let problem = expected(Kind::OutsideWindow, [bucket], "a_b, 1", "item 2 (from 0)");
    let found = verify(&notes).await;
    assert_found(&found, &[problem]);
    let problem = &found[0];
    let text = problem.to_string();
    assert!(text.contains("is of new Date(3600000)"), "{text}");
    assert!(!problem.is_repairable());
    let is_late = Windowed::FIELDS.at.eq(late);
    let hours = items(&notes, ("a_b", &1)).await.len();
    // The way out that it names. Reads by time pass the item by, so the way to it is another field.
    assert!(problem.remedy().contains("remove_item"), "{problem}");
    assert_eq!(notes.remove_item(("a_b", &1), is_late).await.unwrap(), None);
    let third = Windowed::FIELDS.n.eq(2);
    let note = notes.remove_item(("a_b", &1), third).await;
    notes.append(&note.unwrap().unwrap()).await.unwrap();
    assert_eq!(verify(&notes).await, []);
    assert_eq!(items(&notes, ("a_b", &1)).await.len(), hours);
}

#[bucket_testkit::test]
async fn a_gap_in_the_numbers_is_listed_and_a_later_beginning_is_none(db: Live) {
    let notes = healthy::<Numbered>(&db).await;
    let raw = raw(&notes);
    let remove = async |id: &str| {
        let removed = raw.delete_one(doc! { "_id": id }).await.unwrap();
        assert_eq!(removed.deleted_count, 1, "{id}");
    };
    remove("a_7_0000000000").await;
    remove("a_7_0000000001").await;
    assert_eq!(verify(&notes).await, []);
    remove("a_7_0000000004").await;
    remove("a_7_0000000005").await;
    remove("a%5Fb_1_0000000007").await;
    let gap = |key, ids: [&str; 2], missing| expected(Kind::Gap, ids, key, missing);
    let of_a = ["a_7_0000000003", "a_7_0000000006"];
    let of_a_b = ["a%5Fb_1_0000000006", "a%5Fb_1_0000000008"];
    let gaps = [
        gap("a, 7", of_a, "2 numbers are missing"),
        gap("a_b, 1", of_a_b, "1 number is missing"),
    ];
    assert_found(&verify(&notes).await, &gaps);
    assert_eq!(notes.page(("a", &7), 5).await.unwrap().map(drop), None);
    assert_found(&repair(&notes).await, &gaps);
}

/// 8 writers append one by one, in batches and as whole buckets; they edit and remove.
#[bucket_testkit::test(multi_thread)]
async fn writers_make_no_problem(db: Live) {
    let readings = Reading::buckets(&db).await.unwrap();
    // Of two loads beside a removal of their key, one may go on from the old numbers, and the other begin anew:
    // that is a gap.
    let loads = Arc::new(RwLock::new(()));
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let (readings, loads) = (readings.clone(), Arc::clone(&loads));
        writers.spawn(async move {
            for n in 0..80 {
                let place = i64::from((writer + n) % 3);
                readings.append(&reading(place, n)).await.unwrap();
                if n % 16 == 0 {
                    let load = (0..30).map(|n| reading(3 + i64::from(n % 2), n));
                    let under_way = loads.read().await;
                    readings.append_many(load).await.unwrap();
                    drop(under_way);
                    let cold = Reading::FIELDS.celsius.lt(0.0);
                    let lower = |it: &mut Reading| it.celsius -= 1.0;
                    let update = readings.update_item(&place, cold.clone(), lower);
                    update.await.unwrap();
                    readings.remove_item(&place, cold).await.unwrap();
                }
                if n == 40 && writer == 0 {
                    let _none = loads.write().await;
                    readings.remove_key(&4).await.unwrap();
                }
            }
        });
    }
    let mut passes = 0;
    while !writers.is_empty() || passes < 3 {
        assert_sound(&readings).await;
        let done = ops(&readings).repair().await.unwrap();
        assert_eq!((done.repaired, done.left), (BTreeMap::new(), vec![]));
        while let Some(done) = writers.try_join_next() {
            done.unwrap();
        }
        passes += 1;
    }
    let rebuilt = Ops::<Reading>::of(&db).rebuild_rollups().await.unwrap();
    assert_eq!((rebuilt.rebuilt, rebuilt.left), (0, vec![]));
}
