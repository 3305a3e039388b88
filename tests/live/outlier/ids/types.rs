//! The ids of parents: whatever their type and text, no parent ever reads another's extras.

use std::fmt::Debug;

use bucket_ops::{Problem, ProblemKind};
use bucket_runtime::{
    KeyField, Outlier, Outliers,
    mongodb::{
        Database,
        bson::{Bson, Uuid, doc, oid::ObjectId},
    },
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::{
    outlier::support::{numbers, remove, repaired, verify},
    support::database::Live,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "logs",
    extras = "more_logs",
    reference = "log",
    threshold = 1,
    extras_capacity = 2
)]
pub(crate) struct Log<K> {
    #[serde(rename = "_id")]
    pub(crate) id: K,
    #[outlier(items)]
    pub(crate) lines: Vec<i64>,
}

const VALUES: i64 = 4;

/// The values of the parent with this index.
fn of(index: usize) -> Vec<i64> {
    let first = index as i64 * VALUES;
    (first..first + VALUES).collect()
}

/// All parents get their values one at a time, in turns; then each reads exactly its own, in every way.
/// Then every other parent is emptied or deleted.
pub(crate) async fn stay_apart<K>(logs: &Outliers<Log<K>>, ids: &[K])
where
    K: KeyField + Debug + PartialEq,
    Log<K>: Outlier<Id = K, Item = i64>,
{
    for (index, id) in ids.iter().enumerate() {
        let log = Log {
            id: id.clone(),
            lines: of(index)[..index % 3].to_vec(),
        };
        logs.insert(&log).await.unwrap();
    }
    for round in 0..VALUES as usize {
        for (index, id) in ids.iter().enumerate() {
            if round >= index % 3 {
                logs.push(id.borrowed(), of(index)[round]).await.unwrap();
            }
        }
    }
    for (index, id) in ids.iter().enumerate() {
        reads_give_exactly(logs, id, &of(index)).await;
    }
    assert_eq!(verify(logs).await.unwrap(), []);
    for (index, id) in ids.iter().enumerate() {
        match index % 3 {
            0 => assert!(logs.delete(id.borrowed()).await.unwrap()),
            1 => assert!(remove(logs, id.borrowed(), of(index)[2]).await.unwrap()),
            _ => assert!(!remove(logs, id.borrowed(), of(index + 1)[2]).await.unwrap()),
        }
    }
    for (index, id) in ids.iter().enumerate() {
        let mut left = of(index);
        match index % 3 {
            0 => {
                let all = logs.get_all(id.borrowed()).await.unwrap();
                assert!(all.is_none(), "{id:?} was deleted");
                continue;
            }
            1 => drop(left.remove(2)),
            _ => {}
        }
        reads_give_exactly(logs, id, &left).await;
    }
    assert_eq!(verify(logs).await.unwrap(), []);
}

async fn reads_give_exactly<K>(logs: &Outliers<Log<K>>, id: &K, own: &[i64])
where
    K: KeyField + Debug + PartialEq,
    Log<K>: Outlier<Id = K, Item = i64>,
{
    let key = id.borrowed();
    let items: Vec<i64> = logs.items(key).await.unwrap().try_collect().await.unwrap();
    assert_eq!(items, own, "{id:?}");
    let all = logs.get_all(key).await.unwrap().unwrap();
    assert!(all.id == *id && all.lines == own, "{id:?}");
    assert_eq!(logs.count(key).await.unwrap(), own.len() as u64, "{id:?}");
    let pages: Vec<_> = logs.extras(key).await.unwrap().try_collect().await.unwrap();
    let extras: Vec<i64> = pages.into_iter().flat_map(|page| page.items).collect();
    assert_eq!(extras, own[1..], "{id:?}");
    let parent = logs.get(key).await.unwrap().unwrap();
    assert!(
        parent.has_extras && parent.document.lines == own[..1],
        "{id:?}"
    );
    // The raw driver finds the same by the reference field.
    let extras = logs.extras_collection();
    let found = extras.find(doc! { "log": K::to_bson(key) });
    let found = found.sort(doc! { "_id": 1 }).await.unwrap();
    let found: Vec<_> = found.try_collect().await.unwrap();
    let values = found.iter().flat_map(|page| numbers(page, "lines_extra"));
    assert_eq!(Vec::from_iter(values), own[1..], "{id:?}");
}

pub(crate) async fn fresh<K>(db: &Database) -> Outliers<Log<K>>
where
    Log<K>: Outlier,
{
    crate::outlier::support::fresh::<Log<K>>(db).await
}

#[bucket_testkit::test]
async fn ids_of_all_types_stay_apart(db: Live) {
    let integers = [i64::MIN, -12, -1, 0, 1, 12, 123, 1 << 40, i64::MAX];
    stay_apart(&fresh::<i64>(&db).await, &integers).await;
    let small = [i32::MIN, -1, 0, 1, 12, i32::MAX];
    stay_apart(&fresh::<i32>(&db).await, &small).await;
    let objects = [0, 1, 0x10, 0xff].map(|byte| ObjectId::from_bytes([byte; 12]));
    stay_apart(&fresh::<ObjectId>(&db).await, &objects).await;
    let uuids = [0, 1, 0x10, 0xff].map(|byte| Uuid::from_bytes([byte; 16]));
    stay_apart(&fresh::<Uuid>(&db).await, &uuids).await;
    stay_apart(&fresh::<bool>(&db).await, &[true, false]).await;
}

/// A parent that another program has inserted with a 32-bit id or a double is the same parent.
#[bucket_testkit::test]
async fn a_number_is_the_same_parent_whatever_its_type(db: Live) {
    let logs = fresh::<i64>(&db).await;
    for (id, stored) in [
        (1, Bson::Int32(1)),
        (2, Bson::Double(2.0)),
        (3, Bson::Int64(3)),
    ] {
        let parent = doc! { "_id": stored, "lines": [1, 2, 3] };
        logs.collection().insert_one(parent).await.unwrap();
        logs.push(&id, 4).await.unwrap();
        let repaired = repaired(&logs).await.unwrap().repaired;
        assert_eq!(repaired, [(ProblemKind::TooLarge, 1)].into());
        assert_eq!(logs.count(&id).await.unwrap(), 4);
    }
    let read =
        async |id: i64| -> Vec<i64> { logs.items(&id).await.unwrap().try_collect().await.unwrap() };
    assert_eq!([read(1).await, read(3).await], [[1, 2, 3, 4], [1, 2, 3, 4]]);
    // The struct cannot read the float.
    let problems = verify(&logs).await.unwrap();
    let is_float = |problem: &Problem| problem.ids == [Bson::Double(2.0)];
    assert!(
        problems.iter().all(is_float) && problems.len() == 1,
        "{problems:?}"
    );
}
