//! A collection that a struct of this library has written, with all that its indexes and buckets show.

use bucket_runtime::bson::{DateTime, Document, doc};
use bucket_runtime::mongodb::{Database, IndexModel};
use bucket_runtime::{Bucket, Fields};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Bucket)]
#[bucket(
    collection = "ledgers",
    id = "{account}_{at/6h}",
    capacity = 20,
    expire_after = "90d",
    rollup = "totals"
)]
pub(super) struct Booking {
    #[bucket(index)]
    account: String,
    at: DateTime,
    #[bucket(unique)]
    number: String,
    #[bucket(index(house_number))]
    place: Place,
    #[bucket(index)]
    shop: String,
    #[bucket(sum, min, max)]
    cents: i64,
    #[bucket(max)]
    grams: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Fields)]
#[serde(rename_all = "camelCase")]
struct Place {
    city: String,
    house_number: i32,
}

/// Bookings in every second window.
fn bookings() -> Vec<Booking> {
    let begin = DateTime::now().timestamp_millis() / 86_400_000 * 86_400_000 - 10 * 86_400_000;
    let booking = |n: i64| Booking {
        account: format!("account {}", n % 3),
        at: DateTime::from_millis(begin + (n / 30) * 43_200_000 + n * 1000),
        number: format!("n{n}"),
        place: Place {
            city: "Oslo".to_owned(),
            house_number: 7,
        },
        shop: format!("shop {}", n % 11),
        cents: n * 100,
        grams: (n % 2 == 0).then_some(n as f64 / 4.0),
    };
    (0..240).map(booking).collect()
}

pub(super) async fn write(db: &Database) {
    let ledgers = Booking::buckets(db).await.unwrap();
    ledgers.append_many(bookings()).await.unwrap();
    let shops = IndexModel::builder().keys(doc! { "items.shop": 1, "items.at": 1 });
    let documents = db.collection::<Document>("ledgers");
    documents.create_index(shops.build()).await.unwrap();
}
