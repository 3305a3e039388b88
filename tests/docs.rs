//! The README and the guide are up to date: their figures, messages, tables and links are compared with
//! what they describe.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

#[path = "sources.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod sources;

#[path = "docs/links.rs"]
mod links;

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

/// The text of a page of the guide.
fn page(name: &str) -> String {
    text(&format!("bucket-runtime/src/guide/{name}.md"))
}

#[test]
fn the_readme_is_short_and_shows_no_scaffolding() {
    let readme = text("README.md");
    // The definitions of links are not shown.
    let shown = readme.lines().filter(|line| !line.starts_with('['));
    assert!(shown.count() <= 220);
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

/// The page shows the statement in the shell's words, so quotes are left out of the comparison.
#[test]
fn how_it_works_shows_the_append_that_is_sent() {
    let snapshot =
        "bucket-runtime/src/golden/snapshots/bucket_runtime__golden__append__append_by_time.snap";
    let statements = text(snapshot).replace('"', "");
    let sent = between(&statements, ", upsert, hint bucket_open\n", "\n\n")[0];
    let shown = page("how_it_works").replace('"', "");
    for line in sent.lines().filter(|line| !line.contains("$push")) {
        assert!(shown.contains(line.trim()), "{line}");
    }
    assert!(shown.contains("upsert: true, hint: bucket_open"));
}

#[test]
fn figures_are_those_that_were_measured() {
    let measured = measured();
    let index = text("benches/results/README.md");
    for file in measured.keys() {
        assert!(
            index.contains(&format!("({file})")),
            "name {file} in `benches/results/README.md`"
        );
    }
    let measured: String = measured.into_values().collect();

    // These tables shorten what is compared, so only our value, the peer's and the ratio are looked up.
    for (text, rows) in [(text("README.md"), 6), (text("benches/README.md"), 30)] {
        let table = between(&text, "| ratio |\n| --- | ---: | ---: | ---: |\n", "\n\n");
        let table = Vec::from_iter(table[0].lines());
        assert_eq!(table.len(), rows);
        for row in table {
            let (_, figures) = row[1..].split_once('|').unwrap();
            assert!(measured.contains(figures), "{row}");
        }
    }
    let charts = text("benches/README.md") + &page("how_fast_how_sure");
    for bar in charts.lines().filter(|line| line.contains('█')) {
        let is_figure = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
        let figure = bar.split_whitespace().rfind(is_figure).unwrap();
        assert!(measured.contains(&format!(" {figure} ")), "{bar}");
    }
}

/// The tables of all themes, by their files.
fn measured() -> BTreeMap<String, String> {
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/results");
    let files = |folder: &str| {
        fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
    };
    let folders = files(results).filter(|file| file.is_dir());
    let tables = folders.flat_map(|folder| files(folder.to_str().unwrap()));
    let tables = tables.filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    let read = |file: PathBuf| {
        let name = file.strip_prefix(results).unwrap().display().to_string();
        (name, fs::read_to_string(&file).unwrap())
    };
    tables.map(read).collect()
}

/// The results with which the README begins stand where it says.
#[test]
fn the_first_results_of_the_readme_are_the_measured_ones() {
    let readme = text("README.md");
    let gives = between(&readme, "\nWhat it gives:\n", "\n```")[0];
    let results = between(gives, "\n- **", "\n\n");
    assert!(
        results[0].starts_with("0 of 140,238 acknowledged")
            && text("docs/proof.md").contains("| all | 140,238 |")
    );
    assert!(text("docs/proof.md").contains("the primary was killed 7 times"));
    let table = text("benches/results/8.2.0/stream.md");
    let [of_stream] = &between(&table, "| `stream_10_vs_flat` |", "\n")[..] else {
        panic!("{table}");
    };
    let (times, _) = results[1].split_once(" times").unwrap();
    assert!(of_stream.contains(&format!("| {times} (")), "{of_stream}");
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

/// Whoever cannot see them, or wants no motion, learns as much.
#[test]
fn pictures_have_words_and_can_stand_still() {
    for name in ["bucket_fills", "how_it_works"] {
        let svg = text(&format!("bucket-runtime/src/guide/{name}.svg"));
        let words = [
            "<title ",
            "<desc ",
            "prefers-color-scheme: dark",
            "prefers-color-scheme: light",
        ];
        for word in words {
            assert!(svg.contains(word), "{name}: {word}");
        }
        let (still, moving) = svg
            .split_once("@media (prefers-reduced-motion: no-preference)")
            .unwrap_or((&svg, ""));
        assert!(!still.contains("animation"), "{name}");
        assert_eq!(moving.contains("animation"), name == "bucket_fills");
        assert!(svg.len() < 8_000, "{name}");
    }
}

/// People search for the word that they know.
#[test]
fn a_search_for_a_known_word_finds_ours() {
    let code: String = ["bucket-core", "bucket-runtime"]
        .iter()
        .flat_map(|package| sources::sources(&sources::of_package(package)))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    for word in [
        "pagination",
        "cursor",
        "ttl",
        "retention",
        "idempotent",
        "chrono",
        "upsert",
    ] {
        assert!(code.contains(&format!("alias = \"{word}\"")), "{word}");
    }
}

/// A module that was renamed would otherwise be left out of the run without a word.
#[test]
fn every_module_that_ci_names_exists() {
    let script = text(".ci/run").replace("\\\n", "");
    let named: Vec<_> = between(&script, "--test 'live_*' -- ", "\n")
        .into_iter()
        .flat_map(str::split_whitespace)
        .filter(|name| !name.starts_with("--"))
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
