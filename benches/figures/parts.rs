//! Reading some fields of all items of a key.

use std::time::Instant;

use bucket_benches::{Contestant, Figure, Result, Samples, Unit, in_turn, rate};
use bucket_runtime::{
    Bucket, Buckets, Part,
    bson::{DateTime, doc},
    mongodb::Database,
};
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::bench::{Bench, Theme};

pub(crate) const THEME: Theme = Theme {
    name: "parts",
    figures: &[&VS_ITEMS, &BYTES],
    measure: |bench| Box::pin(measure(bench)),
};

static VS_ITEMS: Figure = Figure::new(
    "parts_vs_items",
    Unit::ItemsPerSecond,
    "2 of 8 fields of all 10,000 items of a key, capacity 1,000, against the whole items",
);
static BYTES: Figure = Figure::new(
    "parts_bytes",
    Unit::Megabytes,
    "2 of 8 fields of all 10,000 items of a key, capacity 1,000, against the whole items: how much the server sends",
);

const ITEMS: i64 = 10_000;

/// A trade with all that belongs to it.
#[derive(Debug, Clone, Bucket)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 1000)]
struct Detailed {
    customer_id: i64,
    date: DateTime,
    ticker: String,
    quantity: i32,
    price: f64,
    venue: String,
    order_id: i64,
    fee: f64,
    note: String,
}

#[derive(Debug, Part)]
#[part(of = Detailed)]
struct Price {
    date: DateTime,
    price: f64,
}

async fn measure(bench: Bench) -> Result<()> {
    let collection = bench.db.collection::<Detailed>(&bench.fresh("parts"));
    let trades = Detailed::buckets_in(collection).await?;
    trades.append_many((0..ITEMS).map(detailed)).await?;

    let parts = sent(&bench.db, &trades, true).await?;
    let items = sent(&bench.db, &trades, false).await?;
    bench.report.figure(&BYTES, &vec![parts], &vec![items]);

    let (of_parts, of_items) = (trades.clone(), trades);
    let contestants = [
        Contestant::new(move |_| read(of_parts.clone(), true)),
        Contestant::new(move |_| read(of_items.clone(), false)),
    ];
    let [parts, items] = in_turn(bench.pick(60, 15), contestants).await?;
    bench.report.figure(&VS_ITEMS, &parts, &items);
    Ok(())
}

fn detailed(nth: i64) -> Detailed {
    Detailed {
        customer_id: 1,
        date: DateTime::from_millis(1_698_300_000_000 + nth * 7000),
        ticker: "MDB".to_owned(),
        quantity: (nth % 1000) as i32,
        price: nth as f64 / 8.0,
        venue: "XETRA".to_owned(),
        order_id: nth,
        fee: 1.5,
        note: "as agreed on the telephone".to_owned(),
    }
}

/// The megabytes that the server sends for one read.
async fn sent(db: &Database, trades: &Buckets<Detailed>, parts: bool) -> Result<f64> {
    let before = bytes_out(db).await?;
    read(trades.clone(), parts).await?;
    Ok((bytes_out(db).await? - before) / 1e6)
}

async fn bytes_out(db: &Database) -> Result<f64> {
    let status = db.run_command(doc! { "serverStatus": 1 }).await?;
    Ok(status.get_document("network")?.get_i64("bytesOut")? as f64)
}

async fn read(trades: Buckets<Detailed>, parts: bool) -> Result<Samples> {
    let started = Instant::now();
    let items = trades.items(&1);
    let (mut read, mut sum) = (0, 0.0);
    let mut prices = match parts {
        true => items
            .parts::<Price>()
            .await?
            .map_ok(|part| (part.date, part.price))
            .boxed(),
        false => items.await?.map_ok(|item| (item.date, item.price)).boxed(),
    };
    while let Some((date, price)) = prices.try_next().await? {
        read += 1;
        sum += price + (date.timestamp_millis() % 7) as f64;
    }
    let samples = rate(read, started);
    match read as i64 == ITEMS && sum > 0.0 {
        true => Ok(samples),
        false => Err(format!("{read} items were read").into()),
    }
}
