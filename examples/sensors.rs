//! Each airport is a sensor that reports departures: a document holds one hour of an airport, and
//! keeps the sum of its delays.
//!
//! ```text
//! cargo run --example sensors
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.departures`, which it drops first and leaves there afterwards.

use std::{error::Error, fs, time::Duration};

use bucket_examples::{Story, moment, show, thousands};
use bucket_runtime::mongodb::bson::{DateTime, doc};
use bucket_runtime::{Bucket, FieldRollup, WindowRollup};
use futures_util::TryStreamExt;

/// A departure, and how many minutes it was late. An hour with more than a hundred departures would
/// get a second document.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "departures", id = "{airport}_{at/1h}", capacity = 100)]
struct Departure {
    airport: String,
    at: DateTime,
    to: String,
    #[bucket(sum, min, max)]
    delay: i32,
}

const AIRPORT: &str = "ORD";
const HOUR: Duration = Duration::from_secs(60 * 60);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin::<Departure>("Departures by airport and hour").await?;
    let all = departures()?;
    let day = DateTime::parse_rfc3339_str("2001-03-09T00:00:00Z")?;
    let next_day = day.saturating_add_duration(24 * HOUR);

    story.step(
        "Load them in any order",
        "The readings of a sensor may be late. Each one finds the hour that it belongs to.",
    );
    let departures = Departure::buckets(&story.quiet_database().await?).await?;
    let stored = departures.append_many(shuffled(all)).await?;
    let hours = departures.collection().count_documents(doc! {}).await?;
    let (stored, hours) = (thousands(stored), thousands(hours));
    println!("\n   stored {stored} departures in {hours} documents");

    story.step(
        "One more, three months late",
        "The append knows the hour, and with it the document: `$inc`, `$min` and `$max` of the same \
         update keep the rollup of its delays up to date.",
    );
    let departures = Departure::buckets(&story.database()).await?;
    let late = Departure {
        airport: AIRPORT.to_owned(),
        at: day.saturating_add_duration(9 * HOUR),
        to: "JFK".to_owned(),
        delay: 90,
    };
    show!(story, departures.append(&late).await?);

    story.step(
        "An hour as it is stored",
        "Its id and `window` are the beginning of the hour.",
    );
    let at_nine = doc! { "airport": AIRPORT, "window": late.at };
    story.stored(at_nine).await?;

    story.step(
        "The departures of a morning",
        "A time range bounds the ids, so only the documents of these hours are visited.",
    );
    let field = Departure::FIELDS.at;
    let noon = day.saturating_add_duration(12 * HOUR);
    let morning = field.gte(day).and(field.lt(noon));
    let items = show!(story, departures.items(AIRPORT).filter(morning).await?);
    println!("\n   time (UTC)           to   delay");
    let morning: Vec<_> = items.try_collect().await?;
    for Departure { at, to, delay, .. } in morning {
        println!("   {}  {to}  {delay:>5}", moment(at));
    }

    story.step(
        "The delays of a day",
        "The server adds up what the hours have kept, and reads no departure.",
    );
    let of_day = show!(
        story,
        departures.rollup(AIRPORT).windows(day..next_day).await?
    );
    print(AIRPORT, of_day.count(), &of_day.delay);

    story.step(
        "The delays of a day, hour by hour",
        "One rollup for each document's hour, also for those without a departure.",
    );
    let of_day = departures.rollup(AIRPORT).windows(day..next_day);
    let hours = show!(story, of_day.per_windows(1).with_gaps(true).await?);
    println!("\n   from   departures   minutes late on average");
    let hours: Vec<_> = hours.try_collect().await?;
    for hour in &hours {
        let (start, mean) = (moment(hour.start), hour.rollup.delay.mean());
        let mean = mean.map_or(String::new(), |mean| format!("{mean:.1}"));
        println!(
            "   {}  {:>10}   {mean:>5}",
            &start[11..16],
            hour.rollup.count()
        );
    }
    let drawing = std::env::temp_dir().join("departures.svg");
    fs::write(&drawing, curve(&hours))?;
    println!(
        "\n   The curve of the day, for the browser: file://{}",
        drawing.display()
    );

    story.step(
        "The delays of three months",
        "The same for all airports at once.",
    );
    let everywhere = show!(story, departures.rollup_all().await?);
    print(
        "all airports, in three months",
        everywhere.count(),
        &everywhere.delay,
    );

    story.end();
    Ok(())
}

/// The mean delay of each hour as a line, over bars for the number of departures. Hours without a departure
/// have no mean, and interrupt the line.
fn curve(hours: &[WindowRollup<Departure>]) -> String {
    /// In the units of the drawing.
    const HOUR: f64 = 30.0;
    const HEIGHT: f64 = 300.0;
    let width = HOUR * hours.len() as f64;
    let most = hours.iter().map(|hour| hour.rollup.count()).max();
    let latest = hours
        .iter()
        .filter_map(|hour| hour.rollup.delay.mean())
        .fold(1.0, f64::max);
    let (mut bars, mut line, mut is_drawing) = (String::new(), String::new(), false);
    for (n, hour) in hours.iter().enumerate() {
        let (x, count) = (n as f64 * HOUR, hour.rollup.count());
        let height = HEIGHT * count as f64 / most.unwrap_or(1).max(1) as f64;
        let title = &moment(hour.start)[11..16];
        bars += &format!(
            r##"<rect x="{x}" y="{}" width="{}" height="{height}" fill="#cde"><title>{title}: {count} departures</title></rect>"##,
            HEIGHT - height,
            HOUR - 2.0,
        );
        is_drawing = match hour.rollup.delay.mean() {
            Some(mean) => {
                let command = if is_drawing { 'L' } else { 'M' };
                let y = HEIGHT * (1.0 - mean.max(0.0) / latest);
                line += &format!("{command}{} {y} ", x + HOUR / 2.0);
                true
            }
            None => false,
        };
    }
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}">{bars}<path d="{line}" fill="none" stroke="#a33" stroke-width="2"/></svg>"##
    )
}

fn print(of: &str, departures: u64, delay: &FieldRollup<i32, true, true, true>) {
    let number = thousands(departures);
    println!(
        "\n   {of}: {number} departures, {} minutes late in all",
        delay.sum()
    );
    if let (Some(mean), Some(min), Some(max)) = (delay.mean(), delay.min(), delay.max()) {
        println!("   {mean:.1} on average, from {min} to {max}");
    }
}

fn departures() -> Result<Vec<Departure>, Box<dyn Error>> {
    let mut rows = csv::Reader::from_reader(include_bytes!("data/flights-20k.csv").as_slice());
    let rows = rows.deserialize::<(String, String, String, i32, i32)>();
    rows.map(|row| {
        let (date, airport, to, delay, _) = row?;
        let at = DateTime::parse_rfc3339_str(date)?;
        Ok(Departure {
            airport,
            at,
            to,
            delay,
        })
    })
    .collect()
}

/// Every hundredth departure, then those that follow them, and so on: never in the order of time.
fn shuffled(all: Vec<Departure>) -> Vec<Departure> {
    let nth = |n: usize| all.iter().skip(n).step_by(100).cloned();
    (0..100).rev().flat_map(nth).collect()
}
