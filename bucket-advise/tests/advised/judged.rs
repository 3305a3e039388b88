//! Collections with the verdict that an experienced person would give, which was written down before the rule.

use std::ops::Range;

use bucket_runtime::bson::{Bson, Document, doc};

use super::shapes::{at, mixed, oid, one_of, repeat};

/// A collection, how its verdict begins, and what else the report says, or does not say after a `!`.
pub(super) type Judged = (
    &'static str,
    Vec<Document>,
    &'static str,
    &'static [&'static str],
);

const NUMBERS: &str = "leave it as it is: there is neither a key";

fn items(length: u64) -> Vec<Bson> {
    let item = |n| Bson::from(doc! { "n": i64::try_from(n).unwrap(), "by": "somebody" });
    (0..length).map(item).collect()
}

fn holders(lengths: impl IntoIterator<Item = u64>) -> Vec<Document> {
    let holder =
        |(n, length)| doc! { "_id": n, "title": format!("title {n}"), "things": items(length) };
    (0_i64..).zip(lengths).map(holder).collect()
}

/// A document, with another value in this field; nothing stands for no field.
fn with(mut document: Document, name: &str, value: Option<Bson>) -> Document {
    document.remove(name);
    document.extend(value.map(|value| (name.to_owned(), value)));
    document
}

/// Arrays of many lengths.
pub(super) fn arrays() -> Vec<Judged> {
    let products = |n: u64| match n {
        7 => 30_000,
        90 => 12_000,
        n => n % 40,
    };
    let mut damaged = holders((0..200).map(products));
    damaged[50].insert("things", "none");
    let vector = |length: usize, n: u64| vec![Bson::from(n as f64 / 7.0); length];
    let chunk = |n: u64| {
        let embedding = vector(if n == 30 { 0 } else { 3072 }, n);
        doc! { "_id": oid(n), "document": format!("d{}", n / 20), "text": format!("text {n}"), "embedding": embedding }
    };
    let post = |n: u64| {
        let tags: Vec<_> = (0..n % 12).map(|tag| format!("tag {tag}")).collect();
        let comments = items(if n % 60 == 7 { 2500 } else { n % 9 });
        doc! { "_id": oid(n), "title": format!("post {n}"), "tags": tags, "comments": comments }
    };
    let day = |n: u64| doc! { "_id": oid(n), "day": format!("day {n}"), "hours": vector(24, n) };
    let plain = |n: u64| doc! { "_id": oid(n), "numbers": (0_i32..5000).collect::<Vec<_>>() };
    let large = "take buckets for the items of `things`: half of the documents have";
    vec![
        (
            "mostly_empty",
            holders([0; 30].into_iter().chain([20_000; 5])),
            "take outliers with a threshold of 10 items in `things`",
            &["85.7 % of documents stay whole; the other 5 hold"],
        ),
        (
            "all_large",
            holders([5000; 40]),
            large,
            &["    pub by: String,"],
        ),
        (
            "plain_numbers",
            repeat(40, plain),
            "take buckets for the items of `numbers`",
            &[],
        ),
        ("one_giant", holders([50_000]), large, &[]),
        (
            "two_of_200",
            holders((0..200).map(products)),
            "take outliers with a threshold of 50 items",
            &["!to correct"],
        ),
        (
            "damaged",
            damaged,
            "take outliers with a threshold of 50 items",
            &[
                "`things` is of type string in 1 of 200 documents",
                "pub things: Vec<Thing>,",
            ],
        ),
        (
            "fame",
            holders((1..500).map(|rank| 15_000 / rank)),
            "take outliers with a threshold of",
            &["fall off without a gap"],
        ),
        (
            "posts_and_tags",
            repeat(300, post),
            "take outliers with a threshold of 10 items in `comments`",
            &[],
        ),
        (
            "tags",
            holders((0..300).map(|n| n % 12)),
            "leave it as it is: ",
            &[],
        ),
        ("days", repeat(200, day), "leave it as it is: ", &[]),
        (
            "alike",
            holders((0..300).map(|n| 20 + n % 20)),
            "leave it as it is: ",
            &[],
        ),
        (
            "embeddings",
            repeat(200, chunk),
            "take buckets: 200 documents of 10 keys",
            &["by `document`"],
        ),
    ]
}

fn visit(n: u64) -> Document {
    doc! {
        "_id": oid(n), "patient": i32::try_from(mixed(n) % 300).unwrap(), "ward": one_of(&["A", "B", "C"], n),
        "at": at(i64::try_from(n).unwrap() * 60), "pulse": i32::try_from(60 + mixed(n + 7) % 60).unwrap(),
    }
}

fn reading(n: u64) -> Document {
    doc! {
        "_id": oid(n), "device": format!("d{}", n % 12), "at": at(i64::try_from(n).unwrap() * 10),
        "celsius": (n % 70) as f64 / 2.0, "note": format!("note {n}"),
    }
}

/// Readings in which some differ.
fn readings(differ: Range<u64>, name: &str, value: Option<Bson>) -> Vec<Document> {
    repeat(3000, |n| match differ.contains(&n) {
        true => with(reading(n), name, value.clone()),
        false => reading(n),
    })
}

/// Flat documents of many kinds.
pub(super) fn series() -> Vec<Judged> {
    let small = |n: u64| i32::try_from(n).unwrap();
    let time = |n: u64| at(i64::try_from(n).unwrap() * 30);
    let later = |n: u64| {
        let mut visit = visit(n);
        let patient = visit.remove("patient").unwrap();
        with(visit, "patient", Some(patient))
    };
    let log = |n: u64| {
        doc! {
            "_id": oid(n), "at": time(n), "level": one_of(&["info", "warn", "error"], mixed(n)),
            "service": format!("service {}", mixed(n + 1) % 12), "host": format!("h{}", mixed(n + 2) % 40),
            "message": format!("message {n}"),
        }
    };
    let message = |n: u64| {
        doc! {
            "_id": oid(n), "room": oid(mixed(n) % 60), "author": oid(1000 + mixed(n + 1) % 30), "sent": time(n),
            "text": format!("text {n}"),
        }
    };
    let trade = |n: u64| {
        doc! {
            "_id": oid(n), "customer": small(mixed(n + 1) % 90), "ticker": format!("T{}", mixed(n) % 20),
            "date": time(n), "quantity": small(1 + mixed(n + 2) % 100),
        }
    };
    let order = |n: u64| {
        doc! {
            "_id": oid(n), "status": one_of(&["open", "paid", "sent"], n), "customer_id": small(mixed(n) % 70),
            "at": time(n), "cents": small(mixed(n + 2) % 3000),
        }
    };
    let value = |n: u64| doc! { "_id": oid(n), "at": time(n), "value": small(mixed(n) % 50) };
    let signup = |n: u64| doc! { "_id": oid(n), "email": format!("{n}@x.org"), "at": time(n) };
    let lap = |n: u64| {
        doc! {
            "_id": oid(n), "runner": small(mixed(n) % 40), "at": time(n), "steps": small(mixed(n + 1).pow(2) % 90),
            "height": small(mixed(n + 3) % 400), "text": format!("lap {n}"),
        }
    };
    let by_device = "take buckets: 3,000 documents of 12 keys";
    vec![
        (
            "visits",
            repeat(30_000, visit),
            "take buckets: 30,000 documents of 300 keys",
            &[
                "by `patient`",
                "key `patient`: 300 values (1.0 % of the documents)",
                "key `ward`: 3 values",
                "`--key ward`",
                "marks it: 60 values (0.2 % of the documents)",
            ],
        ),
        (
            "visits_by_name_last",
            repeat(6000, later),
            "take buckets: 6,000 documents of 300 keys",
            &["by `patient`"],
        ),
        (
            "in_order",
            readings(0..0, "device", None),
            by_device,
            &["by `device`", "!to correct"],
        ),
        (
            "one_without_device",
            readings(900..901, "device", None),
            "take buckets: 2,999 documents of 12 keys",
            &[
                "by `device`",
                "`device` is missing or null in 1 of 3,000 documents",
            ],
        ),
        (
            "one_device_is_a_number",
            readings(900..901, "device", Some(5.into())),
            "take buckets: 3,000 documents of 13 keys",
            &[
                "by `device`",
                "`device` is of type int in 1 of 3,000 documents",
                "pub device: String,",
            ],
        ),
        (
            "one_time_is_a_text",
            readings(900..902, "at", Some("soon".into())),
            by_device,
            &[
                "in the order of `at`",
                "`at` is of type string in 2 of 3,000 documents",
                "pub at: DateTime,",
            ],
        ),
        (
            "many_without_device",
            readings(0..300, "device", None),
            NUMBERS,
            &["not the key: `device`, missing or null in 300 of 3,000 documents"],
        ),
        (
            "logs",
            repeat(4000, log),
            "take buckets: 4,000 documents of 40 keys",
            &["by `host`", "`--key service`"],
        ),
        (
            "messages",
            repeat(3000, message),
            "take buckets: 3,000 documents of 60 keys",
            &["by `room`", "key `author`: 30 values", "`--key author`"],
        ),
        (
            "trades",
            repeat(3000, trade),
            "take buckets: 3,000 documents of 90 keys",
            &["by `customer`", "key `ticker`: 20 values", "`--key ticker`"],
        ),
        (
            "orders",
            repeat(3000, order),
            "take buckets: 3,000 documents of 70 keys",
            &["by `customer_id`"],
        ),
        ("values", repeat(3000, value), NUMBERS, &["`value`"]),
        (
            "signups",
            repeat(3000, signup),
            NUMBERS,
            &["another value in each document"],
        ),
        (
            "laps",
            repeat(3000, lap),
            "take buckets: 3,000 documents of 40 keys",
            &["by `runner`"],
        ),
    ]
}
