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
    let fixture = text("tests/fixtures/invalid/id_unknown_field.stderr");
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

/// The names in the first column of the tables of attributes: those on the struct, and those on a
/// field.
fn attributes(docs: &str, attribute: &str) -> [BTreeSet<String>; 2] {
    let table = |header: String| {
        let rows = docs.split(&header).nth(1).unwrap();
        let rows = rows.lines().skip(2).take_while(|row| row.starts_with('|'));
        let cells = rows.map(|row| row[1..].split('|').next().unwrap());
        let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        names
            .map(|name| name.trim_end_matches(" = …").to_owned())
            .collect()
    };
    [
        table(format!("| `#[{attribute}(…)]` on the struct ")),
        table(format!("| `#[{attribute}(…)]` on a field ")),
    ]
}

/// The names that the derive's source lists, as strings, between the two markers.
fn listed(source: &str, before: &str) -> BTreeSet<String> {
    let list = between(source, before, "]")[0];
    let is_pair = list.contains('(');
    let names = match is_pair {
        true => between(list, "(\"", "\""),
        false => list.split('"').skip(1).step_by(2).collect(),
    };
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_tables_of_attributes_are_those_of_the_derives() {
    for attribute in ["bucket", "outlier"] {
        let docs = text(&format!("bucket-runtime/src/docs/{attribute}.md"));
        let source = text(&format!("bucket-derive/src/parse/attr/{attribute}.rs"));
        let [keys, field] = attributes(&docs, attribute);
        assert_eq!(keys, listed(&source, "keys: &["));
        let words = listed(&source, "words: &[");
        let limits = listed(&source, "limits: &[");
        assert_eq!(field, &words | &limits);
    }
}
