//! The outlier pattern.

use insta::assert_snapshot;
use mongodb::bson::Bson;
use serde::{Deserialize, Serialize};

use super::Golden;
use crate::{
    Bucket, KeyPart, Outlier,
    outlier::{
        command::{ParentScope, oversize_parents},
        extra::ExtraItem,
        maintain::split::buckets,
    },
    schema::open_index::OpenIndex,
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

fn scope() -> ParentScope {
    let id = KeyPart {
        text: "7".into(),
        value: 7_i64.into(),
    };
    let extras = const { &<ExtraItem<Book> as Bucket>::SPEC };
    ParentScope::new(&Book::SPEC, extras, id, OpenIndex::first(extras.capacity))
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
        &scope.push(values(100..102)),
    );
    shown.update(
        "flag the parent, if it has no room",
        &scope.flag(&[100_i64.into()]),
    );
    let mut by_pipeline = |title: &str, (filter, pipeline): (_, Vec<_>)| {
        shown.document(title, &filter);
        shown.pipeline("  by", &pipeline);
    };
    by_pipeline(
        "remove a value from the parent",
        scope.pull(&100_i64.into()),
    );
    by_pipeline(
        "remove a value from extras",
        scope.pull_extras(&100_i64.into()),
    );
    assert_snapshot!(shown.0);
}

#[test]
fn outlier_split() {
    let scope = scope();
    let mut shown = Golden::default();
    let new = buckets::pack_first(&scope, &values(0..6)).unwrap();
    for bucket in new {
        shown.document(
            "an extras document of a new outlier",
            &bucket.to_document().unwrap(),
        );
    }
    let before = buckets::pack_before(&scope, "7_0000000000", &values(0..6)).unwrap();
    for bucket in before {
        let bucket = bucket.to_document().unwrap();
        shown.document("an extras document before those that were pushed", &bucket);
    }
    shown.update("cut the parent", &scope.cut(3));
    shown.document("extras of other programs", &scope.unnumbered_extras());
    shown.pipeline("count the extras", &scope.count_extras());
    shown.document("parents to split", &oversize_parents(&Book::SPEC));
    assert_snapshot!(shown.0);
}
