//! What `bucket advise` says of collections of many shapes.
//!
//! `BLESS=1 cargo test --test advise` writes the code in `advised/`, which `tests/advised.rs` compiles and runs.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::ffi::OsString;
use std::{env, fs};

use bucket_runtime::bson::{DateTime, Document, doc};

#[path = "advised/newcomer.rs"]
mod newcomer;
#[path = "advised/shapes.rs"]
mod shapes;

use newcomer::Newcomer;

/// The report says the sentence, and the code is that of the file.
async fn expect(newcomer: &Newcomer, name: &str, options: &str, says: &str) {
    let (code, report) = newcomer.advise(name, options).await;
    println!("{report}");
    assert_eq!(code, 0);
    let verdict = report
        .lines()
        .find(|line| line.starts_with("verdict: "))
        .unwrap();
    assert!(verdict.contains(says), "{verdict}");
    let (_, printed) = newcomer.advise(name, &format!("{options} --code")).await;
    let file = format!("{}/tests/advised/{name}.rs", env!("CARGO_MANIFEST_DIR"));
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &printed).unwrap();
    }
    assert_eq!(printed, fs::read_to_string(file).unwrap());
}

macro_rules! advises {
    ($($name:ident, $options:literal, $says:literal;)+) => {
        mod advises {
            use super::{Newcomer, expect, shapes};

            $(
                #[bucket_testkit::test]
                async fn $name(newcomer: Newcomer) {
                    let name = stringify!($name);
                    newcomer.store(name, &shapes::$name()).await;
                    expect(&newcomer, name, $options, $says).await;
                }
            )+
        }
    };
}

advises! {
    flights, "", "20,000 documents of 220 keys become";
    airports, "", "take outliers with a threshold of";
    trades, "", "take the buckets over";
    sales, "", "take outliers with a threshold of 50 items";
    orders, "", "by `customerId`, in the order of `createdAt`";
    readings, "", "take a time series collection";
    late_events, "", "since items come late";
    notes, "", "numbered";
    mixtures, "", "by `user`";
    odd_names, "--key type", "by `type`";
    wide, "", "take a time series collection";
    types, "", "by `account`";
    quotes, "--key exchange,symbol --page 20", "buckets of up to 20 items";
    posts, "", "take outliers with a threshold of 10 items";
    playlists, "", "take outliers with a threshold of";
    quarters, "", "take the buckets over";
    pages, "", "take the buckets over";
    machines, "", "take buckets for the items of `log`";
}

#[bucket_testkit::test]
async fn a_collection_that_is_best_left_alone_is_left_alone(newcomer: Newcomer) {
    let times = doc! { "timeseries": { "timeField": "at" } };
    let create = [doc! { "create": "series" }, times]
        .into_iter()
        .flatten()
        .collect::<Document>();
    newcomer.db.run_command(create).await.unwrap();
    let strangers = (0..40).map(|n| doc! { format!("field {n}"): n });
    newcomer
        .store("strangers", &strangers.collect::<Vec<_>>())
        .await;
    let pairs = (0..400)
        .map(|n| doc! { "user_id": n / 2, "at": DateTime::from_millis(n), "place": "a place" });
    newcomer.store("pairs", &pairs.collect::<Vec<_>>()).await;
    let alike = (0..50).map(|n| doc! { "tags": (0..10 + n % 2).collect::<Vec<_>>() });
    newcomer.store("alike", &alike.collect::<Vec<_>>()).await;
    for (collection, why) in [
        ("series", "the server keeps its buckets by itself"),
        ("strangers", "share no field"),
        ("pairs", "would save less than half"),
        ("alike", "no document is large"),
    ] {
        let (code, report) = newcomer.advise(collection, "").await;
        let verdict = "verdict: leave it as it is: ";
        let line = report.lines().find(|line| line.starts_with(verdict));
        assert!(
            code == 0 && line.is_some_and(|line| line.contains(why)),
            "{report}"
        );
    }
}

/// What `verify` would report is counted as far as it needs no struct, and so is the pace of the busiest key.
#[bucket_testkit::test]
async fn buckets_in_disorder_are_counted(newcomer: Newcomer) {
    let bucket = |n: i64| {
        let begin = 1_700_000_000 + n;
        let (count, items) = match n {
            5 => (4, 4),
            6 => (3, 2),
            _ => (3, 3),
        };
        let item = |at: i64| doc! { "at": DateTime::from_millis(begin * 1000 + at), "n": at };
        let items: Vec<_> = (0..items).map(item).collect();
        doc! { "_id": format!("7_{begin}"), "customer": 7, "count": count, "items": items }
    };
    let buckets: Vec<_> = (0..20).map(bucket).collect();
    newcomer.store("buckets", &buckets).await;
    let index = doc! {
        "key": { "customer": 1, "sealed": 1 }, "name": "bucket_open", "unique": true,
        "partialFilterExpression": { "count": { "$lt": 3 } },
    };
    let create = doc! { "createIndexes": "buckets", "indexes": [index] };
    newcomer.db.run_command(create).await.unwrap();
    let (code, report) = newcomer.advise("buckets", "").await;
    for text in [
        "found 1 wrong count, 1 bucket beyond the capacity, and 0 keys with several open buckets",
        "  1 bucket beyond the capacity\n",
        "  in its busiest minute a key opened 20 buckets\n",
    ] {
        assert!(code == 0 && report.contains(text), "{text}\n{report}");
    }
}

#[bucket_testkit::test]
async fn what_cannot_be_advised_on_is_an_exit_code(newcomer: Newcomer) {
    newcomer.store("flat", &[doc! { "name": "a" }]).await;
    newcomer.db.create_collection("empty").await.unwrap();
    newcomer
        .db
        .create_collection("view")
        .view_on("flat".to_owned())
        .await
        .unwrap();
    for (collection, options, expected) in [
        ("nothing", "", 1),
        ("empty", "", 1),
        ("view", "", 2),
        ("flat", "--key other", 2),
        ("flat", "--time name", 2),
        ("flat", "--array name", 2),
        ("flat", "--sample 0", 2),
        ("flat", "--all --sample 5", 2),
        ("flat", "--json", 0),
    ] {
        let (code, said) = newcomer.advise(collection, options).await;
        assert_eq!(code, expected, "{collection} {options}: {said}");
    }
    for (uri, expected) in [
        ("mongodb://localhost:1/shop?serverSelectionTimeoutMS=200", 3),
        ("mongodb://localhost:1", 2),
        ("nonsense", 2),
    ] {
        let arguments = ["bucket", "advise", uri, "flat"].map(OsString::from);
        let code = bucket_cli::__private::advise(arguments, &mut Vec::new()).await;
        assert_eq!(code, expected, "{uri}");
    }
}

/// A sample tells no exact figures, and says so.
#[bucket_testkit::test]
async fn a_sample_says_how_large_it_is(newcomer: Newcomer) {
    newcomer.store("readings", &shapes::readings()).await;
    let (code, report) = newcomer.advise("readings", "--sample 100").await;
    assert!(
        code == 0 && report.contains("about 4,000 documents, a sample of 100 read"),
        "{report}"
    );
    let (code, report) = newcomer.advise("readings", "--all").await;
    assert!(
        code == 0 && report.contains("4,000 documents, all of them read"),
        "{report}"
    );
}

/// The guide shows two charts of the flights' page; `BLESS=1` draws them.
#[bucket_testkit::test]
async fn the_guide_shows_the_charts_of_the_flights(newcomer: Newcomer) {
    newcomer.store("flights", &shapes::flights()).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("flights.html");
    let options = format!("--html {}", file.display());
    assert_eq!(newcomer.advise("flights", &options).await.0, 0);
    let page = fs::read_to_string(file).unwrap();
    // The largest key has the same items in the heat map as in all.
    let table = page.split_once("<caption>Items in each window").unwrap().1;
    let rows = table
        .split("</table>")
        .next()
        .unwrap()
        .split("<tr>")
        .skip(2);
    let first = rows.map(|row| {
        row.split_once("<td>")
            .unwrap()
            .1
            .split("</td>")
            .next()
            .unwrap()
    });
    let first: Vec<u64> = first.map(|items| items.parse().unwrap()).collect();
    assert_eq!(first.iter().sum::<u64>(), 1103, "{first:?}");
    assert!(page.contains("<th scope=\"row\">rank 1</th><td>1,103</td>"));
    let drawn = picture(&page);
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../bucket-runtime/src/guide/which_pattern.svg"
    );
    if env::var_os("BLESS").is_some() {
        fs::write(path, &drawn).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), drawn);
}

/// The first charts of a page side by side, as a picture of their own.
fn picture(page: &str) -> String {
    let style = page.split_once("<style>\n").unwrap().1;
    let (colours, rules) = style.split_once("* {").unwrap();
    let rules = rules.split("</style>").next().unwrap().lines();
    let rules: Vec<_> = rules
        .filter(|rule| rule.starts_with("svg ") && !rule.starts_with("svg {"))
        .collect();
    let charts = page.split("<svg ").skip(1).take(2).enumerate().map(|(n, chart)| {
        let chart = chart.split_once("</svg>").unwrap().0;
        format!("<svg x=\"{}\" y=\"6\" width=\"420\" height=\"424\" preserveAspectRatio=\"xMidYMin\" {chart}</svg>", n * 460)
    });
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 880 430\" width=\"880\" height=\"430\">\n\
         <style>\ntext {{ font-family: system-ui, sans-serif; }}\n{colours}{}\n</style>\n{}\n</svg>\n",
        rules.join("\n"),
        charts.collect::<Vec<_>>().join("\n")
    )
}
