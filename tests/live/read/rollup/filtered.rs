//! Rollups of items that match a condition, and the guide's pipeline for each value of a field: what the server adds
//! up is what Rust adds up of the same items.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets, Fields, Filter, Rollup, RollupField,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Document, doc},
    },
};
use futures_util::TryStreamExt;
use rand::{Rng, seq::IndexedRandom};
use serde::{Deserialize, Serialize};

use crate::support::database::Live;

#[derive(Debug, Clone, PartialEq, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", id = "{customer}_{at/1m}", capacity = 5)]
struct Trade {
    customer: i64,
    #[bucket(min)]
    at: DateTime,
    ticker: Option<String>,
    #[bucket(sum, min, max)]
    #[serde(rename = "qty")]
    quantity: i64,
    #[bucket(sum, max)]
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<i32>,
    #[serde(with = "bucket_runtime::bson_date")]
    settled: chrono::DateTime<chrono::Utc>,
    venue: Venue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(tag = "kind")]
enum Venue {
    Exchange { city: String },
    Dealer { city: String },
}

const MINUTE: i64 = 60_000;

/// Trades of three customers within ten minutes, around the beginning of 1970.
fn trades() -> Vec<Trade> {
    let mut random = rand::rng();
    let tickers = [None, Some("MDB"), Some("ORCL"), Some("ACME")];
    let of_one = |n: usize| {
        let city = (*["Paris", "Lyon"].choose(&mut random).unwrap()).to_owned();
        let settled = random.random_range(0..3) * 1000;
        Trade {
            customer: (n % 3) as i64,
            at: DateTime::from_millis(random.random_range(-5 * MINUTE..5 * MINUTE)),
            ticker: tickers.choose(&mut random).unwrap().map(str::to_owned),
            quantity: random.random_range(-50..100),
            price: random.random_bool(0.7).then(|| random.random_range(0..9)),
            settled: chrono::DateTime::from_timestamp_millis(settled).unwrap(),
            venue: match random.random_bool(0.5) {
                true => Venue::Exchange { city },
                false => Venue::Dealer { city },
            },
        }
    };
    (0..150).map(of_one).collect()
}

async fn filled(db: &Database) -> (Buckets<Trade>, Vec<Trade>) {
    let buckets = Trade::buckets(db).await.unwrap();
    let all = trades();
    buckets.append_many(all.clone()).await.unwrap();
    (buckets, all)
}

/// All that a rollup says.
type Totals = (
    u64,
    i128,
    Option<i64>,
    Option<i64>,
    u64,
    i128,
    Option<i32>,
    Option<DateTime>,
);

fn told(rollup: &Rollup<Trade>) -> Totals {
    let (quantity, price) = (&rollup.quantity, &rollup.price);
    assert_eq!(quantity.count(), rollup.count());
    (
        rollup.count(),
        quantity.sum(),
        quantity.min(),
        quantity.max(),
        price.count(),
        price.sum(),
        price.max(),
        rollup.at.min(),
    )
}

fn added_up<'t>(trades: impl Iterator<Item = &'t Trade>) -> Totals {
    let trades = Vec::from_iter(trades);
    let quantities = || trades.iter().map(|trade| trade.quantity);
    let prices = || trades.iter().filter_map(|trade| trade.price);
    (
        trades.len() as u64,
        quantities().map(i128::from).sum(),
        quantities().min(),
        quantities().max(),
        prices().count() as u64,
        prices().map(i128::from).sum(),
        prices().max(),
        trades.iter().map(|trade| trade.at).min(),
    )
}

type Case = (Filter<Trade>, fn(&Trade) -> bool);

fn cases() -> Vec<Case> {
    let field = Trade::FIELDS;
    cases! { |trade: Trade|
        Filter::default() => true;
        field.ticker.eq("MDB") => trade.ticker.as_deref() == Some("MDB");
        field.quantity.gt(20).and(field.customer.ne(2)) => trade.quantity > 20 && trade.customer != 2;
        field.customer.eq(1) => trade.customer == 1;
        field.at.lt(DateTime::from_millis(0)) => trade.at.timestamp_millis() < 0;
        field.venue.dealer.city.eq("Lyon") => matches!(&trade.venue, Venue::Dealer { city } if city == "Lyon");
        field.quantity.gt(1000) => false;
    }
}

#[bucket_testkit::test]
async fn rollups_of_matching_items(db: Live) {
    let (buckets, all) = filled(&db).await;
    for (filter, holds) in cases() {
        let matching = || all.iter().filter(|trade| holds(trade));
        let everywhere = buckets.rollup_all().filter(filter.clone()).await.unwrap();
        assert_eq!(told(&everywhere), added_up(matching()), "{filter:?}");

        let of_one = buckets.rollup(&1).filter(filter.clone()).await.unwrap();
        let mine = || matching().filter(|trade| trade.customer == 1);
        assert_eq!(told(&of_one), added_up(mine()), "{filter:?}");

        // Some windows, and one after the other.
        let zero = DateTime::from_millis(0);
        let late = buckets.rollup(&1).windows(zero..).filter(filter.clone());
        let expected = added_up(mine().filter(|trade| trade.at >= zero));
        assert_eq!(told(&late.await.unwrap()), expected, "{filter:?}");
        let series = buckets.rollup(&1).filter(filter).per_windows(1);
        let series: Vec<_> = series.await.unwrap().try_collect().await.unwrap();
        let mut minutes = BTreeMap::<_, Vec<_>>::new();
        for trade in mine() {
            let minute = trade.at.timestamp_millis().div_euclid(MINUTE);
            minutes.entry(minute).or_default().push(trade);
        }
        let expected = minutes.iter().map(|(minute, trades)| {
            let start = DateTime::from_millis(minute * MINUTE);
            (start, added_up(trades.iter().copied()))
        });
        let read = (series.iter()).map(|minute| (minute.start, told(&minute.rollup)));
        assert_eq!(Vec::from_iter(read), Vec::from_iter(expected));
    }
}

#[bucket_testkit::test]
async fn the_guides_pipeline_adds_up_the_items_of_each_value(db: Live) {
    let (buckets, all) = filled(&db).await;
    let mut pipeline = vec![doc! { "$match": buckets.filter(&1) }];
    pipeline.extend(Trade::unwind());
    pipeline.push(doc! { "$group": { "_id": "$ticker", "shares": { "$sum": "$qty" } } });
    let rows = buckets.collection().aggregate(pipeline).await.unwrap();
    let rows: Vec<Document> = rows.try_collect().await.unwrap();
    let read = rows.iter().map(|row| {
        let ticker = row.get_str("_id").ok().map(str::to_owned);
        (ticker, row.get_i64("shares").unwrap())
    });
    let mut expected = BTreeMap::<_, i64>::new();
    for trade in all.iter().filter(|trade| trade.customer == 1) {
        *expected.entry(trade.ticker.clone()).or_default() += trade.quantity;
    }
    assert_eq!(BTreeMap::from_iter(read), expected);
}

/// Stored as text, and kept as a number.
#[derive(Debug, Serialize, Deserialize)]
struct Cents(String);

impl RollupField for Cents {
    type Value = i64;

    fn to_rollup(&self) -> Option<Bson> {
        self.0.parse().ok().map(Bson::Int64)
    }

    fn from_rollup(value: &Bson) -> Option<i64> {
        value.as_i64()
    }
}

#[derive(Debug, Bucket)]
#[bucket(collection = "payments", id = "{owner}_{#}", capacity = 5)]
struct Payment {
    owner: i64,
    #[bucket(min)]
    cents: Cents,
    n: i32,
}

#[bucket_testkit::test]
async fn values_that_cannot_be_added_up_are_errors(db: Live) {
    let payments = Payment::buckets(&db).await.unwrap();
    let (owner, cents, n) = (1, Cents("50".to_owned()), 1);
    let payment = Payment { owner, cents, n };
    payments.append(&payment).await.unwrap();
    // The rollups of the buckets are complete.
    assert_eq!(payments.rollup(&1).await.unwrap().cents.min(), Some(50));
    let some = payments.rollup(&1).filter(Payment::FIELDS.n.gt(0)).await;
    assert!(some.unwrap_err().is_incomplete_rollup());
}
