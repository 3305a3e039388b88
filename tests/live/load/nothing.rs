//! Calls that are given nothing change nothing.

use std::convert::Infallible;

use bucket_ops::Imported;
use bucket_runtime::{Bucket, mongodb::bson::Document};
use futures_util::{StreamExt, stream};

use crate::support::{
    database::{Recorded, documents, items},
    ops,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "marks", id = "{key}_{#}", capacity = 10)]
struct Mark {
    key: i64,
    n: i64,
}

#[bucket_testkit::test]
async fn calls_that_are_given_nothing_change_nothing(Recorded(db, record): Recorded) {
    let marks = Mark::buckets(&db).await.unwrap();
    record.take();
    assert_eq!(marks.append_stream(stream::empty()).await.unwrap(), 0);
    assert_eq!(marks.append_many([]).await.unwrap(), 0);
    drop(marks.append_many([Mark { key: 1, n: 0 }]));
    assert_eq!(record.names(), [""; 0]);
    let flat = db.collection::<Document>("flat");
    let imported = ops(&marks).import_flat(&flat).await.unwrap();
    assert_eq!((imported.found, imported.stored), (0, 0));
    let lines = ops(&marks).export_all().await.unwrap();
    let lines: Vec<Result<String, Infallible>> =
        lines.map(|line| Ok(line.unwrap())).collect().await;
    assert_eq!(lines, []);
    let imported = ops(&marks).import(stream::iter(lines)).await.unwrap();
    assert_eq!(imported, Imported::default());
    assert_eq!(documents(marks.collection()).await, []);

    let all: Vec<_> = (0..15).map(|n| Mark { key: 1, n }).collect();
    marks.append_many(all.clone()).await.unwrap();
    let none = || Mark::FIELDS.n.is_in([0; 0]);
    assert_eq!(marks.count(&1).filter(none()).await.unwrap(), 0);
    assert_eq!(marks.count(&1).filter(!none()).await.unwrap(), 15);
    assert_eq!(marks.remove_item(&1, none()).await.unwrap(), None);
    assert_eq!(marks.remove_items(&1, none()).await.unwrap(), 0);
    let changed = marks.update_items(&1, none(), |mark| mark.n = 99);
    assert_eq!(changed.await.unwrap(), 0);
    assert_eq!(marks.remove_key(&2).await.unwrap(), 0);
    assert_eq!(items(&marks, &1).await, all);
}
