//! The pages of `bucket advise --html` and of `stats --html`, in a real browser.
//!
//! It needs Chromium: `apt-get install chromium`, then `cargo test --test page -- --ignored`. With
//! `KEEP=folder` the pages stay there.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::ffi::OsString;
use std::{env, fs};

use bucket_runtime::bson::{Bson, DateTime, Document, doc, oid::ObjectId};
use bucket_runtime::{Bucket, Outlier};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[path = "page/browser.rs"]
mod browser;
#[path = "advised/newcomer.rs"]
mod newcomer;
#[path = "advised/shapes.rs"]
#[allow(dead_code, reason = "`advise` and `advised` look at the others")]
mod shapes;

use browser::Browser;
use newcomer::Newcomer;

/// What a reader meets: whether anything overflows, how small the text is, what a screen reader finds.
const LOOK: &str = r#"page => {
  const root = page.documentElement;
  const number = list => [...list].length;
  const charts = [...page.querySelectorAll("svg")];
  const scaled = charts.map(chart => chart.getBoundingClientRect().width / 420 * 12);
  const outside = [...page.querySelectorAll("svg text")].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < -0.5 || box.right > root.clientWidth + 0.5;
  });
  return {
    wide: root.scrollWidth - root.clientWidth,
    outside: outside.map(text => text.textContent),
    charts: charts.length,
    smallest: Math.min(99, ...scaled),
    named: number(charts.filter(chart => chart.getAttribute("role") === "img" && chart.querySelector("title"))),
    tables: number(charts.filter(chart => chart.closest("section").querySelector("table caption"))),
    dark: page.defaultView.getComputedStyle(page.body).backgroundColor,
    title: page.querySelector("h1").textContent,
  };
}"#;

/// The slider at each of its ends.
const SLIDE: &str = r#"page => {
  const slider = page.getElementById("capacity");
  const at = value => {
    slider.value = value;
    slider.dispatchEvent(new page.defaultView.Event("input"));
    const box = page.querySelector(".cursor").getBoundingClientRect();
    const shown = [...page.querySelectorAll("tr.shown")];
    return { x: box.left, text: page.querySelector("output").textContent, rows: shown.map(row => row.innerText),
      spoken: slider.getAttribute("aria-valuetext") };
  };
  return [slider.min, slider.max].map(at);
}"#;

mod app {
    use super::{Bucket, DateTime, Deserialize, Outlier, Serialize};

    #[derive(Debug, Bucket)]
    #[bucket(collection = "trades", id = "{customer}_{date}", capacity = 10)]
    pub(super) struct Trade {
        pub(super) customer: i64,
        pub(super) date: DateTime,
    }

    #[derive(Debug, Serialize, Deserialize, Outlier)]
    #[outlier(collection = "books", reference = "book", threshold = 50)]
    pub(super) struct Book {
        #[serde(rename = "_id")]
        pub(super) id: i64,
        #[outlier(items)]
        pub(super) buyers: Vec<String>,
    }
}

/// Stores trades of forty customers, the first of whom has half of them, and books, one of which is a bestseller.
async fn fill(newcomer: &Newcomer) {
    let trade = |n: i64| app::Trade {
        customer: if n % 2 == 0 { 0 } else { n % 40 },
        date: DateTime::from_millis(1_700_000_000_000 + n * 3_600_000),
    };
    let trades = app::Trade::buckets(&newcomer.db).await.unwrap();
    trades.append_many((0..2000).map(trade)).await.unwrap();
    let books = app::Book::outliers(&newcomer.db).await.unwrap();
    for id in 0..30 {
        let buyers = if id == 7 { 3000 } else { id };
        let buyers = (0..buyers).map(|n| format!("user{n}")).collect();
        books.insert(&app::Book { id, buyers }).await.unwrap();
    }
}

/// The page of a struct's collection as it is.
async fn stats_page(newcomer: &Newcomer, name: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let path = file.to_str().unwrap();
    let arguments = ["ops", "stats", name, "--html", path].map(OsString::from);
    let targets = [
        bucket_cli::target!(app::Trade),
        bucket_cli::target!(app::Book),
    ];
    let mut out = Vec::new();
    let code = bucket_cli::__private::run(&newcomer.uri, &targets, arguments, &mut out).await;
    assert_eq!(code, 0);
    let page = fs::read_to_string(&file).unwrap();
    keep(newcomer, &format!("stats_{name}"), &page);
    (folder, page)
}

/// Leaves a copy of a page in the folder that `KEEP` names.
fn keep(newcomer: &Newcomer, name: &str, page: &str) {
    if let Some(folder) = env::var_os("KEEP") {
        let file = std::path::Path::new(&folder).join(format!("{name}.html"));
        fs::write(file, page.replace(newcomer.db.name(), "shop")).unwrap();
    }
}

/// The page of a report.
async fn page(newcomer: &Newcomer, name: &str, options: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let options = format!("{options} --html {}", file.display());
    let (code, report) = newcomer.advise(name, &options).await;
    assert_eq!(code, 0, "{report}");
    assert!(report.ends_with("report.html\n"), "{report}");
    let page = fs::read_to_string(&file).unwrap();
    keep(newcomer, name, &page);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    (folder, page)
}

/// Documents that grow: the oldest is a year old, and has a quarter of what a document can have.
fn logs() -> Vec<Document> {
    logs_by(|id| ObjectId::from_bytes(id).into())
}

/// The same documents, whose age nothing tells.
fn ageless() -> Vec<Document> {
    logs_by(|id| format!("{id:?}").into())
}

fn logs_by(id_of: fn([u8; 12]) -> Bson) -> Vec<Document> {
    let log = |n: u32| {
        let mut id = [1; 12];
        let now = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs();
        let begin = u32::try_from(now).unwrap() - 31_536_000;
        id[..4].copy_from_slice(&begin.to_be_bytes());
        id[8..].copy_from_slice(&n.to_be_bytes());
        let lines = if n == 0 { 4000 } else { n % 20 };
        let lines = (0..lines)
            .map(|_| "a line ".repeat(150))
            .collect::<Vec<_>>();
        doc! { "_id": id_of(id), "lines": lines }
    };
    (0..200).map(log).collect()
}

#[bucket_testkit::test]
#[ignore = "needs Chromium"]
async fn each_page_opens_without_an_error_and_fits_a_phone(newcomer: Newcomer) {
    let logs: fn() -> Vec<Document> = logs;
    let collections = [
        ("flights", "", shapes::flights as fn() -> Vec<Document>, 3),
        ("airports", "", shapes::airports, 1),
        ("quarters", "", shapes::quarters, 2),
        ("readings", "--sample 200", shapes::readings, 3),
        ("late_events", "--values", shapes::late_events, 2),
        ("odd_names", "--key type", shapes::odd_names, 3),
        ("wide", "", shapes::wide, 3),
        ("logs", "--values", logs, 2),
        ("ageless", "", ageless, 1),
    ];
    for (name, options, documents, charts) in collections {
        newcomer.store(name, &documents()).await;
        let (folder, page) = page(&newcomer, name, options).await;
        opens_and_fits(&folder, &page, name, charts);
    }
}

#[bucket_testkit::test]
#[ignore = "needs Chromium"]
async fn the_page_of_a_struct_opens_without_an_error_and_fits_a_phone(newcomer: Newcomer) {
    fill(&newcomer).await;
    for (name, charts) in [("Trade", 3), ("Book", 2)] {
        let (folder, page) = stats_page(&newcomer, name).await;
        opens_and_fits(&folder, &page, name, charts);
    }
}

/// In each width and in both schemes, the page has no error, no overflow, and a table for each chart.
fn opens_and_fits(folder: &tempfile::TempDir, page: &str, name: &str, charts: u64) {
    let browser = Browser::find(folder.path());
    let mut papers = Vec::new();
    for (width, scheme) in [
        (360, "--no-pings"),
        (1200, "--no-pings"),
        (360, "--force-dark-mode"),
    ] {
        let shown = browser.show(page, width, LOOK, &[scheme]);
        assert_eq!(shown.console, [""; 0], "{name}");
        let told = &shown.told;
        assert_eq!(told["wide"], 0, "{name} at {width}: {told}");
        assert_eq!(told["outside"], Value::Array(vec![]), "{name} at {width}");
        for count in ["charts", "named", "tables"] {
            assert_eq!(told[count], charts, "{name}: {count}");
        }
        assert!(told["smallest"].as_f64().unwrap() > 9.0, "{name}: {told}");
        papers.push(told["dark"].to_string());
    }
    assert!(
        papers[0] == papers[1] && papers[0] != papers[2],
        "{papers:?}"
    );
}

#[bucket_testkit::test]
#[ignore = "needs Chromium"]
async fn the_slider_moves_the_cursor_and_names_what_it_shows(newcomer: Newcomer) {
    newcomer.store("flights", &shapes::flights()).await;
    let (folder, page) = page(&newcomer, "flights", "").await;
    let shown = Browser::find(folder.path()).show(&page, 360, SLIDE, &[]);
    let (first, last) = (&shown.told[0], &shown.told[1]);
    assert!(last["x"].as_f64().unwrap() - first["x"].as_f64().unwrap() > 250.0);
    for (stop, capacity) in [(first, "5 items: "), (last, "1,500 items: 220 buckets")] {
        let text = stop["text"].as_str().unwrap();
        assert!(text.starts_with(capacity), "{text}");
        assert_eq!(stop["spoken"], text);
        let rows = stop["rows"].as_array().unwrap();
        let begin = capacity.split(' ').next().unwrap();
        assert!(
            rows.len() == 1 && rows[0].as_str().unwrap().starts_with(begin),
            "{rows:?}"
        );
    }
    assert_eq!(shown.console, [""; 0]);
}
