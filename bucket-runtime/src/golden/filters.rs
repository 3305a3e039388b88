//! Conditions, each on an item and on the buckets that may hold a matching one.

use insta::assert_snapshot;
use mongodb::bson::{DateTime, Document, Regex, doc};
use serde::{Deserialize, Serialize};

use super::{AT, Bucket, Golden};
use crate::{Fields, Filter};

/// Items with parts of each kind.
#[derive(Serialize, Deserialize, Bucket)]
#[bucket(crate = crate, collection = "trades", id = "{exchange}/{customer}_{#}", capacity = 10)]
struct Trade {
    exchange: String,
    customer: i64,
    date: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    paid: Option<DateTime>,
    #[serde(default, with = "crate::bson_date")]
    due: Option<DateTime>,
    tags: Vec<String>,
    rounds: Vec<Vec<i64>>,
    sizes: Option<Box<[i64]>>,
    venue: Venue,
    payment: Payment,
    fees: Vec<Fee>,
    any: mongodb::bson::Bson,
}

#[derive(Serialize, Deserialize, Fields)]
#[fields(crate = crate)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Venue {
    Floor { city: String },
    OverTheCounter { dealer: Option<Dealer> },
}

#[derive(Serialize, Deserialize, Fields)]
#[fields(crate = crate)]
enum Payment {
    Card { digits: String },
    Transfer(String),
}

#[derive(Serialize, Deserialize, Fields)]
#[fields(crate = crate)]
struct Dealer {
    home: Option<String>,
}

#[derive(Serialize, Deserialize, Fields)]
#[fields(crate = crate)]
struct Fee {
    payee: String,
    cents: i64,
}

fn conditions() -> Vec<(&'static str, Filter<Trade>)> {
    let trade = Trade::FIELDS;
    let pattern = || Regex {
        pattern: "^M".into(),
        options: "".into(),
    };
    vec![
        ("everything", Filter::default()),
        ("nothing", trade.tags.is_in(Vec::<Vec<String>>::new())),
        ("none of no conditions", !Filter::default()),
        ("a key field", trade.customer.eq(7)),
        ("not that key field", trade.customer.ne(7)),
        ("a field", trade.date.eq(AT)),
        ("not that value", trade.date.ne(AT)),
        ("one of two values", trade.date.is_in([AT, DateTime::MAX])),
        ("a range", trade.date.between(AT..DateTime::MAX)),
        ("any range", trade.date.between(..)),
        ("there", trade.note.exists(true)),
        ("not there", trade.note.exists(false)),
        ("a text that may be left out", trade.note.eq("urgent")),
        ("left out", trade.note.eq(None::<String>)),
        ("above a text", trade.note.gt("m")),
        ("after a time that may be null", trade.paid.gt(AT)),
        ("a time that may be null", trade.paid.eq(AT)),
        ("before a date that may be null", trade.due.lt(AT)),
        ("null", trade.paid.eq(None::<DateTime>)),
        (
            "a pattern as a value",
            trade
                .any
                .eq(mongodb::bson::Bson::RegularExpression(pattern())),
        ),
        (
            "a pattern among values",
            trade
                .any
                .is_in([mongodb::bson::Bson::RegularExpression(pattern()), 7.into()]),
        ),
        (
            "operators of the server",
            trade.note.is(doc! { "$regex": "^M" }),
        ),
        (
            "an item of a list that may be null",
            trade.sizes.contains(5),
        ),
        ("an item of a list", trade.tags.contains("new")),
        (
            "an item of a list of lists",
            trade.rounds.any_item().any_item().gt(5),
        ),
        (
            "a field of an element",
            trade
                .fees
                .any(Fee::FIELDS.payee.eq("NYSE").and(Fee::FIELDS.cents.gt(5))),
        ),
        ("a field of a variant", trade.venue.floor.city.eq("Paris")),
        (
            "not that field of a variant",
            trade.venue.floor.city.ne("Paris"),
        ),
        (
            "a field through options",
            trade.venue.over_the_counter.dealer.home.eq("Lyon"),
        ),
        ("a variant", trade.venue.floor.matches()),
        (
            "a key field and a field",
            trade.customer.eq(7).and(trade.date.eq(AT)),
        ),
        ("two fields", trade.date.eq(AT).and(trade.note.exists(true))),
        (
            "a key field or a field",
            trade.customer.eq(7).or(trade.date.eq(AT)),
        ),
        ("neither", !trade.customer.eq(7).or(trade.date.eq(AT))),
        (
            "a key field and one of two fields",
            trade
                .customer
                .eq(7)
                .and(trade.date.eq(AT).or(trade.note.exists(true))),
        ),
    ]
}

#[test]
fn filters_of_items_and_of_buckets() {
    let mut shown = Golden::default();
    for (title, filter) in conditions() {
        let node = &filter.node;
        let decided = if node.is_decided_by_buckets() {
            ", which decide"
        } else {
            ""
        };
        let shape =
            doc! { "item": Document::from(filter.clone()), "buckets": node.of_bucket("items") };
        shown.document(&format!("{title}{decided}"), &shape);
        assert_eq!(format!("{filter:?}"), Document::from(filter).to_string());
    }
    assert_snapshot!(shown.0);
}

/// The ids are bounded by the key fields that stand first in them.
#[test]
fn filters_that_bound_the_ids() {
    let trade = Trade::FIELDS;
    let prefix = |filter: Filter<Trade>| filter.node.id_prefix(&Trade::SPEC);
    let (exchange, customer) = (|| trade.exchange.eq("X/Y"), || trade.customer.eq(7));
    let known = |prefix: &str| Some(prefix.to_owned());
    assert_eq!(prefix(exchange()), known("X%2FY/"));
    assert_eq!(prefix(customer().and(exchange())), known("X%2FY/7_"));
    assert_eq!(prefix(exchange().and(trade.note.eq("a"))), known("X%2FY/"));
    assert_eq!(prefix(customer()), None);
    assert_eq!(
        (prefix(exchange().or(customer())), prefix(!exchange())),
        (None, None)
    );
}

/// Indexes and parts of items name fields by these.
#[test]
fn names_of_fields() {
    let trade = Trade::FIELDS;
    assert_eq!(
        (trade.customer.name(), trade.customer.is_key()),
        ("customer", true)
    );
    assert_eq!((trade.date.name(), trade.date.is_key()), ("date", false));
    let nested = [
        trade.venue.floor.city.index_name(),
        trade.venue.over_the_counter.dealer.home.index_name(),
        trade.payment.card.index_name(),
        trade.payment.transfer.index_name(),
    ];
    assert_eq!(
        nested,
        [
            "venue.city",
            "venue.dealer.home",
            "payment.Card",
            "payment.Transfer"
        ]
    );
}
