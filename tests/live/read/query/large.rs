//! Filters as large as a request, and larger.

use bucket_runtime::{
    Bucket, Error, Filter,
    mongodb::bson::{Document, doc},
};

use crate::support::{
    database::{Recorded, items},
    ops,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "lines", id = "{k}_{#}", capacity = 3)]
struct Line {
    k: i64,
    n: i64,
}

/// Conditions that all lines satisfy, nested this deep.
fn nested(levels: i64) -> Filter<Line> {
    let line = Line::FIELDS;
    (0..levels).fold(line.n.gte(0), |filter, level| match level % 4 {
        0 => filter.and(line.n.lt(100 + level)),
        1 => filter.or(line.k.eq(-level)),
        _ => !filter,
    })
}

#[bucket_testkit::test]
async fn any_chain_of_conditions_is_read_and_what_no_request_holds_is_not_sent(
    Recorded(db, record): Recorded,
) {
    let lines = Line::buckets(&db).await.unwrap();
    let all = Vec::from_iter((0..10).map(|n| Line { k: 1, n }));
    lines.append_many(all.clone()).await.unwrap();

    let n = Line::FIELDS.n;
    let values = || (1..5000).map(|n| n * 3);
    let either = values().fold(n.eq(0), |filter, value| filter.or(n.eq(value)));
    let neither = values().fold(n.ne(0), |filter, value| filter.and(n.ne(value)));
    assert_eq!(lines.count(&1).filter(either).await.unwrap(), 4);
    assert_eq!(lines.count(&1).filter(neither).await.unwrap(), 6);
    let all_values = n.is_in(0..50_000);
    assert_eq!(lines.count(&1).filter(all_values).await.unwrap(), 10);

    // As deep as it may be.
    for levels in 0..=45 {
        // After the first of two negations nothing matches.
        let found = if levels % 4 == 3 { &[] } else { &all[..] };
        let filter = nested(levels);
        let count = lines.count(&1).filter(filter.clone()).await.unwrap();
        assert_eq!(count, found.len() as u64, "{levels}");
        let page = lines.all_items().filter(filter).page_of_items(20).await;
        assert_eq!(page.unwrap().items, found, "{levels}");
    }

    record.take();
    let deep = (0..100).fold(doc! { "$gt": 0 }, |test, _| doc! { "$not": test });
    let many = lines.count(&1).filter(n.is_in(0..2_000_000)).await;
    assert!(many.unwrap_err().is_too_large());
    for filter in [nested(46), nested(10_000), n.is(deep)] {
        let many = lines.remove_items(&1, filter.clone()).await;
        for error in [
            lines.items(&1).filter(filter.clone()).await.err(),
            lines.all_items().filter(filter.clone()).await.err(),
            lines.count(&1).filter(filter.clone()).await.err(),
            lines.remove_item(&1, filter.clone()).await.err(),
            many.err().map(Error::from),
            ops(&lines).export_all().holding(filter.clone()).await.err(),
        ] {
            let error = error.unwrap();
            assert!(error.is_too_large(), "{error}");
            assert!(!error.is_maybe_stored(), "{error}");
        }
    }
    assert_eq!(record.names(), [""; 0]);
    // As a document it is no condition that matches more.
    let flat = db.collection::<Document>("flat");
    flat.insert_one(doc! { "n": 1 }).await.unwrap();
    flat.delete_many(nested(46).into()).await.unwrap_err();
    assert_eq!(items(&lines, &1).await, all);
}
