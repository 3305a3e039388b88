//! The fuzz targets on the stable toolchain: over the corpus of `fuzz/`, and over random input that is
//! full of characters with a special meaning for them.

use std::{fs, path::Path};

use mongodb::bson::doc;
use proptest::prelude::*;

use super::*;

/// Texts made of what formats, escapes and ids consist of.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[_%.|x0-9\n-]{0,24}",
        "[_$\"5F%\n]{0,12}",
        "[\u{0}-\u{ff}]{0,12}",
        any::<String>()
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let chosen =
        (any::<u8>(), text()).prop_map(|(choice, text)| [&[choice], text.as_bytes()].concat());
    prop_oneof![chosen, proptest::collection::vec(any::<u8>(), 0..40)]
}

fn token() -> impl Strategy<Value = Vec<u8>> {
    let item = "A[Qg][A-Za-z0-9_-]{15}A[A-Za-j][A-Za-z0-9_-]{0,60}";
    let watch = "[0-9A-Fa-f]{1,20}(-[0-9A-Fa-f]{0,6})?(\\.[0-9]{0,21})?";
    let text = prop_oneof![item, watch, text()];
    text.prop_map(String::into_bytes)
}

/// Values of each type, some of which fit.
fn value() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        Just(Bson::Null),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<f64>().prop_map(Bson::Double),
        "[a-z_]{0,3}".prop_map(Bson::String),
        any::<i64>().prop_map(|at| DateTime::from_millis(at).into()),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let name = "k|a|b|n|x|at|any|list|count|items|rollup|sum|min|max|missing|\\$ne";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            proptest::collection::vec((name, inner), 0..5)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

/// A bucket in which some fields are wrong, and a few bytes may be, too.
fn bucket() -> impl Strategy<Value = Vec<u8>> {
    let names = "_id|k|a|b|n|at|count|items|sealed|rollup|window";
    let changes = proptest::collection::vec((names, value()), 0..4);
    let flips = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..3);
    (changes, flips).prop_map(|(changes, flips)| {
        let at = DateTime::from_millis(0);
        let item = doc! { "at": at, "n": 1_i64, "x": 0.5, "any": {}, "list": ["a"] };
        let kept = doc! { "count": 2, "sum": 2_i64, "min": 1_i64, "max": 1_i64 };
        let mut bucket = doc! {
            "_id": "1_0000000000000", "k": 1_i64, "b": true, "a": [item.clone()], "n": 1,
            "count": 2, "items": [item.clone(), item], "window": at,
            "rollup": { "n": kept.clone(), "x": kept.clone(), "at": kept },
        };
        bucket.extend(changes);
        let mut bytes = bucket_core::value::bytes::write(&bucket).expect("a document");
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn g4_no_id_of_one_key_is_taken_for_one_of_another(input in bytes()) {
        keys(&input);
    }

    #[test]
    fn g5_ids_sort_as_times(input in proptest::collection::vec(any::<u8>(), 17)) {
        times(&input);
    }

    #[test]
    fn tokens_from_outside(input in token()) {
        tokens(&input);
    }

    #[test]
    fn documents_from_outside(input in prop_oneof![bucket(), bytes()]) {
        documents(&input);
    }
}

#[test]
fn the_corpus() {
    type Target = fn(&[u8]);
    let targets: [(&str, Target); 4] = [
        ("keys", keys),
        ("times", times),
        ("tokens", tokens),
        ("documents", documents),
    ];
    for (name, target) in targets {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz/corpus")
            .join(name);
        let inputs: Vec<_> = fs::read_dir(&folder).expect("the corpus").collect();
        assert!(!inputs.is_empty(), "{}", folder.display());
        for input in inputs {
            target(&fs::read(input.expect("an entry").path()).expect("a file"));
        }
    }
}
