//! Appends that share a command, each with a span of its own.

use std::collections::BTreeMap;

use bucket_runtime::{Bucket, Buckets, mongodb::bson::Document};
use futures_util::future::try_join_all;

use super::support::{Spans, Told};
use crate::support::{
    database::{Recorded, statements},
    zoo::ticks::{Numbered10, Tick},
};

/// How many commands carried an item with `n` 10 to each key.
fn carried(commands: &[Document]) -> BTreeMap<i64, usize> {
    let mut by_key = BTreeMap::new();
    for command in commands {
        for statement in statements(command) {
            let text = statement.to_string();
            let by_id = text.split_once("\"_id\": \"");
            let of_key = text.split_once("\"k\": ").or(by_id);
            // Another statement asks for the latest number of a session.
            let Some((_, key)) = of_key else { continue };
            let digits: String = key.chars().take_while(char::is_ascii_digit).collect();
            *by_key.entry(digits.parse().unwrap()).or_default() += 1;
        }
    }
    by_key
}

/// The round trips of each append of these items by its key, when they wait at the same time.
async fn together(ticks: &Buckets<Numbered10>, all: &[Numbered10]) -> Vec<(i64, usize)> {
    let (spans, _guard) = Spans::collect();
    let appends = all.iter().map(|tick| ticks.append(tick).into_future());
    try_join_all(appends).await.unwrap();
    let trips = |told: Told| {
        assert_eq!(told.name, "append");
        assert_eq!(told.fields["db.collection.name"], "ticks");
        let key = told.fields["bucket.key"].trim_matches('"').parse();
        (key.unwrap(), told.number("bucket.round_trips"))
    };
    let mut trips: Vec<_> = spans.take().into_iter().map(trips).collect();
    assert_eq!(trips.len(), all.len());
    trips.sort_unstable();
    trips
}

#[bucket_testkit::test]
async fn each_of_the_appends_of_a_key_counts_the_commands_until_its_answer(
    Recorded(db, record): Recorded,
) {
    let ticks = Numbered10::buckets(&db).trace_keys(true).await.unwrap();
    ticks.append(&Numbered10::new(1, 0)).await.unwrap();
    record.take();
    // They fill buckets, so that none waits for a further command.
    let all = Vec::from_iter((1..30).map(|n| Numbered10::new(1, n)));
    let trips = together(&ticks, &all).await;
    let commands = record.take();
    assert!(commands.len() < 10, "{}", commands.len());
    assert_eq!(trips.last(), Some(&(1, commands.len())));
}

/// Half of the keys have an open bucket, so that one command stores their items; the others need more.
#[bucket_testkit::test]
async fn each_of_the_keys_of_a_command_counts_its_own(Recorded(db, record): Recorded) {
    let ticks = Numbered10::buckets(&db).trace_keys(true).await.unwrap();
    let items = |key| if key < 15 { 1 } else { 10 };
    let first = (0..30).flat_map(|key| (0..items(key)).map(move |n| Numbered10::new(key, n)));
    ticks.append_many(first).await.unwrap();
    record.take();
    let all = Vec::from_iter((0..30).map(|key| Numbered10::new(key, 10)));
    let trips = together(&ticks, &all).await;
    let commands = record.take();
    let carried = carried(&commands);
    for (key, trips) in trips {
        match key < 15 {
            // A command that carried it, and perhaps the look for a session's latest number.
            true => assert!((0..=1).contains(&(trips - carried[&key])), "{key}: {trips}"),
            // At least a refusal, the reads of the last buckets, and the opening.
            false => assert!((3..=commands.len()).contains(&trips), "{key}: {trips}"),
        }
    }
}
