//! The page of `bucket advise --html`, in a real browser.
//!
//! It needs Chromium: `apt-get install chromium`, then `cargo test --test page -- --ignored`. With
//! `KEEP=folder` the pages stay there.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{env, fs};

use bucket_runtime::bson::{Document, doc, oid::ObjectId};
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

/// The page of a report.
async fn page(newcomer: &Newcomer, name: &str, options: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    let options = format!("{options} --html {}", file.display());
    let (code, report) = newcomer.advise(name, &options).await;
    assert_eq!(code, 0, "{report}");
    assert!(report.ends_with("report.html\n"), "{report}");
    let page = fs::read_to_string(&file).unwrap();
    if let Some(keep) = env::var_os("KEEP") {
        let page = page.replace(newcomer.db.name(), "shop");
        fs::write(
            std::path::Path::new(&keep).join(format!("{name}.html")),
            page,
        )
        .unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    (folder, page)
}

/// Documents that grow: the oldest is a year old, and has a quarter of what a document can have.
fn logs() -> Vec<Document> {
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
        doc! { "_id": ObjectId::from_bytes(id), "lines": lines }
    };
    (0..200).map(log).collect()
}

#[bucket_testkit::test]
#[ignore = "needs Chromium"]
async fn each_page_opens_without_an_error_and_fits_a_phone(newcomer: Newcomer) {
    let logs: fn() -> Vec<Document> = logs;
    let collections = [
        ("flights", "", shapes::flights as fn() -> Vec<Document>, 2),
        ("airports", "", shapes::airports, 1),
        ("quarters", "", shapes::quarters, 1),
        ("readings", "--sample 200", shapes::readings, 2),
        ("late_events", "--values", shapes::late_events, 1),
        ("odd_names", "--key type", shapes::odd_names, 2),
        ("wide", "", shapes::wide, 2),
        ("logs", "", logs, 2),
    ];
    for (name, options, documents, charts) in collections {
        newcomer.store(name, &documents()).await;
        let (folder, page) = page(&newcomer, name, options).await;
        let browser = Browser::find(folder.path());
        let mut papers = Vec::new();
        for (width, scheme) in [
            (360, "--no-pings"),
            (1200, "--no-pings"),
            (360, "--force-dark-mode"),
        ] {
            let shown = browser.show(&page, width, LOOK, &[scheme]);
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
