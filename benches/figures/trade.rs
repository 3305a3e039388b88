//! The data of all figures: the trades of the manual's page, as our items and as the peers'
//! documents.

use std::{collections::BTreeMap, ops::Range};

use bucket_runtime::{Bucket, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A trade as a document of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Flat {
    pub(crate) customer_id: i64,
    pub(crate) date: DateTime,
    pub(crate) ticker: String,
    #[serde(rename = "qty")]
    pub(crate) quantity: i32,
}

/// A field that all of these structs have.
pub(crate) trait Quantity {
    fn quantity(&self) -> i32;
}

/// The README's trade in buckets, and with other id formats and capacities, which are part of the type.
macro_rules! bucketed {
    ($($name:ident: $id:literal, $capacity:literal;)+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[serde(rename_all = "camelCase")]
        #[bucket(collection = "trades", id = $id, capacity = $capacity, items = "history")]
        pub(crate) struct $name {
            pub(crate) customer_id: i64,
            pub(crate) date: DateTime,
            pub(crate) ticker: String,
            #[serde(rename = "qty")]
            pub(crate) quantity: i32,
        }

        impl Quantity for $name {
            fn quantity(&self) -> i32 {
                self.quantity
            }
        }

        impl From<Flat> for $name {
            fn from(trade: Flat) -> Self {
                let Flat { customer_id, date, ticker, quantity } = trade;
                Self { customer_id, date, ticker, quantity }
            }
        }
    )+};
}

bucketed! {
    Trade: "{customer_id}_{date}", 10;
    Numbered: "{customer_id}_{#}", 10;
    Trade50: "{customer_id}_{date}", 50;
    Numbered50: "{customer_id}_{#}", 50;
    Trade1000: "{customer_id}_{date}", 1000;
}

/// A bucket as a program without this library stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ByHand {
    #[serde(rename = "_id")]
    pub(crate) id: String,
    pub(crate) customer_id: i64,
    pub(crate) count: i32,
    pub(crate) history: Vec<Element>,
}

/// An item of such a bucket.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Element {
    pub(crate) date: DateTime,
    pub(crate) ticker: String,
    #[serde(rename = "qty")]
    pub(crate) quantity: i32,
}

/// 2023-10-26, the day of the manual's first trade.
const START: i64 = 1_698_300_000_000;

/// Seconds between two trades of a busy customer.
const APART: usize = 7;

const TICKERS: [&str; 12] = [
    "MDB", "GOOG", "MSFT", "AAPL", "AMZN", "NVDA", "META", "TSLA", "ORCL", "IBM", "SAP", "INTC",
];

/// The trade with this number, which is always the same. No two trades of a customer are in the
/// same second.
pub(crate) fn trade(customer_id: i64, nth: usize) -> Flat {
    trade_after(customer_id, nth, APART)
}

/// Trades with `apart` seconds between two trades, on average.
fn trade_after(customer_id: i64, nth: usize, apart: usize) -> Flat {
    let mixed = mix(customer_id as u64 ^ mix(nth as u64));
    let millis = 1000 * apart * nth + (mixed >> 40) as usize % (1000 * apart);
    Flat {
        customer_id,
        date: DateTime::from_millis(START + millis as i64),
        ticker: TICKERS[mixed as usize % TICKERS.len()].to_owned(),
        quantity: 1 + (mixed >> 20 & 0x3ff) as i32,
    }
}

/// Trades of one customer, ordered by time.
pub(crate) fn of_one_key(range: Range<usize>) -> Vec<Flat> {
    range.map(|nth| trade(1, nth)).collect()
}

/// Trades ordered by time, `apart` seconds apart, each of a random customer.
pub(crate) fn of_keys(trades: usize, customers: usize, apart: usize) -> Vec<Flat> {
    (0..trades)
        .map(|nth| trade_after(customer_at_random(nth, customers), nth, apart))
        .collect()
}

/// The nth trade's customer, one of `customers` at random.
pub(crate) fn customer_at_random(nth: usize, customers: usize) -> i64 {
    (mix(!(nth as u64)) % customers as u64) as i64
}

/// The buckets of these trades, customer by customer, all full but each customer's last.
pub(crate) fn by_hand(trades: &[Flat], capacity: usize) -> Vec<ByHand> {
    let mut customers = BTreeMap::<i64, Vec<Element>>::new();
    for trade in trades {
        let history = customers.entry(trade.customer_id).or_default();
        history.push(trade.clone().into());
    }
    let of_customer = |(customer_id, history): (i64, Vec<Element>)| {
        let buckets = history.chunks(capacity).map(move |history| {
            let second = history[0].date.timestamp_millis() / 1000;
            ByHand {
                id: format!("{customer_id}_{second:010}"),
                customer_id,
                count: history.len() as i32,
                history: history.to_vec(),
            }
        });
        buckets.collect::<Vec<_>>()
    };
    customers.into_iter().flat_map(of_customer).collect()
}

impl From<Flat> for Element {
    fn from(trade: Flat) -> Self {
        let Flat {
            date,
            ticker,
            quantity,
            ..
        } = trade;
        Self {
            date,
            ticker,
            quantity,
        }
    }
}

/// A number that looks random (SplitMix64).
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
