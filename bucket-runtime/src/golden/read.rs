//! Reads of items.

use bucket_core::{
    protocol::{
        command::KeyScope,
        filter::Filter,
        query::{Query, QueryStart},
    },
    schema::names::WHOLE_ITEM,
    value::rollup::totals,
};
use insta::assert_snapshot;
use mongodb::bson::{Bson, DateTime, doc};

use super::{AT, Bucket, Golden, Reading, Trade, entry, reading, trade};

fn query<T>(filter: Filter<T>, newest_first: bool) -> Query {
    Query {
        filter: filter.node,
        newest_first,
        skip: 0,
        limit: Some(20),
        names: None,
    }
}

#[test]
fn read_of_parts() {
    let (scope, _) = entry(&trade());
    let mut shown = Golden::default();
    let parts = |query| Query {
        names: Some(vec!["date", "ticker"]),
        ..query
    };
    let range = parts(Query::everything()).bucket_range(&Trade::SPEC);
    let projection = range.projection.expect("a projection");
    shown.document("the projection of whole buckets", &projection);
    let found = parts(query(Trade::FIELDS.ticker.eq("MDB"), false));
    let found = found.pipeline(&Trade::SPEC, Some(&scope), None);
    shown.pipeline("single items", &found);
    assert_snapshot!(shown.0);
}

#[test]
fn read_with_a_filter() {
    let (scope, _) = entry(&trade());
    let mut shown = Golden::default();
    let ticker = || Trade::FIELDS.ticker.eq("MDB");
    let of_key = query(ticker(), true).pipeline(&Trade::SPEC, Some(&scope), None);
    shown.pipeline("a key's items, newest first", &of_key);
    let both = ticker().and(Trade::FIELDS.customer_id.eq(123));
    let of_all = query(both, false).pipeline(&Trade::SPEC, None, None);
    shown.pipeline("all keys' items, on a key field as well", &of_all);
    let bucket = || QueryStart::of_bucket("123_1714979289".to_owned());
    let later = Query {
        skip: 4,
        ..query(Filter::<Trade>::default(), false)
    };
    let later = later.pipeline(&Trade::SPEC, Some(&scope), None);
    shown.pipeline("after a skip", &later);
    let position = QueryStart {
        at: Some(7),
        ..bucket()
    };
    for newest_first in [false, true] {
        let on = query(ticker(), newest_first);
        let on = on.pipeline(&Trade::SPEC, Some(&scope), Some(&position));
        let order = if newest_first { "newest" } else { "oldest" };
        shown.pipeline(&format!("from a token on, {order} first"), &on);
    }
    let place = query(ticker(), false).first_place(&Trade::SPEC, &scope, false);
    shown.pipeline("the place of one item, for an edit", &place);
    assert_snapshot!(shown.0);
}

/// The pipelines that count, and those that find the places of items and the buckets to change.
#[test]
fn read_of_numbers_and_of_places() {
    let (scope, _) = entry(&trade());
    let mut shown = Golden::default();
    let ticker = || Query::of(Trade::FIELDS.ticker.eq("MDB"));
    let customer = || Query::of(Trade::FIELDS.customer_id.eq(123));
    let spec = &Trade::SPEC;
    shown.pipeline(
        "the number of a key's items",
        &Query::everything().count(spec, Some(&scope)),
    );
    shown.pipeline(
        "the number of items by a key field",
        &customer().count(spec, None),
    );
    shown.pipeline(
        "the number of matching items",
        &ticker().count(spec, Some(&scope)),
    );
    let bucket = "123_1714979289";
    shown.pipeline(
        "the places in a bucket",
        &ticker().places(spec, &scope, bucket, false),
    );
    shown.pipeline(
        "and all of its items",
        &ticker().places(spec, &scope, bucket, true),
    );
    shown.pipeline(
        "the next buckets",
        &ticker().next_buckets(spec, Some(&scope), &[], 5),
    );
    let further = [doc! { "_id": { "$gt": bucket } }];
    shown.pipeline(
        "those after a bucket",
        &ticker().next_buckets(spec, Some(&scope), &further, 5),
    );
    assert_snapshot!(shown.0);
}

/// With the rollups of buckets as they are, and of single items.
#[test]
fn read_of_rollups() {
    let mut shown = Golden::default();
    let by = || Bson::from("$window");
    shown.pipeline(
        "added up by window",
        &totals::added_up(&Reading::SPEC, by()),
    );
    shown.pipeline("of single items", &[totals::of_item(&Reading::SPEC)]);
    shown.pipeline(
        "without fields to add up",
        &totals::added_up(&Trade::SPEC, by()),
    );
    shown.pipeline(
        "of single items without fields",
        &[totals::of_item(&Trade::SPEC)],
    );
    assert_snapshot!(shown.0);
}

#[test]
fn whole_buckets_are_read_unless_single_items_are_asked_for() {
    let spec = &Trade::SPEC;
    let all = Query::everything;
    assert!(all().takes_whole_buckets());
    let limited = Query {
        limit: Some(5),
        ..all()
    };
    let matching = Query::of(Trade::FIELDS.ticker.eq("MDB"));
    let later = Query { skip: 1, ..all() };
    for query in [limited, matching.clone(), later] {
        assert!(!query.takes_whole_buckets());
    }

    // A count looks at all matching items, in whatever order and number they were asked for.
    let part = Query {
        newest_first: true,
        skip: 3,
        limit: Some(5),
        ..matching.clone()
    };
    let counted = part.of_all_matches();
    assert_eq!(
        (counted.newest_first, counted.skip, counted.limit),
        (false, 0, None)
    );
    assert_eq!(counted.filter.flat(""), matching.filter.flat(""));

    assert_eq!(
        all().buckets(spec, None, None),
        doc! { "_id": { "$gte": "" } }
    );
    let sort = |newest_first| {
        Query {
            newest_first,
            ..all()
        }
        .bucket_range(spec)
        .sort
    };
    assert_eq!(
        (sort(false), sort(true)),
        (Some(doc! { "_id": 1 }), Some(doc! { "_id": -1 }))
    );
    let range = all().bucket_range(spec).project(doc! { "_id": 1 });
    assert_eq!(
        (range.projection, range.sort),
        (Some(doc! { "_id": 1 }), Some(doc! { "_id": 1 }))
    );
}

/// Tokens tell items apart by these fields.
#[test]
fn items_are_told_apart_by_the_unique_field_if_it_is_read() {
    let telling = |names: Option<Vec<_>>, unique| {
        Query {
            names,
            ..Query::everything()
        }
        .telling_names(unique)
    };
    let (number, both) = (Some("number"), || vec!["number", "text"]);
    assert_eq!(
        (telling(None, None), telling(None, number)),
        (None, Some(vec!["number"]))
    );
    assert_eq!(
        (telling(Some(both()), None), telling(Some(both()), number)),
        (Some(both()), Some(vec!["number"]))
    );
    assert_eq!(telling(Some(vec!["text"]), number), Some(vec!["text"]));
    assert_eq!(telling(None, Some(WHOLE_ITEM)), None);
    let identity = Query::of_identity("number", &doc! { "number": 7, "text": "a" }.into());
    assert_eq!(
        identity.filter.flat("items."),
        doc! { "items.number": { "$eq": 7 } }
    );
}

#[test]
fn read_of_windows_by_time() {
    let (scope, _) = entry(&reading());
    let scope = KeyScope::new(scope.spec, scope.parts.clone());
    let mut shown = Golden::default();
    let end = DateTime::from_millis(AT.timestamp_millis() + 3_600_000);
    let between = Reading::FIELDS.at.gte(AT).and(Reading::FIELDS.at.lt(end));
    let found = query(between, false).pipeline(&Reading::SPEC, Some(&scope), None);
    shown.pipeline("a key's items of an hour", &found);
    assert_snapshot!(shown.0);
}

#[test]
fn read_of_pages() {
    let (scope, _) = entry(&trade());
    let mut shown = Golden::default();
    shown.document("all buckets of a key", &scope.all());
    let all = [doc! { "$match": scope.ids() }];
    shown.pipeline("as the `_id` index alone finds them", &all);
    assert_snapshot!(shown.0);
}
