//! Indexes, validators and shard keys.

use bucket_core::{
    protocol::{
        command,
        indexes::{self, Needed},
        validator,
    },
    schema::open_index::OpenIndex,
};
use insta::assert_snapshot;
use mongodb::bson::doc;

use super::{Bucket, Golden, Note, Order, Reading, Trade};

fn setup<T: Bucket>() -> String {
    let spec = const { &T::SPEC };
    let mut shown = Golden::default();
    let open = indexes::open(spec, OpenIndex::first(spec.capacity));
    let others = indexes::asked_for(&[], spec, Needed::IfMissing).unwrap();
    for index in [open].into_iter().chain(others) {
        let options = index.options.unwrap_or_default();
        let mut shape = doc! { "keys": index.keys };
        if options.unique == Some(true) {
            shape.insert("unique", true);
        }
        shape.extend(
            options
                .partial_filter_expression
                .map(|filter| ("only".into(), filter.into())),
        );
        let seconds = options.expire_after.map(|after| after.as_secs() as i64);
        shape.extend(seconds.map(|seconds| ("expire_after".into(), seconds.into())));
        let name = options
            .name
            .unwrap_or_else(|| "that the driver names".to_owned());
        shown.document(&format!("index {name}"), &shape);
    }
    shown.document("shard key", &command::shard_key(spec));
    if let Some(key) = command::window_shard_key(spec) {
        shown.document("shard key with the window", &key);
    }
    let types = vec![None; spec.key.len()];
    let validator = validator::of_bucket(spec, &types);
    shown.document("validator", &validator);
    shown.0
}

#[test]
fn setup_of_timed_buckets() {
    assert_snapshot!(setup::<Trade>());
}

#[test]
fn setup_of_numbered_unique_items() {
    assert_snapshot!(setup::<Order>());
}

#[test]
fn setup_of_windows_that_expire() {
    assert_snapshot!(setup::<Reading>());
}

#[test]
fn setup_where_bytes_are_counted() {
    assert_snapshot!(setup::<Note>());
}
