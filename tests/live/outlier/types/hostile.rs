//! Items that look like operators, patterns and paths: they are plain values.

use std::collections::BTreeMap;

use bucket_runtime::mongodb::bson::{Bson, Regex, doc};
use serde::{Deserialize, Serialize};

use crate::{
    outlier::{
        support::{fresh, verify},
        types::items::{List, round_trip},
    },
    support::database::Live,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(i64),
    Many(Vec<i64>),
}

/// A removal removes what equals the value, not what contains it.
#[bucket_testkit::test]
async fn a_removed_value_is_not_taken_for_an_element_of_another(db: Live) {
    use OneOrMany::{Many, One};
    let items = [
        One(1),
        Many(vec![1]),
        Many(vec![1, 2]),
        One(2),
        Many(vec![]),
    ];
    round_trip(&db, &items).await;
}

#[bucket_testkit::test]
async fn items_may_look_like_operators(db: Live) {
    let items = [
        doc! { "$each": [1, 2], "$slice": 1 },
        doc! { "$in": ["a"] },
        doc! { "$gt": "" },
        doc! { "$exists": true },
        doc! { "$literal": 1 },
        doc! { "$add": [1, 2] },
        doc! { "$ref": "a", "$id": 1 },
        doc! { "a": { "$ne": 1 } },
        doc! { "a.b": 1 },
        doc! { "a": 1, "b": 2 },
        doc! { "a": 1 },
        doc! {},
    ];
    round_trip(&db, &items).await;
}

#[bucket_testkit::test]
async fn a_removed_pattern_is_no_pattern(db: Live) {
    let regex = |pattern: &str| {
        let (pattern, options) = (pattern.try_into().unwrap(), "".try_into().unwrap());
        Bson::RegularExpression(Regex { pattern, options })
    };
    let items = [
        regex("^a"),
        Bson::String("abc".into()),
        Bson::String("^a".into()),
        regex(".*"),
    ];
    round_trip(&db, &items).await;
}

/// A path such as `all.2` also names a field `2` of the documents in the array.
#[bucket_testkit::test]
async fn items_may_have_fields_that_are_numbers(db: Live) {
    let item = |name: &str| BTreeMap::from([(name.to_owned(), 1_i64)]);
    let lists = fresh::<List<BTreeMap<String, i64>>>(&db).await;
    for name in ["0", "1", "2", "3"] {
        let all = vec![item(name)];
        lists.insert(&List { id: 7, all }).await.unwrap();
        assert_eq!(verify(&lists).await.unwrap(), [], "one item {name}");
        lists.push(&7, item("a")).await.unwrap();
        lists.push(&7, item("b")).await.unwrap();
        let parent = lists.get(&7).await.unwrap().unwrap();
        assert_eq!(
            parent.document.all,
            [item(name), item("a"), item("b")],
            "O2 allows three"
        );
        assert!(!parent.has_extras);
        lists.delete(&7).await.unwrap();
    }
    round_trip(&db, &["0", "1", "2", "3", "4"].map(item)).await;
}
