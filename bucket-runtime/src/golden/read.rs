//! Reads of items.

use insta::assert_snapshot;
use mongodb::bson::{DateTime, doc};

use super::{AT, Bucket, Golden, Reading, Trade, entry, reading, trade};
use crate::protocol::{
    command::KeyScope,
    filter::Filter,
    query::{Query, QueryStart},
};

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
    let start = QueryStart {
        skip: 4,
        buckets: Some(3),
        ..bucket()
    };
    let later = query(Filter::<Trade>::default(), false);
    let later = later.pipeline(&Trade::SPEC, Some(&scope), Some(&start));
    shown.pipeline("from a place on, after a skip", &later);
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
    shown.document("those after a token", &scope.after("1714979289"));
    shown.document("those before a token", &scope.before("1714979289"));
    let all = [doc! { "$match": scope.ids() }];
    shown.pipeline("as the `_id` index alone finds them", &all);
    assert_snapshot!(shown.0);
}
