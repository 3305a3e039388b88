//! The README and the guide are up to date: their figures, messages, tables and links are compared with
//! what they describe.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{collections::BTreeSet, fs, path::Path};

/// A file of the repository.
fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Each piece of text between the two markers.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Vec<&'t str> {
    let parts = text.split(before).skip(1);
    parts
        .map(|part| part.split(after).next().unwrap())
        .collect()
}

/// The names of the guide's pages.
fn pages() -> BTreeSet<String> {
    let guide = text("bucket-runtime/src/guide.rs");
    let pages = between(&guide, "pub mod ", " {}");
    pages.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_readme_is_short_and_shows_no_scaffolding() {
    let readme = text("README.md");
    assert!(readme.lines().count() <= 220);
    let rust = between(&readme, "```rust", "\n```");
    assert!(!rust.is_empty());
    for code in rust {
        let hidden = |line: &&str| line.starts_with("# ") || *line == "#";
        assert_eq!(code.lines().find(hidden), None);
    }
}

#[test]
fn the_readme_shows_an_error_as_it_is_printed() {
    let readme = text("README.md");
    let blocks = between(&readme, "```text\n", "```");
    let shown = blocks.iter().find(|block| block.starts_with("error"));
    let fixture = text("tests/fixtures/bucket/invalid/id_unknown_field.stderr");
    assert!(fixture.contains(shown.unwrap()), "{fixture}");
}

#[test]
fn every_page_of_the_guide_is_linked_and_every_link_is_a_page() {
    let pages = pages();
    let readme = text("README.md");
    let linked = between(&readme, "bucket_runtime/guide/", "/index.html");
    let linked: BTreeSet<String> = linked.into_iter().map(str::to_owned).collect();
    assert_eq!(linked, pages);

    let guide = text("bucket-runtime/src/guide.rs");
    let listed = between(&guide, "//! | [`", "`]");
    let listed: BTreeSet<String> = listed.into_iter().map(str::to_owned).collect();
    assert_eq!(listed, pages);
}

#[test]
fn figures_are_those_that_were_measured() {
    let measured = text("benches/results/table.md");
    let guide = text("bucket-runtime/src/guide/how_fast.md");
    assert!(guide.contains(measured.trim()), "copy the table");

    // The README shortens each figure, so only our value, the peer's and the ratio are compared.
    let readme = text("README.md");
    let table = between(&readme, "| ratio |\n| --- | ---: | ---: | ---: |\n", "\n\n");
    let rows = Vec::from_iter(table[0].lines());
    assert_eq!(rows.len(), 5);
    for row in rows {
        let (_, figures) = row[1..].split_once('|').unwrap();
        assert!(measured.contains(figures), "{row}");
    }
    for chart in [&readme, &guide] {
        for bar in chart.lines().filter(|line| line.contains('█')) {
            let is_figure = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
            let figure = bar.split_whitespace().find(is_figure).unwrap();
            assert!(measured.contains(&format!(" {figure} ")), "{bar}");
        }
    }
}

#[test]
fn the_live_test_that_contributing_shows_is_one() {
    let page = text("CONTRIBUTING.md");
    let shown = between(&page, "```rust\n", "  ```")[0].replace("\n  ", "\n");
    let test = shown.trim();
    assert!(test.lines().count() <= 12);
    assert!(
        text("tests/live/guarantees/g5_order.rs").contains(test),
        "{test}"
    );
}

/// A module that was renamed would otherwise be left out of the run without a word.
#[test]
fn every_module_that_ci_names_exists() {
    let script = text(".ci/run").replace("\\\n", "");
    let named: Vec<_> = between(&script, "--test 'live_*' -- ", "\n")
        .into_iter()
        .flat_map(str::split_whitespace)
        .collect();
    assert!(named.len() > 10, "{named:?}");
    let live = Path::new(env!("CARGO_MANIFEST_DIR")).join("live");
    for name in named {
        let module = name.trim_end_matches("::").replace("::", "/");
        let path = live.join(&module);
        assert!(
            path.is_dir() || path.with_extension("rs").is_file(),
            "no module {name}"
        );
    }
}
