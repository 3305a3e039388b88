//! Twenty thousand flights in buckets by origin airport: many writers load them at once, then the
//! story pages through the busiest airport.
//!
//! ```text
//! cargo run --example flights
//! ```
//!
//! The example starts a throw-away server. With `MONGODB_URI=mongodb://localhost` it runs on a server of
//! yours, in `bucket_examples.flights`, which it drops first and leaves there afterwards.

use std::{cmp::Reverse, collections::BTreeMap, error::Error, time::Instant};

use bucket_examples::{Story, moment, show, thousands};
use bucket_runtime::mongodb::bson::{DateTime, doc};
use bucket_runtime::{Bucket, Buckets, Page};
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::{ProgressBar, ProgressStyle};

/// A flight. Its delay is in minutes.
#[derive(Debug, Clone, Bucket)]
#[bucket(collection = "flights", id = "{origin}_{date}", capacity = 20)]
struct Flight {
    origin: String,
    date: DateTime,
    to: String,
    delay: i32,
    miles: i32,
}

type Flights = Vec<Flight>;

/// How many airports are loaded at the same time.
const AT_ONCE: usize = 32;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut story = Story::begin::<Flight>("Flights by origin airport").await?;
    let (airports, cities) = (flights_by_airport()?, cities()?);
    let (airport, _) = airports.first().ok_or("there are no flights")?;
    let total: u64 = airports.iter().map(|(_, all)| all.len() as u64).sum();

    story.step(
        "Load the flights",
        format!(
            "{AT_ONCE} of {} airports at a time; the flights of each one after the other, to keep \
             their order.",
            airports.len()
        ),
    );
    let flights = Flight::buckets(&story.quiet_database().await?).await?;
    let style = ProgressStyle::with_template("   {bar:50} {human_pos} of {human_len}")?;
    let progress = ProgressBar::new(total).with_style(style);
    let started = Instant::now();
    stream::iter(&airports)
        .map(Ok)
        .try_for_each_concurrent(AT_ONCE, |(_, all)| load(&flights, all, &progress))
        .await?;
    let seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();

    let (loaded, rate) = (thousands(total), thousands((total as f64 / seconds) as u64));
    println!("\n   loaded {loaded} flights in {seconds:.1} s: {rate} a second");
    let full = doc! { "count": Flight::SPEC.capacity };
    let full = flights.collection().count_documents(full).await?;
    let buckets = thousands(flights.collection().count_documents(doc! {}).await?);
    println!("   stored {buckets} buckets, {full} of them full");
    let pages = flights.page_count(airport).await?;
    let longest = thousands(flights.count(airport).await?);
    let city = cities.get(airport).ok_or("it has no city")?;
    println!("   most   {longest} flights out of {airport} ({city}), in {pages} buckets");

    story.step("The first page", "The first bucket of the busiest airport.");
    let flights = Flight::buckets(&story.database()).await?;
    let first = show!(story, flights.page(airport, 1).await?).ok_or("there is no page 1")?;
    print_page(&first, &cities);

    let opened = first.items.first().ok_or("page 1 is empty")?.date;
    story.step(
        "The first page as it is stored",
        format!(
            "Its first flight left in epoch second {}. Ids pad that to the ten digits that epoch \
             seconds have since {}, so that they sort like time.",
            opened.timestamp_millis() / 1000,
            moment(DateTime::from_millis(1_000_000_000_000))
        ),
    );
    story.stored(doc! { "_id": first.id() }).await?;

    story.step(
        "Page by token",
        "The newest twenty flights, from the last buckets; their token leads to those before.",
    );
    let newest = || flights.items(airport).newest_first().page_of_items(20);
    let page = newest().await?;
    let token = page.next.ok_or("there is no next page")?;
    println!("\n   token  {token}");
    let next = show!(story, newest().after(&token).await?);
    print(&next.items, &cities);

    story.step("Page by number", "The server steps over the ids before it.");
    let n = pages * 3 / 4;
    println!("\n   n      {n}");
    let far = show!(story, flights.page(airport, n).await?).ok_or("there is no such page")?;
    print_page(&far, &cities);

    story.step("The last page", "The same ids, from the other end.");
    let last = show!(story, flights.latest(airport).await?).ok_or("there is no last page")?;
    print_page(&last, &cities);

    story.end();
    Ok(())
}

/// Appends the flights of one airport, each after the one before is stored.
async fn load(
    flights: &Buckets<Flight>,
    all: &[Flight],
    progress: &ProgressBar,
) -> Result<(), bucket_runtime::Error> {
    for flight in all {
        flights.append(flight).await?;
        progress.inc(1);
    }
    Ok(())
}

/// Prints a page with its id.
fn print_page(page: &Page<Flight>, cities: &BTreeMap<String, String>) {
    println!("   page   {} with {} flights", page.id(), page.items.len());
    print(&page.items, cities);
}

/// Prints the first three flights, and the last one.
fn print(flights: &[Flight], cities: &BTreeMap<String, String>) {
    println!("\n   date (UTC)           to                                       delay  miles");
    let hidden = 3..flights.len().saturating_sub(1);
    for (n, flight) in flights.iter().enumerate() {
        let city = cities.get(&flight.to).map_or("", |city| city);
        let (to, delay, miles) = (&flight.to, flight.delay, flight.miles);
        if !hidden.contains(&n) {
            let date = moment(flight.date);
            println!("   {date}  {to}  {city:<34}  {delay:>5}  {miles:>5}");
        } else if n == hidden.start {
            println!("   … {} more", hidden.len());
        }
    }
}

/// The airports, the busiest first, each with its flights in order of departure.
fn flights_by_airport() -> Result<Vec<(String, Flights)>, Box<dyn Error>> {
    let mut airports: BTreeMap<String, Flights> = BTreeMap::new();
    let mut rows = csv::Reader::from_reader(include_bytes!("data/flights-20k.csv").as_slice());
    for row in rows.deserialize() {
        let (date, origin, to, delay, miles): (String, String, String, i32, i32) = row?;
        let date = DateTime::parse_rfc3339_str(date)?;
        let all = airports.entry(origin.clone()).or_default();
        all.push(Flight {
            origin,
            date,
            to,
            delay,
            miles,
        });
    }
    let mut airports: Vec<_> = airports.into_iter().collect();
    airports.sort_by_key(|(_, all)| Reverse(all.len()));
    Ok(airports)
}

/// The city of each airport.
fn cities() -> csv::Result<BTreeMap<String, String>> {
    let mut rows = csv::Reader::from_reader(include_bytes!("data/airports.csv").as_slice());
    let rows = rows.deserialize::<[String; 4]>();
    rows.map(|row| row.map(|[iata, _, city, state]| (iata, format!("{city}, {state}"))))
        .collect()
}
