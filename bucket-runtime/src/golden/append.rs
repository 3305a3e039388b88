//! Appends.

use insta::assert_snapshot;

use super::{AppendedItems, Bucket, Golden, entry, note, order, reading, trade};
use crate::{
    protocol::{
        budget::Budget,
        whole_bucket::{Summary, WholeBucket},
    },
    value::{
        element::{raw, value_size},
        rollup::Totals,
    },
};

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
    let newest = |update: crate::protocol::command::Update| match entry.time {
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
    let update = newest(scope.append_to_id_or_be_refused(items(), &new_id, false));
    shown.update("into the bucket with this id, if it is open", &update);
    let update = newest(scope.append_to_id_or_be_refused(items(), &new_id, true));
    shown.update("the same, if it is full then", &update);
    let update = newest(scope.insert_bucket(items(), &new_id));
    shown.update("insert a bucket with this id", &update);
    shown.update("seal the bucket", &scope.seal(&new_id));

    let document = raw(&WholeBucket {
        moved: false,
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
fn append_by_time() {
    assert_snapshot!(statements(&trade()));
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
