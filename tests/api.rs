//! `api/` holds the public interface, one file per crate, so that a change to it shows in the diff.
//!
//! `BLESS=1 cargo test --test api -- --ignored` writes the files. Their source is rustdoc's HTML, since its JSON needs
//! a nightly toolchain.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    path::Path,
    process::Command,
};

/// The features that docs.rs documents.
const FEATURES: &str = "bucket-runtime/chrono,bucket-runtime/time,bucket-runtime/jiff,bucket-runtime/sync,bucket-runtime/tracing,bucket-ops/sync";

/// CI runs it, and so sees the warnings of rustdoc, too.
#[test]
#[ignore = "checks all dependencies, a minute: `cargo test --test api -- --ignored`"]
fn the_public_interface_is_listed() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut documented = Command::new(env!("CARGO"));
    // By these cargo tells this test its package. Build scripts that look at one of them would run again, and all that
    // depends on them would be compiled anew, now and in the build after this one.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            documented.env_remove(&name);
        }
    }
    let documented = documented
        .args(["doc", "--workspace", "--no-deps", "--features", FEATURES])
        .env("RUSTDOCFLAGS", "--deny warnings")
        .arg("--target-dir")
        .arg(target)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status();
    assert!(documented.unwrap().success());

    let mut changed = Vec::new();
    for krate in [
        "bucket-runtime",
        "bucket-ops",
        "bucket-testkit",
        "bucket-cli",
    ] {
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
        "bless it if the change is intended:\n{}",
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
            // Leave out what the compiler and other crates implement for each type.
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

/// The implementations for an item, with its public parts. The order stays the same when they move from
/// one module to another. The parts of a trait are in its declaration.
fn implementations(html: &str, is_trait: bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut last = String::new();
    for header in html.split("class=\"code-header\">").skip(1) {
        let header = line(header.split("</h").next().unwrap());
        // The type is always the same box; `Output` says what it yields.
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

/// The text of a piece of HTML, without its fold-out summaries.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut is_shown = true;
    for part in html.split('<') {
        let (tag, after) = part.split_once('>').unwrap_or(("", part));
        if tag.starts_with("summary") || tag.starts_with("/summary") {
            is_shown = tag.starts_with('/');
        }
        // An attribute has a line of its own, and so does `where`.
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

/// A text in one line.
fn line(html: &str) -> String {
    Vec::from_iter(plain(html).split_whitespace()).join(" ")
}
