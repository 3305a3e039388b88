//! What `bucket advise` says of collections of many shapes.
//!
//! `BLESS=1 cargo test --test advise` writes the code in `advised/`, which `tests/advised.rs` compiles and runs.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{env, fs};

use bucket_runtime::bson::{Bson, DateTime, Document, doc};

#[path = "advised/judged.rs"]
mod judged;
#[path = "advised/newcomer.rs"]
mod newcomer;
#[path = "advised/own.rs"]
mod own;
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
    grids, "", "take outliers with a threshold of 10 items in `rows`";
}

/// Every verdict of the table that differs is listed.
async fn judge(newcomer: &Newcomer, all: Vec<judged::Judged>) {
    let mut wrong = Vec::new();
    for (name, documents, begin, says) in all {
        newcomer.store(name, &documents).await;
        let (code, report) = newcomer.advise(name, "").await;
        let differs = |text: &&&str| match text.strip_prefix('!') {
            Some(text) => report.contains(text),
            None => !report.contains(**text),
        };
        let verdict = format!("\nverdict: {begin}");
        if code != 0 || !report.contains(&verdict) || says.iter().find(differs).is_some() {
            let missing: Vec<_> = says.iter().filter(differs).collect();
            wrong.push(format!("expected: {begin} {missing:?}\n{report}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[bucket_testkit::test]
async fn arrays_are_judged_as_experience_does(newcomer: Newcomer) {
    judge(&newcomer, judged::arrays()).await;
}

#[bucket_testkit::test]
async fn series_are_judged_as_experience_does(newcomer: Newcomer) {
    judge(&newcomer, judged::series()).await;
    // Three visits of a patient.
    let (_, report) = newcomer.advise("visits", "--sample 1000").await;
    assert!(report.contains("a sample of 1,000 read"), "{report}");
    assert!(
        report.contains("by `patient`, in the order of `at`"),
        "{report}"
    );
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
    let (_, report) = newcomer.advise("series", "").await;
    let begin = "shop.series: its documents need not be read\nit is a time series collection\n";
    assert!(report.starts_with(begin), "{report}");
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

/// The server counts as the reading does: it takes over if a bucket has no item.
#[bucket_testkit::test]
async fn buckets_in_any_order_are_counted_alike(newcomer: Newcomer) {
    let bucket = |n: i64, late: i64| {
        let begin = 1_700_000_000 + n * 10;
        let item = |at: i64| doc! { "at": DateTime::from_millis((begin - late) * 1000 + at) };
        let items: Vec<_> = (0..3).map(item).collect();
        doc! { "_id": format!("{}_{begin}", n % 3), "user": n % 3, "count": 3, "items": items }
    };
    let empty = doc! { "_id": "9_1700000000", "user": 9, "count": 0, "items": [] };
    let in_order: Vec<_> = (0..150).map(|n| bucket(n, 0)).collect();
    let reversed: Vec<_> = in_order.iter().rev().cloned().collect();
    let mut late = in_order.clone();
    late[120] = bucket(120, 1170);
    for (name, buckets, disordered, busiest) in [
        ("in_order", in_order, "0 buckets", 2),
        ("reversed", reversed, "0 buckets", 2),
        ("late", late, "1 bucket", 3),
    ] {
        let figures = format!(
            "  {disordered} out of the order of their ids\n  in its busiest minute a key opened {busiest} buckets\n"
        );
        newcomer.store(name, &buckets).await;
        for server_counts in [false, true] {
            if server_counts {
                newcomer.store(name, std::slice::from_ref(&empty)).await;
            }
            let (code, report) = newcomer.advise(name, "--all").await;
            assert!(code == 0 && report.contains(&figures), "{name}\n{report}");
        }
    }
}

/// The struct for a collection of ours has the attributes that its indexes and its buckets show.
#[bucket_testkit::test]
async fn our_buckets_get_the_attributes_that_are_there(newcomer: Newcomer) {
    own::write(&newcomer.db).await;
    expect(
        &newcomer,
        "ledgers",
        "",
        "guarded by the index `bucket_open`",
    )
    .await;
}

/// Which documents reach 16 MiB, and when, is told by a time in the items; without one, by nothing.
#[bucket_testkit::test]
async fn documents_on_their_way_to_16_mib_are_listed(newcomer: Newcomer) {
    let now = DateTime::now().timestamp_millis();
    let log = |n: i64, is_timed: bool| {
        let begin = now - (n + 1) * 100 * 86_400_000;
        let line = |m: i64| {
            let mut line = doc! { "text": "x".repeat(900) };
            line.extend(
                is_timed.then(|| ("at".to_owned(), DateTime::from_millis(begin + m).into())),
            );
            Bson::from(line)
        };
        let length = [4000, 2000].get(n as usize).copied().unwrap_or(n % 20);
        doc! { "_id": format!("log-{n}"), "lines": (0..length).map(line).collect::<Vec<_>>() }
    };
    for name in ["timed", "untimed"] {
        let logs: Vec<_> = (0..100).map(|n| log(n, name == "timed")).collect();
        newcomer.store(name, &logs).await;
    }
    let (code, report) = newcomer.advise("timed", "").await;
    let table = "  2 documents have 1 MiB or more; age by the earliest `lines.at`
    rank  items   bytes       age  bytes a day   16 MiB in
       1  4,000  3.7 MB  100 days        37 kB    349 days
       2  2,000  1.9 MB  200 days       9.3 kB  1,597 days
";
    assert!(code == 0 && report.contains(table), "{report}");
    assert!(!report.contains("log-"), "{report}");
    let (_, report) = newcomer.advise("timed", "--values --time lines.at").await;
    assert!(report.contains("  349 days  log-0\n"), "{report}");
    let (code, report) = newcomer.advise("untimed", "").await;
    let unknown =
        "growth is unknown, since no field tells the age; `--time` names a date of the documents";
    assert!(code == 0 && report.contains(unknown), "{report}");
    assert!(
        report.contains("    rank  items   bytes\n       1  4,000  3.7 MB\n"),
        "{report}"
    );
}

/// Names and shapes that a struct cannot hold get an answer, too.
#[bucket_testkit::test]
async fn odd_collections_get_an_answer(newcomer: Newcomer) {
    let thousand = |n: i64| {
        let fields = (0..1500).map(|m| (format!("field {m}"), Bson::from(n)));
        let mut document = doc! { "user": n % 5, "text": format!("text {n}") };
        document.extend(fields);
        document
    };
    let tags = |n: i64| {
        let tags: Vec<_> = (0..n * n).map(|tag| format!("tag {tag}")).collect();
        doc! { "a.b": &tags, "$tags": &tags, "": &tags }
    };
    let by_hand = |n: i64| {
        let items: Vec<_> = (0..5).map(|m| Bson::from(doc! { "n": m })).collect();
        doc! { "_id": n, "owner": n % 3, "count": 5, "items": items }
    };
    let visit = |n: i64| doc! { "user_id": n % 21_000, "is_long": n % 2 == 0 };
    let dated = |n: i64| doc! { "day": format!("2026-01-{:02}", n % 20 + 1), "text": "a" };
    for (name, documents, says) in [
        (
            "visits",
            (0..42_000).map(visit).collect(),
            "half of the 21,000 keys have at most 2 items",
        ),
        (
            "dated",
            (0..40).map(dated).collect(),
            "leave it as it is: there is neither a key that tells series apart",
        ),
        (
            "thousand",
            (0..40).map(thousand).collect::<Vec<_>>(),
            "    // all other fields, whose names may be data\n",
        ),
        (
            "tags",
            (0..40).map(tags).collect(),
            "  not the array: `a.b`, a name that has another meaning",
        ),
        (
            "by_hand",
            (0..40).map(by_hand).collect(),
            "no struct can take them over in place",
        ),
    ] {
        newcomer.store(name, &documents).await;
        let (code, report) = newcomer.advise(name, "--all").await;
        assert!(code == 0 && report.contains(says), "{report}");
        assert!(!report.contains("not counted"), "{report}");
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
    let (_, report) = newcomer.advise("readings", "--values").await;
    assert!(
        report.contains("  the largest: s0 500; s1 500;"),
        "{report}"
    );
    let (code, line) = newcomer.advise("readings", "--json").await;
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((code, &value["documents"]), (0, &4000.into()));
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
