//! The public interface stands in `api/`, a file for each crate, so that a change to it shows in the diff.
//!
//! `BLESS=1 cargo test --package bucket-tests --test api` writes the files. They are taken from what
//! rustdoc writes for people, since what it writes for programs needs a nightly toolchain.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

/// Those that docs.rs documents.
const FEATURES: &str =
    "bucket-runtime/chrono,bucket-runtime/time,bucket-runtime/jiff,bucket-runtime/sync";

#[test]
fn the_public_interface_is_listed() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let documented = Command::new(env!("CARGO"))
        .args(["doc", "--no-deps", "--features", FEATURES])
        .args(["--package", "bucket-runtime", "--package", "bucket-testkit"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(documented.unwrap().success());

    let mut changed = Vec::new();
    for krate in ["bucket-runtime", "bucket-testkit"] {
        let found = interface(&target.join("doc").join(krate.replace('-', "_")));
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("api/{krate}.txt"));
        if env::var_os("BLESS").is_some() {
            fs::write(&file, &found).unwrap();
        }
        let listed = fs::read_to_string(&file).unwrap();
        if found == listed {
            continue;
        }
        changed.push(format!("{krate}:"));
        let gone = listed
            .lines()
            .filter(|line| !found.lines().any(|new| new == *line));
        changed.extend(gone.map(|line| format!("- {line}")));
        let new = found
            .lines()
            .filter(|line| !listed.lines().any(|old| old == *line));
        changed.extend(new.map(|line| format!("+ {line}")));
    }
    assert!(
        changed.is_empty(),
        "bless it if you mean it:\n{}",
        changed.join("\n")
    );
}

/// The items of a crate, each with its declaration, its implementations and their public parts.
fn interface(docs: &Path) -> String {
    let all = fs::read_to_string(docs.join("all.html")).unwrap();
    let mut text = String::new();
    for list in all.split("class=\"all-items\"").skip(1) {
        for link in list.split("href=\"").skip(1) {
            let page = link.split('"').next().unwrap();
            writeln!(text, "\n# {}", page.trim_end_matches(".html")).unwrap();
            // What the compiler and other crates implement for each type is left out.
            let html = fs::read_to_string(docs.join(page)).unwrap();
            let html = html
                .split("id=\"synthetic-implementations\"")
                .next()
                .unwrap();
            if let Some(declared) = html.split("item-decl\"><code>").nth(1) {
                let declared = plain(declared.split("</pre>").next().unwrap());
                let is_code =
                    |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
                for line in declared.lines().filter(is_code) {
                    writeln!(text, "{line}").unwrap();
                }
            }
            for (implemented, parts) in implementations(html, page.contains("trait.")) {
                writeln!(text, "{implemented}").unwrap();
                for part in parts {
                    writeln!(text, "    {part}").unwrap();
                }
            }
        }
    }
    text.trim_start().to_owned()
}

/// What is implemented for an item, and the public parts of that, in an order that does not change when
/// they move from one module to another. The parts of a trait stand in its declaration.
fn implementations(html: &str, is_trait: bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut last = String::new();
    for header in html.split("class=\"code-header\">").skip(1) {
        let header = line(header.split("</h").next().unwrap());
        // The box is always the same; what it gives stands in `Output`.
        if header.starts_with("type IntoFuture") {
            continue;
        }
        if header.starts_with("impl") {
            found.entry(header.clone()).or_default();
            last = header;
        } else if !is_trait && (header.starts_with("pub ") || header.starts_with("type ")) {
            found.entry(last.clone()).or_default().insert(header);
        }
    }
    found
}

/// The text of a piece of HTML, without what it has readers click on.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_shown = true;
    for part in html.split('<') {
        let (tag, after) = part.split_once('>').unwrap_or(("", part));
        if tag.starts_with("summary") || tag.starts_with("/summary") {
            is_shown = tag.starts_with('/');
        }
        // An attribute stands in a line of its own, and so does `where`.
        if tag.contains("class=\"where\"") || tag == "/div" {
            text.push('\n');
        }
        if is_shown {
            text.push_str(after);
        }
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    let text = text.replace("&#39;", "'").replace("&quot;", "\"");
    text.replace("&nbsp;", " ").replace("&amp;", "&")
}

/// The same, in one line.
fn line(html: &str) -> String {
    Vec::from_iter(plain(html).split_whitespace()).join(" ")
}
