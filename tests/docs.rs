//! The README and the guide are up to date: their figures, messages, tables and links are compared with
//! what they describe.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{collections::BTreeSet, fs, path::Path};

use bucket_tests::links::{Page, READMES, Target, linked_page, pages, rustdoc_links, turned};

/// The texts with links to other files, besides the READMEs and the guide.
const TEXTS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

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

/// The guide's pages, in order.
fn guide_pages() -> Vec<Page> {
    pages(&text("bucket-runtime/src/guide/README.md"))
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

#[test]
fn every_page_of_the_guide_is_a_module_and_stands_in_the_readme() {
    let listed = BTreeSet::from_iter(guide_pages().into_iter().map(|page| page.name));
    let guide = text("bucket-runtime/src/guide.rs");
    let modules = between(&guide, "\npages! {\n", "}")[0].split_whitespace();
    let modules = BTreeSet::from_iter(modules.chain(["testing"]).map(str::to_owned));
    assert_eq!(modules, listed);

    let readme = turned(&text("README.md"), "", Target::Files);
    for Page { name, title } in guide_pages() {
        let definition = format!("\n[{title}]: bucket-runtime/src/guide/{name}.md");
        assert!(readme.contains(&definition), "{definition}");
        assert!(readme.matches(&format!("[{title}]")).count() > 1, "{title}");
    }
}

#[test]
fn links_between_pages_are_written() {
    let command = "run `cargo run --package bucket-tests --bin links`";
    let list = guide_pages();
    let names = list.iter().map(|page| &*page.name).chain(["README"]);
    let texts: Vec<_> = names.map(|name| (name, page(name))).collect();
    for (name, text) in &texts {
        assert!(*text == linked_page(name, text, &list), "{name}: {command}");
    }
    let texts = texts.iter().map(|(_, text)| text.as_str());
    let picture = |name: &str| text(&format!("bucket-runtime/src/guide/{name}"));
    assert!(
        page("links") == rustdoc_links(texts, &list, picture),
        "{command}"
    );
}

/// The pages refer to each other in the order of the list.
#[test]
fn a_page_leads_to_its_neighbours() {
    for pair in guide_pages().windows(2) {
        let [first, second] = [&pair[0], &pair[1]];
        let forth = format!(" · [{}][{}] →", second.title, second.name);
        assert!(page(&first.name).contains(&forth), "{}", first.name);
        let back = format!("\n← [{}][{}] · ", first.title, first.name);
        assert!(page(&second.name).contains(&back), "{}", second.name);
    }
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
fn the_links_of_a_readme_turn_to_the_published_docs_and_back() {
    for (path, root) in READMES {
        let files = turned(&text(path), root, Target::Files);
        let published = turned(&files, root, Target::DocsRs);
        assert!(!files.contains("https://docs.rs/bucket"), "{path}");
        assert!(published.contains("https://docs.rs/bucket"), "{path}");
        assert_eq!(turned(&published, root, Target::Files), files, "{path}");
        assert!(
            [files, published].contains(&text(path)),
            "{path}: one half of its links is turned"
        );
    }
    let readme = "[a]: ../bucket-runtime/src/guide/README.md\n[b]: ../bucket-runtime/src/guide/edits.md#all\n";
    let docs = "https://docs.rs/bucket-runtime/latest/bucket_runtime/guide";
    let published = format!("[a]: {docs}/index.html\n[b]: {docs}/edits/index.html#all\n");
    assert_eq!(turned(readme, "../", Target::DocsRs), published);
    assert_eq!(turned(&published, "../", Target::Files), readme);
}

#[test]
fn every_link_to_a_file_leads_to_one_and_to_a_heading_of_it() {
    let guide = guide_pages()
        .into_iter()
        .map(|page| page.name)
        .chain(["README".to_owned()]);
    let guide = guide.map(|name| format!("bucket-runtime/src/guide/{name}.md"));
    let readmes = READMES.map(|(path, _)| path.to_owned());
    let files = guide.chain(readmes).chain(TEXTS.map(str::to_owned));
    let mut checked = 0;
    for file in files {
        let text = text(&file);
        for link in links(&text) {
            let folder = Path::new(&file).parent().unwrap();
            let (target, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
            let target = if target.is_empty() {
                file.clone()
            } else {
                folder.join(target).to_str().unwrap().to_owned()
            };
            assert!(is_there(&target), "{file}: {link}");
            if let Some(anchor) = anchor.strip_prefix('#') {
                assert!(
                    anchors(&self::text(&target)).contains(anchor),
                    "{file}: {link}"
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 100);
}

/// The targets of a text's links to files: not those to other sites, nor those to items, which rustdoc checks.
fn links(text: &str) -> Vec<&str> {
    let definitions = text
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    let definitions = definitions.map(|(_, link)| link);
    let inline = between(text, "](", ")").into_iter();
    let is_file = |link: &&str| {
        !link.contains("://") && !link.contains("::") && !link.contains(char::is_whitespace)
    };
    inline.chain(definitions).filter(is_file).collect()
}

/// Whether the repository has this file or folder.
fn is_there(path: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join(path).exists()
}

/// The anchors of a text's headings, as rustdoc and forges make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn figures_are_those_that_were_measured() {
    let measured = text("benches/results/table.md");
    assert!(
        page("all_figures").contains(measured.trim()),
        "copy the table"
    );

    // These tables shorten what is compared, so only our value, the peer's and the ratio are looked up.
    for (text, rows) in [(text("README.md"), 5), (page("how_fast"), 10)] {
        let table = between(&text, "| ratio |\n| --- | ---: | ---: | ---: |\n", "\n\n");
        let table = Vec::from_iter(table[0].lines());
        assert_eq!(table.len(), rows);
        for row in table {
            let (_, figures) = row[1..].split_once('|').unwrap();
            assert!(measured.contains(figures), "{row}");
        }
    }
    let guide = page("how_fast");
    for bar in guide.lines().filter(|line| line.contains('█')) {
        let is_figure = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
        let figure = bar.split_whitespace().find(is_figure).unwrap();
        assert!(measured.contains(&format!(" {figure} ")), "{bar}");
    }
}

/// The results with which the README begins stand where it says.
#[test]
fn the_first_results_of_the_readme_are_the_measured_ones() {
    let readme = text("README.md");
    let results = between(&readme, "\n- **", "\n\n");
    assert!(
        results[0].starts_with("0 of 74,345 acknowledged")
            && page("how_it_is_proved").contains("| in buckets | 74,345 |")
    );
    assert!(page("how_it_is_proved").contains("the primary was killed 12 times"));
    assert!(
        results[1].starts_with("3.82 times")
            && text("benches/results/table.md").contains("| 3,183 items/s | 3.82 |")
    );
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
