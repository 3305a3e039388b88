//! Airports that have grown: each holds its departures, and a few hold most of them. They are
//! measured, split where they are too long, and read again.
//!
//! ```text
//! cargo run --example airports
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours (a replica set, since splitting takes transactions), in `bucket_examples.airports` and
//! `bucket_examples.extra_departures`, which it drops first and leaves there afterwards.

use std::{cmp::Reverse, collections::BTreeMap, error::Error};

use bucket_examples::{Story, moment, show, table, thousands};
use bucket_ops::{OutlierOps, ProblemKind};
use bucket_runtime::mongodb::bson::{DateTime, Document, doc};
use bucket_runtime::{Outlier, mongodb::Collection};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// An airport, and its departures. Its page shows at most two hundred.
#[derive(Debug, Clone, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "airports",
    extras = "extra_departures",
    reference = "airport",
    threshold = 200
)]
struct Airport {
    #[serde(rename = "_id")]
    iata: String,
    name: String,
    city: String,
    #[outlier(items)]
    departures: Vec<Departure>,
}

/// A flight, as its airport of origin sees it. Its delay is in minutes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Departure {
    date: DateTime,
    to: String,
    delay: i32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin_outliers::<Airport>("Airports and their departures").await?;
    let (db, all) = (story.database(), airports()?);
    let (busiest, typical) = (&all[0].iata, &all[all.len() / 2].iata);

    story.step(
        "Documents that have grown",
        "Each airport with all of its departures, as a plain insertMany stores them.",
    );
    let plain = db.collection::<Airport>(Airport::SPEC.collection);
    plain.insert_many(&all).await?;
    let before = sizes(&plain.clone_with_type()).await?;
    println!("\n   stored {} airports; {before}", all.len());

    story.step(
        "Ask for advice",
        "`bucket advise mongodb://localhost/bucket_examples airports` reads such a collection, and needs no struct \
         for that. It recommends a threshold of 300: 21 of the 220 airports have more departures, and together \
         more than half of all.",
    );

    story.step(
        "Split what is too long",
        format!(
            "The figures are the server's, the choice is ours: the page of an airport shows {} \
             departures. Each airport that has more is split in a transaction of its own.",
            Airport::SPEC.threshold
        ),
    );
    let result = show!(story, OutlierOps::<Airport>::of(&db).repair().await?);
    let airports = Airport::outliers(&db).await?;
    let after = sizes(airports.collection()).await?;
    let extras = airports.extras_collection().estimated_document_count();
    let split = result.repaired.get(&ProblemKind::TooLarge).copied();
    println!("\n   split  {} airports", split.unwrap_or_default());
    println!("   stored {} extras documents", extras.await?);
    println!("   before {before}");
    println!("   after  {after}");

    story.step(
        "A typical airport",
        "Most airports have not changed: one document holds everything.",
    );
    let airport = show!(story, airports.get_all(typical).await?).ok_or("it is gone")?;
    println!("   cost   {}", story.cost());
    print(&airport, false);

    story.step(
        "The page of the busiest airport",
        "Also one document: the first departures, and a flag that says there are more.",
    );
    let page = show!(story, airports.get(busiest).await?).ok_or("it is gone")?;
    println!("   cost   {}", story.cost());
    print(&page.document, page.has_extras);

    story.step(
        "All departures of the busiest airport",
        "Only a call for all of them reads the extras.",
    );
    let airport = show!(story, airports.get_all(busiest).await?).ok_or("it is gone")?;
    println!("   cost   {}", story.cost());
    print(&airport, false);

    story.step(
        "Verify",
        "It looks for airports that are too long, extras that no flag leads to, and wrong counts.",
    );
    let problems = OutlierOps::<Airport>::of(&db).verify().await?.problems;
    problems.iter().for_each(table);
    println!("\n   found  {} problems", problems.len());

    story.end();
    Ok(())
}

/// The sizes of the documents: what a list of them costs.
async fn sizes(collection: &Collection<Document>) -> Result<String, Box<dyn Error>> {
    let size = doc! { "$bsonSize": "$$ROOT" };
    let group = doc! { "_id": null, "largest": { "$max": &size }, "average": { "$avg": &size } };
    let mut found = collection.aggregate([doc! { "$group": group }]).await?;
    let found = found.try_next().await?.ok_or("the collection is empty")?;
    let (largest, average) = (found.get_i32("largest")?, found.get_f64("average")?);
    let (largest, average) = (thousands(largest.try_into()?), thousands(average as u64));
    Ok(format!(
        "the largest has {largest} bytes, the average is {average}"
    ))
}

/// Prints an airport, with the first and the last of its departures.
fn print(airport: &Airport, more: bool) {
    let (iata, name, departures) = (&airport.iata, &airport.name, &airport.departures);
    let more = if more { ", and more" } else { "" };
    let n = thousands(departures.len() as u64);
    println!("\n   {iata} ({name}): {n} departures{more}");
    for (label, departure) in [("first", departures.first()), ("last", departures.last())] {
        if let Some(Departure { date, to, delay }) = departure {
            println!("   {label:<5}  {}  {to}  delay {delay:>4}", moment(*date));
        }
    }
}

/// The airports that flights leave from, the busiest first, each with its departures in order.
fn airports() -> Result<Vec<Airport>, Box<dyn Error>> {
    let mut airports = BTreeMap::new();
    let mut rows = csv::Reader::from_reader(include_bytes!("data/airports.csv").as_slice());
    for row in rows.deserialize() {
        let [iata, name, city, state]: [String; 4] = row?;
        let airport = Airport {
            iata,
            name,
            city: format!("{city}, {state}"),
            departures: Vec::new(),
        };
        airports.insert(airport.iata.clone(), airport);
    }
    let mut rows = csv::Reader::from_reader(include_bytes!("data/flights-20k.csv").as_slice());
    for row in rows.deserialize() {
        let (date, from, to, delay, _): (String, String, String, i32, i32) = row?;
        let date = DateTime::parse_rfc3339_str(date)?;
        let airport = airports.get_mut(&from).ok_or("no such airport")?;
        airport.departures.push(Departure { date, to, delay });
    }
    let mut airports: Vec<_> = airports.into_values().collect();
    airports.retain(|airport| !airport.departures.is_empty());
    airports.sort_by_key(|airport| Reverse(airport.departures.len()));
    Ok(airports)
}
