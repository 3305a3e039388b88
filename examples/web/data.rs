//! The flights, and facts about their airports.

use std::{collections::BTreeMap, error::Error};

use bucket_runtime::{
    Bucket, Buckets,
    mongodb::{Database, bson::DateTime},
};

/// A flight out of an airport. Its delay is in minutes.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "flights_web", id = "{origin}_{date}", capacity = 20)]
pub(crate) struct Flight {
    pub(crate) origin: String,
    pub(crate) date: DateTime,
    #[bucket(index)]
    pub(crate) to: String,
    pub(crate) delay: i32,
    pub(crate) miles: i32,
}

pub(crate) struct Airport {
    pub(crate) name: String,
    pub(crate) city: String,
}

/// The airports by their three-letter codes.
pub(crate) type Airports = BTreeMap<String, Airport>;

/// Loads at most `at_most` flights into an empty collection. Returns their number.
pub(crate) async fn load(
    db: &Database,
    at_most: usize,
) -> Result<(Buckets<Flight>, u64), Box<dyn Error>> {
    db.collection::<Flight>(Flight::SPEC.collection)
        .drop()
        .await?;
    let flights = Flight::buckets(db).await?;
    let mut rows = csv::Reader::from_reader(include_bytes!("../data/flights-20k.csv").as_slice());
    let mut all = Vec::new();
    for row in rows.deserialize().take(at_most) {
        let (date, origin, to, delay, miles): (String, _, _, _, _) = row?;
        let date = DateTime::parse_rfc3339_str(date)?;
        all.push(Flight {
            origin,
            date,
            to,
            delay,
            miles,
        });
    }
    let loaded = flights.append_many(all).await?;
    Ok((flights, loaded))
}

pub(crate) fn airports() -> csv::Result<Airports> {
    let mut rows = csv::Reader::from_reader(include_bytes!("../data/airports.csv").as_slice());
    let rows = rows.deserialize::<[String; 4]>();
    rows.map(|row| {
        row.map(|[iata, name, city, state]| {
            let city = format!("{city}, {state}");
            (iata, Airport { name, city })
        })
    })
    .collect()
}
