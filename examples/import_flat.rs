//! Twenty thousand flights move from a flat collection, one document each, into buckets by origin
//! airport, while the flat collection stays unchanged.
//!
//! ```text
//! cargo run --example import_flat
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.flights_by_origin` and `bucket_examples.flat_flights`, which it drops
//! first and leaves there afterwards.

use std::{error::Error, time::Instant};

use bucket_examples::{Story, show, thousands};
use bucket_ops::Ops;
use bucket_runtime::Bucket;
use bucket_runtime::mongodb::{
    Collection, IndexModel,
    bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;
use indicatif::{ProgressBar, ProgressStyle};

/// A flight. Its delay is in minutes.
#[derive(Debug, Clone, Bucket)]
#[bucket(
    collection = "flights_by_origin",
    id = "{origin}_{date}",
    capacity = 100
)]
struct Flight {
    origin: String,
    date: DateTime,
    destination: String,
    delay: i32,
    distance: i32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin::<Flight>("From a flat collection into buckets").await?;
    let db = story.quiet_database().await?;

    story.step(
        "Before",
        "One document per flight, with an index on the airport and the date: a common first version.",
    );
    let flat = db.collection::<Document>("flat_flights");
    flat.drop().await?;
    flat.insert_many(rows()?).await?;
    let by_origin = IndexModel::builder().keys(doc! { "origin": 1, "date": 1 });
    flat.create_index(by_origin.build()).await?;
    size("flat_flights", &flat).await?;

    story.step(
        "ImportFlat",
        "The server puts the flights in order. Each command writes a thousand buckets, and how far \
         it got, in one transaction: if this program is killed now, the next run goes on from there.",
    );
    let style = ProgressStyle::with_template("   {bar:50} {human_pos} of {human_len}")?;
    let bar = ProgressBar::new(0).with_style(style);
    let started = Instant::now();
    let ops = Ops::<Flight>::of(&db);
    let import_flat = ops.import_flat(&flat).on_progress(|at| {
        bar.set_length(at.found);
        bar.set_position(at.stored);
    });
    let done = import_flat.await?;
    let seconds = started.elapsed().as_secs_f64();
    bar.finish_and_clear();
    println!(
        "\n   imported {} flights in {seconds:.1} s",
        thousands(done.stored)
    );

    story.step("After", "The same flights.");
    size(
        "flights_by_origin",
        &db.collection::<Flight>("flights_by_origin"),
    )
    .await?;
    size("flat_flights", &flat).await?;

    story.step(
        "A second time",
        "Airports that have buckets are refused, so nothing can be doubled.",
    );
    let again = ops.import_flat(&flat).await;
    println!(
        "\n   {}",
        again.err().ok_or("the second import was not refused")?
    );

    story.step("Read", "The first page of an airport.");
    let flights = Flight::buckets(&story.database()).await?;
    let page = show!(story, flights.page("SFO", 1).await?).ok_or("there is no page 1")?;
    let (first, number) = (page.items.first().ok_or("it is empty")?, page.items.len());
    println!(
        "   {number} flights, the first one to {}",
        first.destination
    );

    story.end();
    Ok(())
}

/// The rows of the table as documents.
fn rows() -> Result<Vec<Document>, Box<dyn Error>> {
    let mut rows = csv::Reader::from_reader(include_bytes!("data/flights-20k.csv").as_slice());
    let rows = rows.deserialize().map(|row| {
        let (date, origin, destination, delay, distance): (String, String, String, i32, i32) = row?;
        let date = DateTime::parse_rfc3339_str(date)?;
        Ok(doc! {
            "date": date, "origin": origin, "destination": destination, "delay": delay,
            "distance": distance,
        })
    });
    rows.collect()
}

/// Prints how many documents a collection has, and the sizes of the documents and the indexes.
async fn size<C: Send + Sync>(
    name: &str,
    collection: &Collection<C>,
) -> Result<(), Box<dyn Error>> {
    let stats = [doc! { "$collStats": { "storageStats": {} } }];
    let stats = collection.aggregate(stats).await?.try_next().await?;
    let stats = stats.ok_or("there are no statistics")?;
    let stats = stats.get_document("storageStats")?;
    let number = |name| -> Result<String, Box<dyn Error>> {
        let value = stats.get(name).ok_or(name)?;
        let value = value.as_i64().or(value.as_i32().map(i64::from));
        Ok(thousands(u64::try_from(value.ok_or(name)?)?))
    };
    let (documents, bytes, indexes) =
        (number("count")?, number("size")?, number("totalIndexSize")?);
    println!(
        "\n   {name:<18} {documents:>6} documents, {bytes:>9} bytes, and {indexes:>9} of indexes"
    );
    Ok(())
}
