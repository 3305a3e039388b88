//! Edits and removals of single items.

use bucket_core::{
    protocol::command::{KeptFields, Places, StoredItems},
    value::rollup::Totals,
};
use insta::assert_snapshot;
use mongodb::bson::{RawBson, doc};

use super::{AT, Golden, entry, reading, trade};
use crate::write::engine::Entry;

/// The entry's element, as a read finds it.
fn stored(entry: &Entry) -> RawBson {
    RawBson::try_from(entry.element.clone()).unwrap()
}

#[test]
fn edit_of_an_item() {
    let (scope, entry) = entry(&trade());
    let places = Places {
        bucket: "123_1714979289".to_owned(),
        at: vec![3],
        stored: StoredItems::Elements(vec![stored(&entry)]),
    };
    let mut shown = Golden::default();
    shown.document(
        "the bucket, if the item is still there",
        &scope.unchanged(&places),
    );
    let element = doc! { "date": AT, "ticker": "ACME" };
    let replaced = scope.replace(&places, vec![element.into()], KeptFields::default());
    shown.pipeline("replace the item", &replaced);
    let deleted = scope.unchanged_among(&places, true);
    shown.document("the bucket, if it holds no other item", &deleted);
    let among = scope.unchanged_among(&places, false);
    shown.document("the bucket, if it holds others, too", &among);
    let removed = scope.take_out(&places, true, KeptFields::default());
    shown.pipeline("remove the item from an open bucket", &removed);
    let removed = scope.take_out(&places, false, KeptFields::default());
    shown.pipeline("remove the item from another bucket", &removed);
    assert_snapshot!(shown.0);
}

#[test]
fn edit_of_several_items() {
    let (scope, entry) = entry(&trade());
    let places = Places {
        bucket: "123_1714979289".to_owned(),
        at: vec![0, 1, 4],
        stored: StoredItems::Elements(vec![stored(&entry); 3]),
    };
    let mut shown = Golden::default();
    shown.document(
        "the bucket, if the items are still there",
        &scope.unchanged(&places),
    );
    let elements = ["ACME", "MDB", "ORCL"].map(|ticker| doc! { "ticker": ticker }.into());
    let replaced = scope.replace(&places, elements.to_vec(), KeptFields::default());
    shown.pipeline("replace the items", &replaced);
    let removed = scope.take_out(&places, true, KeptFields::default());
    shown.pipeline("remove the items from an open bucket", &removed);
    assert_snapshot!(shown.0);
}

#[test]
fn edit_where_buckets_keep_rollups() {
    let (scope, entry) = entry(&reading());
    let places = Places {
        bucket: "5_1714953600".to_owned(),
        at: vec![0],
        stored: StoredItems::Array(vec![stored(&entry)]),
    };
    let kept = KeptFields {
        grown: 0,
        totals: Totals::of(scope.spec, [entry.rolled].into_iter()),
        newest: Some(AT),
    };
    let mut shown = Golden::default();
    shown.document(
        "the bucket, if all items are still the same",
        &scope.unchanged(&places),
    );
    let replaced = scope.replace(&places, vec![entry.element], kept);
    shown.pipeline("replace the item", &replaced);
    assert_snapshot!(shown.0);
}
