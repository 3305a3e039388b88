//! Rollups: what buckets keep equals what their items say, however these were written.

use std::collections::BTreeMap;

use bucket_runtime::{
    Bucket, Buckets, DecimalSum, Rollup,
    mongodb::{
        Database,
        bson::{Bson, DateTime, Decimal128, Document, doc},
    },
};
use proptest::prelude::*;

use crate::support::{
    database::{Live, documents, fresh, number, pages},
    random::for_any,
};

macro_rules! trades {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "trades", id = $id, capacity = $capacity, rollup = "totals")]
        pub(crate) struct $name {
            customer: i64,
            #[bucket(min, max)]
            at: DateTime,
            #[bucket(sum, min, max)]
            #[serde(rename = "qty")]
            quantity: i32,
            #[bucket(sum, max)]
            price: Option<f64>,
            #[bucket(sum, min, max)]
            fee: Decimal128,
            #[bucket(min)]
            weight: f32,
            n: i64,
        }

        impl Trade for $name {
            fn new(values: &Values, n: i64) -> Self {
                Self {
                    customer: values.customer,
                    at: DateTime::from_millis(values.millis),
                    quantity: values.quantity,
                    price: values.price.map(|halves| f64::from(halves) / 2.0),
                    fee: values.fee(),
                    weight: values.quantity as f32,
                    n,
                }
            }

            fn told(rollup: &Rollup<Self>) -> Told {
                Told {
                    count: rollup.count(),
                    at: (rollup.at.min(), rollup.at.max()),
                    quantity: (rollup.quantity.sum(), rollup.quantity.min(), rollup.quantity.max()),
                    mean: rollup.quantity.mean(),
                    price: (rollup.price.count(), rollup.price.sum(), rollup.price.max()),
                    fee: (cents(rollup.fee.sum()), rollup.fee.min().map(dec), rollup.fee.max().map(dec)),
                    weight: rollup.weight.min(),
                }
            }
        }
    )+};
}

pub(crate) trait Trade:
    for<'k> Bucket<Key: bucket_runtime::Key<Ref<'k> = &'k i64>> + Clone + std::fmt::Debug
{
    fn new(values: &Values, n: i64) -> Self;
    fn told(rollup: &Rollup<Self>) -> Told;
}

trades! {
    Seconds("{customer}_{at}", 3)
    Numbered("{customer}_{#}", 3)
    Windows("{customer}_{at/1m}", 3)
    Large("{customer}_{at/1h}", 1000)
    One("{customer}_{#}", 1)
}

/// The fields of an item. The floats are halves, so their sums are the same in any order.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    customer: i64,
    millis: i64,
    quantity: i32,
    price: Option<i32>,
    cents: i64,
}

impl Values {
    /// An amount in one of several notations.
    fn fee(&self) -> Decimal128 {
        let text = match self.cents % 3 {
            0 => format!("{}.{:02}", self.cents / 100, self.cents % 100),
            1 => format!("{}E-2", self.cents),
            _ => format!("{}000E-5", self.cents),
        };
        text.parse().unwrap()
    }
}

/// The answers of a rollup.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    count: u64,
    at: (Option<DateTime>, Option<DateTime>),
    quantity: (i128, Option<i32>, Option<i32>),
    mean: Option<f64>,
    price: (u64, f64, Option<f64>),
    fee: (i64, Option<i64>, Option<i64>),
    weight: Option<f32>,
}

fn cents(sum: DecimalSum) -> i64 {
    dec(sum.0)
}

fn dec(decimal: Decimal128) -> i64 {
    let units: f64 = decimal.to_string().parse().unwrap();
    (units * 100.0).round() as i64
}

/// The answers, computed from the items.
fn expected<'v>(items: impl Iterator<Item = &'v Values> + Clone) -> Told {
    let at = items.clone().map(|item| DateTime::from_millis(item.millis));
    let quantity = items.clone().map(|item| item.quantity);
    let prices = items.clone().filter_map(|item| item.price);
    let prices = prices.map(|halves| f64::from(halves) / 2.0);
    let fees = items.clone().map(|item| item.cents);
    let count = items.count() as u64;
    let sum: i128 = quantity.clone().map(i128::from).sum();
    Told {
        count,
        at: (at.clone().min(), at.max()),
        quantity: (sum, quantity.clone().min(), quantity.clone().max()),
        mean: (count > 0).then(|| sum as f64 / count as f64),
        price: (
            prices.clone().count() as u64,
            prices.clone().sum(),
            prices.reduce(f64::max),
        ),
        fee: (fees.clone().sum(), fees.clone().min(), fees.max()),
        weight: quantity.min().map(|quantity| quantity as f32),
    }
}

fn values() -> impl Strategy<Value = Vec<Values>> {
    let quantity = prop_oneof![4 => -100..100, 1 => Just(i32::MAX), 1 => Just(i32::MIN)];
    let item = (
        0..2_i64,
        -150_000..150_000_i64,
        quantity,
        any::<Option<i8>>(),
        0..100_000_i64,
    );
    let item = item.prop_map(|(customer, millis, quantity, price, cents)| Values {
        customer,
        millis,
        quantity,
        price: price.map(i32::from),
        cents,
    });
    prop::collection::vec(item, 0..40)
}

/// The rollups of the buckets, separately and added up, are those of the items.
async fn agrees<T: Trade>(buckets: &Buckets<T>, values: &[Values]) {
    let stored = documents(buckets.collection()).await;
    let stored = stored.iter().map(|bucket| {
        let items = bucket.get_array("items").unwrap().iter();
        let numbers = items.map(|item| number(item.as_document().unwrap().get("n")));
        (bucket.get_str("_id").unwrap(), Vec::from_iter(numbers))
    });
    let stored = BTreeMap::from_iter(stored);
    for customer in 0..3 {
        let own = values.iter().filter(|item| item.customer == customer);
        let rollup = buckets.rollup(&customer).await.unwrap();
        assert_eq!(T::told(&rollup), expected(own.clone()));
        for page in pages(buckets, &customer).await {
            let of_page = stored[page.id()].iter().map(|n| &values[*n as usize]);
            assert_eq!(T::told(&page.rollup().unwrap()), expected(of_page));
        }
    }
    let all = buckets.rollup_all().await.unwrap();
    assert_eq!(T::told(&all), expected(values.iter()));
}

async fn every_way<T: Trade>(db: &Database, values: &[Values]) {
    let items = || values.iter().zip(0..).map(|(values, n)| T::new(values, n));

    let buckets = fresh::<T>(db).await;
    for item in items() {
        buckets.append(&item).await.unwrap();
    }
    agrees(&buckets, values).await;

    // All at once, so that one command carries many.
    let buckets = fresh::<T>(db).await;
    let appends = items().map(|item| {
        let buckets = buckets.clone();
        async move { buckets.append(&item).await.unwrap() }
    });
    futures_util::future::join_all(appends).await;
    agrees(&buckets, values).await;

    // A part one by one in a session, the rest as a load.
    let buckets = fresh::<T>(db).await;
    let mut session = db.client().start_session().await.unwrap();
    let cut = values.len() / 3;
    for item in items().take(cut) {
        buckets.append(&item).session(&mut session).await.unwrap();
    }
    buckets.append_many(items().skip(cut)).await.unwrap();
    agrees(&buckets, values).await;
}

#[bucket_testkit::test(multi_thread)]
async fn what_buckets_keep_is_what_their_items_say(db: Live) {
    for_any(5, values(), async |values| {
        every_way::<Seconds>(&db, &values).await;
        every_way::<Numbered>(&db, &values).await;
        every_way::<Windows>(&db, &values).await;
        every_way::<Large>(&db, &values).await;
        every_way::<One>(&db, &values).await;
    });
}

/// A hand-written example of what is stored.
#[bucket_testkit::test]
async fn what_is_stored(db: Live) {
    let buckets = fresh::<Windows>(&db).await;
    for (n, millis) in [(1, 60_000), (2, 61_000)] {
        let values = Values {
            customer: 1,
            millis,
            quantity: n as i32,
            price: None,
            cents: 5,
        };
        buckets.append(&Windows::new(&values, n)).await.unwrap();
    }
    let fee: Decimal128 = "0.05".parse().unwrap();
    let sum: Decimal128 = "0.10".parse().unwrap();
    let [first, last] = [60_000, 61_000].map(DateTime::from_millis);
    let expected = doc! {
        "at": { "count": 2_i64, "min": first, "max": last },
        "qty": { "count": 2_i64, "sum": 3_i64, "min": 1_i64, "max": 2_i64 },
        "price": { "count": 2_i64, "missing": 2_i64 },
        "fee": { "count": 2_i64, "sum": sum, "min": fee, "max": fee },
        "weight": { "count": 2_i64, "min": 1.0 },
    };
    // A decimal value has several notations.
    let plain = |totals: &Document, name: &str| {
        let mut of_field = totals.get_document(name).unwrap().clone();
        for (_, value) in of_field.iter_mut() {
            if let Bson::Decimal128(decimal) = value {
                *value = dec(*decimal).into();
            }
        }
        of_field
    };
    let stored = documents(buckets.collection()).await;
    let totals = stored[0].get_document("totals").unwrap();
    for name in expected.keys() {
        assert_eq!(plain(totals, name), plain(&expected, name), "{name}");
    }
}
