//! The outlier pattern.

use bucket_core::{
    protocol::{
        command::{KeyScope, Places, StoredItems},
        query::{Query, QueryStart},
    },
    schema::{
        open_index::OpenIndex,
        spec::{BucketSpec, OutlierSpec},
    },
    value::bytes,
};
use insta::assert_snapshot;
use mongodb::bson::{Bson, RawBson, doc};
use serde::{Deserialize, Serialize};

use super::Golden;
use crate::{
    Bucket, Fields, KeyPart, Outlier,
    outlier::{
        command::{OwnItems, ParentScope, changed_fields::FieldChange},
        extra::ExtraItem,
    },
    read::stored_bucket::StoredBucket,
};

#[derive(Serialize, Deserialize, Outlier)]
#[outlier(
    crate = crate, collection = "books", reference = "book_id", threshold = 3, extras_capacity = 4,
)]
struct Book {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items)]
    buyers: Vec<i64>,
}

/// A parent with a total.
#[derive(Serialize, Deserialize, Outlier)]
#[outlier(crate = crate, collection = "books", reference = "book_id", threshold = 3)]
struct Counted {
    #[serde(rename = "_id")]
    id: i64,
    title: String,
    #[outlier(items)]
    buyers: Vec<i64>,
    #[outlier(total)]
    sold: i64,
}

fn scope() -> ParentScope {
    scope_of(&Book::SPEC, const { &<ExtraItem<Book> as Bucket>::SPEC })
}

fn scope_of(spec: &'static OutlierSpec, extras: &'static BucketSpec) -> ParentScope {
    let extras = KeyScope::new(extras, vec![KeyPart::of::<i64>(&7)]);
    let open = OpenIndex::first(extras.spec.capacity);
    ParentScope {
        spec,
        extras: extras.by(open),
    }
}

/// A parent whose items have an identity.
#[derive(Serialize, Deserialize, Outlier)]
#[outlier(crate = crate, collection = "users", reference = "user_id", threshold = 3)]
struct User {
    #[serde(rename = "_id")]
    id: i64,
    #[outlier(items, unique = user)]
    followers: Vec<Follower>,
}

#[derive(Serialize, Deserialize, Fields)]
#[fields(crate = crate)]
struct Follower {
    user: i64,
}

#[test]
fn outlier_identity() {
    let scope = scope_of(&User::SPEC, const { &<ExtraItem<User> as Bucket>::SPEC });
    let items = [Bson::from(doc! { "user": 1_i64 })];
    let mut shown = Golden::default();
    let push = scope.push(items.to_vec(), false);
    shown.update("into the parent, if it does not hold the item", &push);
    let flag = scope.flag(&items);
    shown.update("flag the parent, if it does not hold the item", &flag);
    shown.document("what the parent holds", &scope.state_fields(&items));
    let foreign = scope.foreign_extras();
    shown.document("extras of other programs, which it may not have", &foreign);
    let replace = scope.replace("user", items[0].clone());
    shown.document("the parent with the item", &replace.0);
    shown.pipeline("replace the item in the parent", &replace.1);
    assert_snapshot!(shown.0);
}

#[test]
fn outlier_update() {
    let scope = scope();
    let mut shown = Golden::default();
    shown.pipeline("read the parent without its array", &scope.without_items());
    let stored = doc! { "_id": 7_i64, "title": "a", "old": 1 };
    let before = doc! { "title": "a", "old": 1, "year": 0 };
    let after = doc! { "title": "b", "year": 0 };
    let changes = FieldChange::between(&stored, &before, &after);
    shown.document("unless it has changed", &scope.unchanged(&changes));
    shown.pipeline("write its fields", &scope.change_fields(&changes));
    assert_snapshot!(shown.0);
}

#[test]
fn outlier_edit() {
    let scope = scope_of(
        &Counted::SPEC,
        const { &<ExtraItem<Counted> as Bucket>::SPEC },
    );
    let query = Query::of(Counted::FIELDS.buyers.item().gt(5));
    let places = Places {
        bucket: String::new(),
        at: vec![1],
        stored: StoredItems::Elements(vec![RawBson::Int64(100)]),
    };
    let mut shown = Golden::default();
    let matches = scope.own_items(&query, OwnItems::All);
    shown.pipeline("the items of the parent", &matches);
    let unchanged = scope.unchanged_items(&places, 3);
    shown.document("unless they have changed", &unchanged);
    let replace = scope.set_items(&places, values(101..102));
    shown.pipeline("replace them", &replace);
    shown.pipeline("remove them", &scope.set_items(&places, Vec::new()));
    assert_snapshot!(shown.0);
}

fn values(values: std::ops::Range<i64>) -> Vec<Bson> {
    values.map(Bson::from).collect()
}

#[test]
fn outlier_push() {
    let scope = scope();
    let mut shown = Golden::default();
    shown.update(
        "into the parent, if it has room",
        &scope.push(values(100..102), false),
    );
    shown.update(
        "flag the parent, if it has no room",
        &scope.flag(&[100_i64.into()]),
    );
    assert_snapshot!(shown.0);
}

#[test]
fn outlier_items() {
    let scope = scope();
    let mut shown = Golden::default();
    let query = Query {
        limit: Some(20),
        ..Query::of(Book::FIELDS.buyers.item().gt(5))
    };
    let own = scope.own_items(&query, OwnItems::All);
    shown.pipeline("items of the parent that match", &own);
    let newest = Query {
        newest_first: true,
        limit: Some(20),
        ..Query::everything()
    };
    let own = scope.own_items(&newest, OwnItems::UnlessFlagged);
    shown.pipeline("the newest items, unless extras come first", &own);
    let own = scope.own_items(&newest, OwnItems::From(2));
    shown.pipeline("from a place on", &own);
    let start = QueryStart {
        at: Some(2),
        ..QueryStart::of_bucket(scope.extras.id("0000000001"))
    };
    let spec = scope.extras.spec;
    let extras = query.pipeline(spec, Some(&scope.extras), Some(&start));
    shown.pipeline("items of extras from a place on", &extras);
    let first = query.first_place(spec, &scope.extras, false);
    shown.pipeline("the first of them, for an edit", &first);
    let count = scope.count_own_matches(&query);
    shown.pipeline("count the items of the parent that match", &count);
    assert_snapshot!(shown.0);
}

#[test]
fn extras_that_are_single_values_are_read() {
    let extras = doc! { "_id": "7_-9999999998", "book_id": 7_i64, "count": 2, "buyers_extra": [0_i64, 1_i64] };
    let extras = bytes::write(&extras).unwrap();
    let read = bytes::read::<StoredBucket<ExtraItem<Book>>>(&extras).unwrap();
    assert_eq!((read.key, read.elements.len()), ((7,), 2));
}

#[test]
fn outlier_split() {
    let scope = scope();
    let mut shown = Golden::default();
    shown.pipeline("count the extras", &scope.count_extras());
    shown.document("the validator of parents", &Book::validator());
    assert_snapshot!(shown.0);
}
