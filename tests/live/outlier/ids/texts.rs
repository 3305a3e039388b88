//! Ids of parents that are texts, which may look like ids, escapes, patterns, operators and parts of
//! each other.

use bucket_runtime::mongodb::bson::doc;
use proptest::prelude::*;

use crate::{
    outlier::ids::types::{Log, fresh, stay_apart},
    support::{
        database::{Live, documents},
        random::for_any,
        scale::scaled,
    },
};

/// As ids of parents and of extras, and with what these escape; `security/inputs.rs` has more.
#[bucket_testkit::test]
async fn hostile_texts_stay_apart(db: Live) {
    let short = [
        "",
        "_",
        "__",
        "_x",
        "x",
        "12",
        "12_",
        "12_3",
        "1",
        "012",
        "-12",
        "a.b",
        "axb",
        "a|b",
        "a_b",
        "a%5Fb",
        "a%255Fb",
        "%5F",
        "%5f",
        "%",
        "%%",
        "%25",
        ".*",
        "^12_",
        "\\",
        "\0",
        "a\0",
        "\n",
        " 12",
        "12 ",
        "\u{7f}",
        "\u{85}",
        "e\u{301}",
        "\u{e9}",
        "ß",
        "SS",
        "a\u{10ffff}",
        "$where",
        "$",
        "$title",
        "null",
        "12_0000000000",
        "12_-9999999999",
        "0000000000",
        "_0000000000",
        "-9999999999",
    ];
    let mut texts = Vec::from_iter(short.map(str::to_owned));
    texts.extend(["", "0000000000"].map(|end| "long_".repeat(2000) + end));
    stay_apart(&fresh::<String>(&db).await, &texts).await;
}

#[bucket_testkit::test(multi_thread)]
async fn any_texts_stay_apart(db: Live) {
    let logs = fresh::<String>(&db).await;
    let text = prop_oneof!["[_%.|x0-9-]{0,5}", "[a_]{0,3}", any::<String>()];
    let texts = proptest::collection::btree_set(text, 1..7);
    for_any(scaled(32), texts, async |texts| {
        logs.collection().delete_many(doc! {}).await.unwrap();
        logs.extras_collection().delete_many(doc! {}).await.unwrap();
        stay_apart(&logs, &Vec::from_iter(texts)).await;
    });
}

#[bucket_testkit::test]
async fn the_id_is_stored_as_it_is_and_escaped_in_pages_alone(db: Live) {
    let logs = fresh::<String>(&db).await;
    logs.insert(&Log {
        id: "a_b%".to_owned(),
        lines: vec![1, 2],
    })
    .await
    .unwrap();
    let parent = documents(logs.collection()).await.remove(0);
    assert_eq!(parent.get_str("_id").unwrap(), "a_b%");
    let page =
        doc! { "_id": "a%5Fb%25_0000000000", "log": "a_b%", "lines_extra": [2_i64], "count": 1 };
    assert_eq!(documents(logs.extras_collection()).await, [page]);
}
