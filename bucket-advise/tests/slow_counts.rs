//! What `bucket advise` says if the server does not finish a count.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use bucket_runtime::bson::{Bson, Document, doc};
use bucket_runtime::mongodb::Client;
use bucket_testkit::Server;

#[path = "advised/newcomer.rs"]
mod newcomer;

use newcomer::Newcomer;

/// A newcomer's database on a server of its own, whose commands can be made to fail. `None` if the server is the
/// user's, or a cluster, where each shard has its own fail points.
async fn newcomer() -> Option<(Server, Newcomer)> {
    let failing = ["--setParameter", "enableTestCommands=1"];
    // A sample of large documents is sorted in memory, since a disk may take longer than a count may.
    let sorting = [
        "--setParameter",
        "internalQueryMaxBlockingSortMemoryUsageBytes=1073741824",
    ];
    let options = [failing, sorting].concat();
    let server = Server::start_with(&options).await.unwrap();
    let is_ours = server.is_throw_away() && server.cluster().is_none();
    let (hosts, options) = server.uri().rsplit_once('/').unwrap();
    let newcomer = Newcomer {
        db: Client::with_uri_str(server.uri())
            .await
            .unwrap()
            .database("shop"),
        uri: format!("{hosts}/shop{options}"),
    };
    is_ours.then_some((server, newcomer))
}

/// Turns on a fail point of the server.
async fn fail(newcomer: &Newcomer, point: &str, mode: impl Into<Bson>, data: Document) {
    let command = doc! { "configureFailPoint": point, "mode": mode.into(), "data": data };
    let admin = newcomer.db.client().database("admin");
    admin.run_command(command).await.unwrap();
}

/// Items with a text of so many bytes.
fn items(count: i64, bytes: usize) -> Vec<Bson> {
    let items = (0..count).map(|n| Bson::from(doc! { "n": n, "text": "x".repeat(bytes) }));
    items.collect()
}

/// A numbered bucket of one of a hundred users.
fn bucket(n: i64, bytes: usize) -> Document {
    let (user, number) = (n % 100, n / 100);
    let id = format!("{user}_{number:010}");
    doc! { "_id": id, "user": user, "count": 5, "items": items(5, bytes) }
}

async fn store(newcomer: &Newcomer, name: &str, count: i64, document: impl Fn(i64) -> Document) {
    let documents: Vec<_> = (0..count).map(document).collect();
    newcomer.store(name, &documents).await;
}

/// Fills three collections with so many documents each: flat ones of a hundred keys, arrays, and numbered buckets.
async fn fill(newcomer: &Newcomer, count: i64) {
    let visit = |n: i64| doc! { "user_id": n % 100, "page": format!("page {n}") };
    let parent = |n: i64| doc! { "items": items(if n % 100 == 0 { 1000 } else { n % 7 }, 50) };
    store(newcomer, "flat", count, visit).await;
    store(newcomer, "arrays", count, parent).await;
    store(newcomer, "buckets", count, |n| bucket(n, 50)).await;
}

/// The server gives up whatever has a limit of time.
#[tokio::test]
async fn counting_has_a_limit_unless_everything_is_read() {
    let Some((_server, newcomer)) = newcomer().await else {
        return;
    };
    fill(&newcomer, 3000).await;
    fail(&newcomer, "maxTimeAlwaysTimeOut", "alwaysOn", doc! {}).await;
    let (code, report) = newcomer.advise("flat", "--sample 100").await;
    let sampled = "items per key in the sample (";
    assert!(code == 0 && report.contains(sampled), "{report}");
    for (name, counted) in [
        ("flat", "items per key (100 keys, all of them counted)"),
        ("arrays", "verdict: take outliers"),
        ("buckets", "verdict: take the buckets over: 3,000 buckets"),
    ] {
        let (code, report) = newcomer.advise(name, "--all").await;
        assert!(code == 0 && report.contains(counted), "{report}");
    }
}

/// Lets the server refuse as many counts as the mode says.
async fn refuse(newcomer: &Newcomer, mode: impl Into<Bson>, error_code: i32) {
    let data = doc! { "failCommands": ["aggregate"], "errorCode": error_code };
    fail(newcomer, "failCommand", mode, data).await;
}

/// The count over a sample takes the place of one that takes too long, or too much memory.
#[tokio::test]
async fn a_sample_is_counted_if_the_whole_cannot_be() {
    let Some((_server, newcomer)) = newcomer().await else {
        return;
    };
    fill(&newcomer, 10_500).await;
    let once = doc! { "times": 1 };
    for error_code in [50, 146, 292] {
        for (name, sampled) in [
            ("buckets", "a sample of 10,000 buckets with 50,000 items"),
            (
                "arrays",
                "rarer than one in 3,333; the server refused to count all",
            ),
        ] {
            refuse(&newcomer, once.clone(), error_code).await;
            let (code, report) = newcomer.advise(name, "--all").await;
            assert!(code == 0 && report.contains(sampled), "{report}");
        }
    }
    let (_, report) = newcomer.advise("buckets", "--all").await;
    let counted = "take the buckets over: 10,500 buckets with 52,500 items";
    assert!(report.contains(counted), "{report}");
    refuse(&newcomer, "alwaysOn", 50).await;
    assert_eq!(newcomer.advise("buckets", "--all").await.0, 1);
}

/// The reading ends after 256 MiB, and the sample that is counted has no more documents.
#[tokio::test]
async fn a_count_takes_no_larger_sample_than_the_reading() {
    let Some((_server, newcomer)) = newcomer().await else {
        return;
    };
    for from in (0..75).step_by(15) {
        store(&newcomer, "buckets", 15, |n| bucket(from + n, 800_000)).await;
    }
    refuse(&newcomer, doc! { "times": 1 }, 50).await;
    let (code, report) = newcomer.advise("buckets", "").await;
    for sampled in [
        "about 75 documents, a sample of 68 read",
        "a sample of 68 buckets with 340 items",
    ] {
        assert!(code == 0 && report.contains(sampled), "{report}");
    }
}

/// `--all` is advice for those who have not asked for it.
#[tokio::test]
async fn a_refused_count_is_called_so() {
    let Some((_server, newcomer)) = newcomer().await else {
        return;
    };
    fill(&newcomer, 3000).await;
    let visit = |n: i64| doc! { "user_id": n % 21_000, "page": format!("page {n}") };
    store(&newcomer, "visits", 42_000, visit).await;
    let (first, all_but_one) = (doc! { "times": 1 }, doc! { "skip": 1 });
    for (name, options, mode, says) in [
        (
            "arrays",
            "",
            &first,
            "rarer than one in 1,000; `--all` counts all\n",
        ),
        (
            "arrays",
            "--all",
            &first,
            "rarer than one in 1,000; the server refused to count all\n",
        ),
        (
            "buckets",
            "",
            &all_but_one,
            "not counted: keys with several open buckets (`--all` counts them)\n",
        ),
        (
            "buckets",
            "--all",
            &all_but_one,
            "not counted: keys with several open buckets (the server refused to count them)\n",
        ),
        (
            "visits",
            "--all",
            &first,
            "items per key (20,000 keys, those that came first; the server refused to count the others)\n",
        ),
    ] {
        refuse(&newcomer, mode.clone(), 50).await;
        let (code, report) = newcomer.advise(name, options).await;
        assert!(code == 0 && report.contains(says), "{report}");
    }
}
