//! Edits and removals of single items.

use insta::assert_snapshot;
use mongodb::bson::doc;

use super::{AT, Golden, entry, reading, trade};
use crate::{
    protocol::command::{KeptFields, Place, StoredItem},
    value::rollup::Totals,
};

#[test]
fn edit_of_an_item() {
    let (scope, entry) = entry(&trade());
    let place = Place {
        bucket: "123_1714979289".to_owned(),
        at: 3,
        stored: StoredItem::Element(entry.element),
    };
    let mut shown = Golden::default();
    shown.document(
        "the bucket, if the item is still there",
        &scope.unchanged(&place),
    );
    let element = doc! { "date": AT, "ticker": "ACME" };
    let replaced = scope.replace(&place, element.into(), KeptFields::default());
    shown.pipeline("replace the item", &replaced);
    let removed = scope.take_out(&place, true, KeptFields::default());
    shown.pipeline("remove the item from an open bucket", &removed);
    let removed = scope.take_out(&place, false, KeptFields::default());
    shown.pipeline("remove the item from another bucket", &removed);
    shown.document(
        "the bucket, if it is empty for good",
        &scope.emptied(&place.bucket),
    );
    assert_snapshot!(shown.0);
}

#[test]
fn edit_where_buckets_keep_rollups() {
    let (scope, entry) = entry(&reading());
    let place = Place {
        bucket: "5_1714953600".to_owned(),
        at: 0,
        stored: StoredItem::Array(vec![entry.element.clone()]),
    };
    let kept = KeptFields {
        grown: 0,
        totals: Totals::of(scope.spec, [entry.rolled].into_iter()),
        newest: Some(AT),
    };
    let mut shown = Golden::default();
    shown.document(
        "the bucket, if all items are still the same",
        &scope.unchanged(&place),
    );
    let replaced = scope.replace(&place, entry.element, kept);
    shown.pipeline("replace the item", &replaced);
    assert_snapshot!(shown.0);
}
