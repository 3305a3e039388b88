//! Conditions and indexes through lists, options and variants: what the server finds is what Rust finds among the
//! same items.

use std::collections::{BTreeSet, VecDeque};

use bucket_runtime::{Bucket, Buckets, Fields, Filter, mongodb::Database};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use crate::support::{
    database::{Live, Recorded},
    plans::examined,
};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(collection = "orders", id = "{customer}_{#}", capacity = 4)]
struct Order {
    customer: i64,
    number: i64,
    #[bucket(index(city))]
    venues: Vec<Venue>,
    pair: [i32; 2],
    queue: Option<VecDeque<i32>>,
    names: BTreeSet<String>,
    boxed: Box<[Venue]>,
    rows: Vec<Vec<i32>>,
    halls: Vec<VecDeque<Venue>>,
    #[bucket(index(bank.code, text))]
    paid: Option<Payment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Venue {
    city: String,
    seats: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
enum Payment {
    Bank(Bank),
    Text(String),
    Cash { cents: i64 },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
struct Bank {
    code: i32,
}

const CITIES: [&str; 3] = ["Paris", "Lyon", "Nice"];

fn venue(number: i32) -> Venue {
    Venue {
        city: CITIES[number as usize % 3].to_owned(),
        seats: number % 5,
    }
}

fn order(number: i32) -> Order {
    let venues = Vec::from_iter((0..number % 3).map(|n| venue(number + n)));
    Order {
        customer: i64::from(number % 2),
        number: number.into(),
        venues: venues.clone(),
        pair: [number % 4, number % 7],
        queue: (number % 3 != 0).then(|| (0..number % 4).collect()),
        names: (0..number % 4).map(|n| format!("name {n}")).collect(),
        boxed: venues.clone().into(),
        rows: (0..number % 3).map(|n| vec![n, number % 6]).collect(),
        halls: vec![VecDeque::new(), venues.into()],
        paid: match number % 4 {
            0 => None,
            1 => Some(Payment::Bank(Bank { code: number % 5 })),
            2 => Some(Payment::Text(CITIES[number as usize % 3].to_owned())),
            _ => Some(Payment::Cash { cents: 7 }),
        },
    }
}

async fn filled(db: &Database) -> (Buckets<Order>, Vec<Order>) {
    let orders = Order::buckets(db).await.unwrap();
    let all = Vec::from_iter((0..60).map(order));
    orders.append_many(all.clone()).await.unwrap();
    (orders, all)
}

fn is_large_in_lyon(venue: &Venue) -> bool {
    venue.seats >= 3 && venue.city == "Lyon"
}

/// A condition, and the same in Rust.
type Case = (Filter<Order>, fn(&Order) -> bool);

fn cases() -> Vec<Case> {
    let field = Order::FIELDS;
    let venue = Venue::FIELDS;
    let is_large = || venue.seats.gte(3).and(venue.city.eq("Lyon"));
    let names = "name 1".to_owned().."name 2".to_owned();
    cases! { |order: Order|
        field.pair.contains(3) => order.pair.contains(&3);
        field.pair.any_item().gt(4) => order.pair.iter().any(|one| *one > 4);
        field.pair.eq([1, 1]) => order.pair == [1, 1];
        field.queue.contains(2) => order.queue.as_ref().is_some_and(|queue| queue.contains(&2));
        field.names.contains("name 2") => order.names.contains("name 2");
        field.names.any_item().between(names) => order.names.contains("name 1");
        field.boxed.any(is_large()) => order.boxed.iter().any(is_large_in_lyon);
        !field.venues.any(is_large()) => !order.venues.iter().any(is_large_in_lyon);
        field.rows.any_item().any_item().gt(4) => order.rows.iter().flatten().any(|one| *one > 4);
        field.rows.any_item().any_item().ne(1) => order.rows.iter().flatten().all(|one| *one != 1);
        field.rows.any_item().any_item().is_in([4, 5])
            => order.rows.iter().flatten().any(|one| [4, 5].contains(one));
        field.rows.any_item().contains(4) => order.rows.iter().any(|row| row.contains(&4));
        field.rows.any_item().eq(vec![1, 2]) => order.rows.contains(&vec![1, 2]);
        field.halls.any_item().any(is_large()) => order.halls.iter().flatten().any(is_large_in_lyon);
    }
}

#[bucket_testkit::test]
async fn conditions_on_lists_find_what_rust_finds(db: Live) {
    let (orders, all) = filled(&db).await;
    for (filter, holds) in cases() {
        let text = format!("{filter:?}");
        let expected = Vec::from_iter(all.iter().filter(|order| holds(order)).cloned());
        assert!(!expected.is_empty() && expected.len() < all.len(), "{text}");
        let found = orders.all_items().filter(filter).await.unwrap();
        let mut found: Vec<Order> = found.try_collect().await.unwrap();
        found.sort_by_key(|order| order.number);
        assert_eq!(found, expected, "{text}");
    }
}

/// Each index is over the path that conditions on the same fields name.
#[bucket_testkit::test]
async fn indexes_through_lists_and_variants_find_the_buckets(Recorded(db, record): Recorded) {
    let (orders, _) = filled(&db).await;
    let oslo = Venue {
        city: "Oslo".to_owned(),
        seats: 1,
    };
    let rare = Order {
        venues: vec![venue(0), oslo],
        paid: Some(Payment::Bank(Bank { code: 77 })),
        ..order(60)
    };
    let text = Order {
        paid: Some(Payment::Text("Oslo".to_owned())),
        ..order(61)
    };
    orders.append_many([rare, text]).await.unwrap();
    let paid = Order::FIELDS.paid;
    for filter in [
        Order::FIELDS.venues.any(Venue::FIELDS.city.eq("Oslo")),
        paid.bank.code.eq(77),
        paid.text.eq("Oslo"),
    ] {
        let text = format!("{filter:?}");
        record.take();
        let found = orders.all_items().filter(filter).await.unwrap();
        let found: Vec<Order> = found.try_collect().await.unwrap();
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(examined(&db, &record).await[0].documents, 1, "{text}");
    }
}
