//! The peers: what a program does without this library, at its best.

use bucket_benches::Result;
use bucket_runtime::{
    bson::{DateTime, Document, doc},
    mongodb::{
        Collection, Database, IndexModel,
        options::{TimeseriesGranularity, TimeseriesOptions},
    },
};
use futures_util::TryStreamExt as _;

use crate::trade::Flat;

/// One document per trade, with the index that a query for a customer's trades needs.
pub(crate) async fn flat(db: &Database, name: &str) -> Result<Collection<Flat>> {
    let trades = db.collection(name);
    trades.create_index(by_customer_and_date()).await?;
    Ok(trades)
}

/// The granularities that a time series collection may have.
pub(crate) const GRANULARITIES: [&str; 3] = ["seconds", "minutes", "hours"];

/// The best of them for keys that have an item every few minutes or more seldom: a bucket spans thirty days.
pub(crate) const SPARSE: &str = "hours";

/// A time series collection, without a secondary index.
pub(crate) async fn time_series(
    db: &Database,
    name: &str,
    granularity: &str,
) -> Result<Collection<Flat>> {
    let granularity = match granularity {
        "seconds" => TimeseriesGranularity::Seconds,
        "minutes" => TimeseriesGranularity::Minutes,
        _ => TimeseriesGranularity::Hours,
    };
    let create = db.create_collection(name);
    create.timeseries(series(granularity)).await?;
    Ok(db.collection(name))
}

/// The options of [`time_series`].
pub(crate) fn series(granularity: TimeseriesGranularity) -> TimeseriesOptions {
    TimeseriesOptions::builder()
        .time_field("date")
        .meta_field("customerId".to_owned())
        .granularity(granularity)
        .build()
}

/// The index of [`flat`]. A time series collection needs it, too, to be read by customer: servers
/// before 6.3 do not create it.
pub(crate) fn by_customer_and_date() -> IndexModel {
    let keys = doc! { "customerId": 1, "date": 1 };
    IndexModel::builder().keys(keys).build()
}

/// The upsert as it is on the manual's page.
pub(crate) async fn manuals_upsert(trades: &Collection<Document>, trade: Flat) -> Result<()> {
    let customer = trade.customer_id;
    let filter = doc! { "_id": { "$regex": format!("^{customer}_") }, "count": { "$lt": 10 } };
    let new_id = format!("{customer}_{}", trade.date.timestamp_millis() / 1000);
    let update = doc! {
        "$push": { "history": element(trade) },
        "$inc": { "count": 1 },
        "$setOnInsert": { "_id": new_id, "customerId": customer },
    };
    trades.update_one(filter, update).upsert(true).await?;
    Ok(())
}

/// The best that a program can do by hand: a program that alone writes a customer's trades can
/// count them, and so knows the id of the open bucket.
pub(crate) async fn upsert_by_exact_id(
    trades: &Collection<Document>,
    id: String,
    trade: Flat,
) -> Result<()> {
    let filter = doc! { "_id": id };
    let customer = trade.customer_id;
    let update = doc! {
        "$push": { "history": element(trade) },
        "$inc": { "count": 1 },
        "$setOnInsert": { "customerId": customer },
    };
    trades.update_one(filter, update).upsert(true).await?;
    Ok(())
}

fn element(trade: Flat) -> Document {
    doc! { "date": trade.date, "ticker": trade.ticker, "qty": trade.quantity }
}

/// The newest items of a customer, before this date if there is one.
pub(crate) async fn newest_of(
    flat: &Collection<Flat>,
    customer: i64,
    before: Option<DateTime>,
    limit: usize,
) -> Result<Vec<Flat>> {
    let mut filter = doc! { "customerId": customer };
    filter.extend(before.map(|date| ("date".to_owned(), doc! { "$lt": date }.into())));
    let newest = flat.find(filter).sort(doc! { "date": -1 });
    Ok(newest.limit(limit as i64).await?.try_collect().await?)
}
