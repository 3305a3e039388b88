//! The links of the docs. `cargo run --package bucket-tests --bin links` writes them, and the test `docs`
//! compares them.
//!
//! A page of the guide is read in two places. As a file it links to other files, by definitions at its end. In
//! rustdoc it links to modules, by the definitions of `guide/links.md`, which come first there: of two
//! definitions of a label Markdown takes the first.

use std::collections::BTreeSet;

/// The line between a page and the part of it that is written here.
const FOOT: &str = "<!-- Written by `cargo run --package bucket-tests --bin links`: -->";

/// The guide in the published docs.
const PUBLISHED: &str = "https://docs.rs/bucket-runtime/latest/bucket_runtime/guide/";

/// The guide in the repository.
const FILES: &str = "bucket-runtime/src/guide";

/// What describes a crate in the repository, and its published docs.
const CRATES: [(&str, &str); 2] = [
    ("README.md", "https://docs.rs/bucket-runtime"),
    (
        "bucket-testkit/src/lib.rs",
        "https://docs.rs/bucket-testkit",
    ),
];

/// The READMEs that link to the guide, each with the path from it to the repository's root.
pub const READMES: [(&str, &str); 5] = [
    ("README.md", ""),
    ("bucket-advise/README.md", "../"),
    ("bucket-cli/README.md", "../"),
    ("bucket-derive/README.md", "../"),
    ("bucket-testkit/README.md", "../"),
];

/// What pages link to besides other pages and pictures.
const OTHERS: [&str; 3] = ["guide", "derive(Bucket)", "derive(Outlier)"];

/// The beginning of `llms.txt`.
const LLMS: &str = "\
# bucket-runtime

> MongoDB's bucket pattern and outlier pattern as derives for Rust: an annotated struct is checked by the compiler, and a
> runtime on the official driver stores and reads its items, safely beside any number of other writers.

Begin with the skill, which fits on two screens: what to choose, code that compiles, and what not to do.

- [Skill](skills/bucket-runtime/SKILL.md): how to model a series or a growing array
- [Attributes of Bucket](bucket-runtime/src/docs/bucket.md): all of them
- [Attributes of Outlier](bucket-runtime/src/docs/outlier.md): all of them
";

/// A page of the guide, as its list names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The name of its module and its file.
    pub name: String,
    /// The text of links to it.
    pub title: String,
}

/// Where the links of a README lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// To the files of the repository.
    Files,
    /// To the published docs.
    DocsRs,
}

/// The pages in the order of the guide's list, whose rows begin with `| [title][name] |`.
#[must_use]
pub fn pages(list: &str) -> Vec<Page> {
    let rows = list.lines().filter_map(|line| line.strip_prefix("| ["));
    let links = rows.filter_map(|row| row.split_once("] |")?.0.split_once("]["));
    let page = |(title, name): (&str, &str)| Page {
        name: name.to_owned(),
        title: title.to_owned(),
    };
    links.map(page).collect()
}

/// A page of the guide as it has to be, with its links.
#[must_use]
pub fn linked_page(name: &str, text: &str, pages: &[Page]) -> String {
    let body = body(text);
    let neighbours = neighbours(name, pages);
    let labels = labels(&format!("{body}{neighbours}"), pages);
    let mut page = format!("{body}\n{FOOT}\n");
    if !neighbours.is_empty() {
        page += &format!("\n---\n\n{neighbours}\n");
    }
    page += "\n";
    for label in labels {
        let (target, anchor) = parts(&label);
        page += &format!("[{label}]: {}{anchor}\n", file(target));
    }
    page
}

/// The definitions that stand before a page in rustdoc, for all of these texts. It has no files beside its pages,
/// so a picture is in its link; `picture` reads one.
#[must_use]
pub fn rustdoc_links<'t>(
    texts: impl Iterator<Item = &'t str>,
    pages: &[Page],
    picture: impl Fn(&str) -> String,
) -> String {
    let labels: BTreeSet<_> = texts.flat_map(|text| labels(text, pages)).collect();
    let definition = |label: &String| {
        let (target, anchor) = parts(label);
        let link = match target.ends_with(".svg") {
            true => data_link(&picture(target)),
            false => module(target),
        };
        format!("[{label}]: {link}{anchor}\n")
    };
    labels.iter().map(definition).collect()
}

/// A link that is the picture itself.
fn data_link(svg: &str) -> String {
    let mut link = "data:image/svg+xml,".to_owned();
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'/'
            | b':'
            | b'='
            | b','
            | b';' => {
                link.push(byte.into());
            }
            other => link += &format!("%{other:02X}"),
        }
    }
    link
}

/// The file `llms.txt`: the guide's list with the paths of its pages.
#[must_use]
pub fn llms_txt(list: &str) -> String {
    let mut text = LLMS.to_owned();
    for line in body(list).lines() {
        if let Some(group) = line.strip_prefix("# ") {
            text += &format!("\n## {group}\n\n");
        }
        let row = line
            .strip_prefix("| [")
            .and_then(|row| row.split_once("]["));
        let Some((title, rest)) = row else { continue };
        let Some((name, told)) = rest.split_once("] | ") else {
            continue;
        };
        let told = told.trim_end_matches(" |");
        text += &format!("- [{title}]({FILES}/{name}.md): {told}\n");
    }
    text
}

/// A README whose definitions lead to the target; `root` is the path from it to the repository's root.
#[must_use]
pub fn turned(readme: &str, root: &str, target: Target) -> String {
    let line = |line: &str| {
        let turned = line.split_once("]: ").map(|(label, link)| {
            let link = turned_link(link, root, target).unwrap_or_else(|| link.to_owned());
            format!("{label}]: {link}")
        });
        turned.unwrap_or_else(|| line.to_owned()) + "\n"
    };
    readme.lines().map(line).collect()
}

/// The link in this form, if it leads to the guide or to the docs of a crate.
fn turned_link(link: &str, root: &str, target: Target) -> Option<String> {
    let files = format!("{root}{FILES}/");
    for (file, docs) in CRATES {
        let file = format!("{root}{file}");
        if link == file || link == docs {
            return Some(if target == Target::Files {
                file
            } else {
                docs.to_owned()
            });
        }
    }
    let (link, anchor) = parts(link);
    let page = match link.strip_prefix(&files) {
        Some(file) => file.strip_suffix(".md")?.replace("README", ""),
        None => link
            .strip_prefix(PUBLISHED)?
            .strip_suffix("index.html")?
            .replace('/', ""),
    };
    Some(match target {
        Target::Files if page.is_empty() => format!("{files}README.md{anchor}"),
        Target::Files => format!("{files}{page}.md{anchor}"),
        Target::DocsRs if page.is_empty() => format!("{PUBLISHED}index.html{anchor}"),
        Target::DocsRs => format!("{PUBLISHED}{page}/index.html{anchor}"),
    })
}

/// A page without the part that is written here, and with labels in place of paths to pages and derives.
fn body(page: &str) -> String {
    let text = page.split(FOOT).next().unwrap_or(page);
    let mut body = text.trim_end().to_owned() + "\n";
    for (path, label) in [
        ("](crate::guide::", "]["),
        ("](crate::guide)", "][guide)"),
        ("](macro@crate::Bucket", "][derive(Bucket)"),
        ("](macro@crate::Outlier", "][derive(Outlier)"),
    ] {
        let mut texts = body.split(path);
        let mut replaced = texts.next().unwrap_or_default().to_owned();
        for text in texts {
            replaced += label;
            replaced += &text.replacen(')', "]", 1);
        }
        body = replaced;
    }
    body
}

/// The links to the page before, the list, and the page after.
fn neighbours(name: &str, pages: &[Page]) -> String {
    let Some(place) = pages.iter().position(|page| page.name == name) else {
        return String::new();
    };
    let link = |page: &Page| format!("[{}][{}]", page.title, page.name);
    let before = place.checked_sub(1).map(|before| &pages[before]);
    let before = before.map(|page| format!("← {} · ", link(page)));
    let after = pages.get(place + 1);
    let after = after.map(|page| format!(" · {} →", link(page)));
    before.unwrap_or_default() + "[The guide][guide]" + &after.unwrap_or_default()
}

/// The labels of pages and derives that a text uses.
fn labels(text: &str, pages: &[Page]) -> BTreeSet<String> {
    let used = text.split("][").skip(1);
    let used = used.filter_map(|text| Some(text.split_once(']')?.0));
    let is_page = |target: &str| pages.iter().any(|page| page.name == target);
    let is_ours = |label: &&str| {
        let target = parts(label).0;
        is_page(target) || OTHERS.contains(&target) || target.ends_with(".svg")
    };
    used.filter(is_ours).map(str::to_owned).collect()
}

/// A label's page, and its anchor with the `#`.
fn parts(label: &str) -> (&str, &str) {
    label.split_at(label.find('#').unwrap_or(label.len()))
}

/// The file that a page or a derive is described in, as seen from the guide.
fn file(target: &str) -> String {
    match target {
        "guide" => "README.md".to_owned(),
        "derive(Bucket)" => "../docs/bucket.md".to_owned(),
        "derive(Outlier)" => "../docs/outlier.md".to_owned(),
        picture if picture.ends_with(".svg") => picture.to_owned(),
        page => format!("{page}.md"),
    }
}

/// The path of a page or a derive, as rustdoc knows it.
fn module(target: &str) -> String {
    match target {
        "guide" => "crate::guide".to_owned(),
        "derive(Bucket)" => "macro@crate::Bucket".to_owned(),
        "derive(Outlier)" => "macro@crate::Outlier".to_owned(),
        page => format!("crate::guide::{page}"),
    }
}
