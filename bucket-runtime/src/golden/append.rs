//! Appends.

use bucket_core::{
    protocol::{
        budget::Budget,
        command::KeyScope,
        whole_bucket::{Summary, WholeBucket},
    },
    value::{
        bytes,
        element::{raw, value_size},
        rollup::Totals,
    },
};
use insta::assert_snapshot;
use mongodb::bson::{Bson, doc};

use super::{
    AppendedItems, Bucket, Golden, IndexedScope, Trade, entry, note, order, reading, trade,
};
use crate::read::stored_bucket::StoredBucket;

/// Every statement of the append protocol for one item.
fn statements<T: Bucket>(item: &T) -> String {
    let (scope, entry) = entry(item);
    let items = || {
        let totals = Totals::of(scope.spec, [entry.rolled.clone()].into_iter()).unwrap();
        let budget = Budget::of(&scope);
        AppendedItems {
            elements: vec![entry.element.clone()],
            totals: (!scope.spec.rollups.is_empty()).then_some(totals),
            oversize: budget.map_or(0, |budget| budget.oversize(value_size(&entry.element))),
        }
    };
    let newest = |update: bucket_core::protocol::command::Update| match entry.time {
        Some(time) => update.with_newest(time),
        None => update,
    };
    let new_id = (entry.opening_id.clone()).unwrap_or_else(|| scope.id("0000000004"));
    let mut shown = Golden::default();
    if let Some(opening_id) = &entry.opening_id {
        let update = newest(scope.append_or_open(items(), opening_id));
        shown.update("into the open bucket, or into a new one", &update);
    }
    let update = newest(scope.append_to_open(items()));
    shown.update("into the open bucket, if there is one", &update);
    let update = newest(scope.append_to_open_or_be_refused(items()));
    shown.update("the same as one of several statements", &update);
    let update = newest(scope.append_to_id(items(), &new_id));
    shown.update("into the bucket with this id, or open it", &update);
    let update = newest(scope.append_to_id_or_be_refused(items(), &new_id, false, true));
    shown.update("into the bucket with this id, if it is open", &update);
    let update = newest(scope.append_to_id_or_be_refused(items(), &new_id, true, true));
    shown.update("the same, if it is full then", &update);
    let update = newest(scope.append_to_id_or_be_refused(items(), &new_id, true, false));
    shown.update("the same, if the bucket was only read", &update);
    let update = newest(scope.insert_bucket(items(), &new_id));
    shown.update("insert a bucket with this id", &update);
    shown.update("seal the bucket", &scope.seal(&new_id));

    let document = raw(&WholeBucket {
        scope: &scope,
        id: &new_id,
        count: 1,
        elements: [&entry.element],
        summary: Summary::of(scope.spec, [item.time()], [item.rollup_values()]).unwrap(),
        oversize: items().oversize,
        sealed: true,
    });
    let document = document.unwrap().to_document().unwrap();
    shown.document("a sealed bucket that is inserted whole", &document);
    shown.0
}

#[test]
fn open_buckets_of_several_keys() {
    let (scope, _) = entry(&trade());
    let (window, _) = entry(&reading());
    let mut shown = Golden::default();
    shown.document("of none", &IndexedScope::open_buckets_anywhere(&[]));
    shown.document("of one", &IndexedScope::open_buckets_anywhere(&[&scope]));
    shown.document(
        "of two",
        &IndexedScope::open_buckets_anywhere(&[&scope, &scope]),
    );
    shown.document(
        "of two windows",
        &IndexedScope::open_buckets_anywhere(&[&window, &window]),
    );
    shown.document("all buckets", &KeyScope::ids_of_any(&[&scope, &window]));
    shown.document(
        "those of a moment",
        &KeyScope::ids_of_moment("123_1714979289"),
    );
    assert_snapshot!(shown.0);
}

#[test]
fn a_key_owns_the_ids_of_its_format_alone() {
    let (timed, _) = entry(&trade());
    for id in ["123_1714979289", "123_1714979289_000001", "123_-9999999999"] {
        assert!(timed.owns(id), "{id}");
    }
    for id in [
        "124_1714979289",
        "123_1",
        "123_1714979289_1",
        "123_1714979289x",
        "123_171497928x",
        "%/123_",
    ] {
        assert!(!timed.owns(id), "{id}");
    }
    let (numbered, _) = entry(&order());
    assert!(numbered.owns("7_0000000042") && !numbered.owns("7_0000000042_000001"));
    let (window, _) = entry(&reading());
    let start = window.id("");
    assert!(window.owns(&start) && window.owns(&format!("{start}_000001")));
    assert!(!window.owns(&format!("{start}1")) && !window.owns("5_0000000000"));
    let holds = |customer: i64, id: &str| {
        let bucket = doc! { "_id": id, "customer_id": customer, "items": [] };
        let bucket = bytes::read::<StoredBucket<Trade>>(&bytes::write(&bucket).unwrap());
        bucket.unwrap().is_of(&timed)
    };
    assert!(holds(123, "123_1714979289"));
    assert!(!holds(124, "123_1714979289") && !holds(123, "124_1714979289"));
    assert_eq!(
        (window.key_text(), window.label()),
        ("5".to_owned(), "\"5\"".to_owned())
    );
}

#[test]
fn append_by_time() {
    assert_snapshot!(statements(&trade()));
}

#[test]
fn replacement_of_a_unique_item() {
    let (scope, entry) = entry(&order());
    let number = Bson::from(42_i64);
    let update = scope.replace_by_identity_or_be_refused("number", &number, entry.element);
    let mut shown = Golden::default();
    shown.update("replace the item with the same number", &update);
    assert_snapshot!(shown.0);
}

#[test]
fn append_by_number_and_unique() {
    assert_snapshot!(statements(&order()));
}

#[test]
fn append_in_windows_with_rollups_and_expiry() {
    assert_snapshot!(statements(&reading()));
}

#[test]
fn append_where_bytes_are_counted() {
    assert_snapshot!(statements(&note()));
}
