//! The links of the docs. `cargo run --package bucket-tests --bin links` writes them, and the test `docs`
//! compares them.
//!
//! A page of a guide is read in two places. As a file it links to other files, by definitions at its end. In
//! rustdoc it links to modules, by the definitions of `guide/links.md`, which come first there: of two
//! definitions of a label Markdown takes the first.

use std::collections::BTreeSet;

/// The line between a page and the part of it that is written here.
const FOOT: &str = "<!-- Written by `cargo run --package bucket-tests --bin links`: -->";

/// The packages that have a guide, the one of applications first.
pub const PACKAGES: [&str; 2] = ["bucket-runtime", "bucket-ops"];

/// What describes a crate in the repository, and its published docs.
const CRATES: [(&str, &str); 2] = [
    ("README.md", "https://docs.rs/bucket-runtime"),
    (
        "bucket-testkit/src/lib.rs",
        "https://docs.rs/bucket-testkit",
    ),
];

/// The READMEs that link to a guide, each with the path from it to the repository's root.
pub const READMES: [(&str, &str); 6] = [
    ("README.md", ""),
    ("bucket-advise/README.md", "../"),
    ("bucket-cli/README.md", "../"),
    ("bucket-derive/README.md", "../"),
    ("bucket-ops/README.md", "../"),
    ("bucket-testkit/README.md", "../"),
];

/// The attributes of the derives, which `llms-full.txt` begins with.
pub const ATTRIBUTES: [&str; 2] = [
    "bucket-runtime/src/docs/bucket.md",
    "bucket-runtime/src/docs/outlier.md",
];

/// The beginning of `llms.txt`.
const LLMS: &str = "\
# bucket-runtime

> MongoDB's bucket pattern and outlier pattern as derives for Rust: an annotated struct is checked by the compiler, and a
> runtime on the official driver stores and reads its items, safely beside any number of other writers.

Begin with the skill, which fits on two screens: what to choose, code that compiles, and what not to do.
`llms-full.txt` has all pages in one file.

- [Skill](skills/bucket-runtime/SKILL.md): how to model a series or a growing array
- [Attributes of Bucket](bucket-runtime/src/docs/bucket.md): all of them
- [Attributes of Outlier](bucket-runtime/src/docs/outlier.md): all of them
- [FAQ](FAQ.md): ten questions that people ask
";

/// A page of a guide, as its list names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The name of its module and its file.
    pub name: String,
    /// The text of links to it.
    pub title: String,
}

/// The guide of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guide {
    /// The package whose docs it is a part of.
    pub package: String,
    /// The text of its `README.md`.
    pub list: String,
    /// Its pages, in order.
    pub pages: Vec<Page>,
}

impl Guide {
    /// The guide of a package, by the text of its list.
    #[must_use]
    pub fn new(package: &str, list: String) -> Self {
        Self {
            package: package.to_owned(),
            pages: pages(&list),
            list,
        }
    }

    /// The folder of its pages in the repository.
    #[must_use]
    pub fn files(&self) -> String {
        files(&self.package)
    }

    fn has(&self, page: &str) -> bool {
        self.pages.iter().any(|it| it.name == page)
    }
}

/// Where the links of a README lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// To the files of the repository.
    Files,
    /// To the published docs.
    DocsRs,
}

/// What the label of a link in a page stands for.
enum Named<'l> {
    /// The list of this guide.
    List(&'l Guide),
    /// A page of this guide.
    Page(&'l Guide, &'l str),
    /// A derive of the runtime.
    Derive(&'l str),
    /// A picture beside the page.
    Picture(&'l str),
}

/// The folder of a package's guide.
fn files(package: &str) -> String {
    format!("{package}/src/guide")
}

/// The guide of a package in the published docs.
fn published(package: &str) -> String {
    let module = package.replace('-', "_");
    format!("https://docs.rs/{package}/latest/{module}/guide/")
}

/// The pages in the order of the guide's list, whose rows begin with `| [title][name] |`.
fn pages(list: &str) -> Vec<Page> {
    let rows = list.lines().filter_map(|line| line.strip_prefix("| ["));
    let links = rows.filter_map(|row| row.split_once("] |")?.0.split_once("]["));
    let page = |(title, name): (&str, &str)| Page {
        name: name.to_owned(),
        title: title.to_owned(),
    };
    links.map(page).collect()
}

/// A page of a guide as it has to be, with its links.
#[must_use]
pub fn linked_page(name: &str, text: &str, guide: &Guide, guides: &[Guide]) -> String {
    let body = body(text);
    let neighbours = neighbours(name, &guide.pages);
    let mut page = format!("{body}\n{FOOT}\n");
    if !neighbours.is_empty() {
        page += &format!("\n---\n\n{neighbours}\n");
    }
    page += "\n";
    for label in labels(&format!("{body}{neighbours}"), guide, guides) {
        if let Some(named) = named(&label, guide, guides) {
            let anchor = parts(&label).1;
            page += &format!("[{label}]: {}{anchor}\n", file(&named, guide));
        }
    }
    page
}

/// The definitions that stand before a page in rustdoc, for all of these texts. It has no files beside its pages,
/// so a picture is in its link; `picture` reads one.
#[must_use]
pub fn rustdoc_links<'t>(
    texts: impl Iterator<Item = &'t str>,
    guide: &Guide,
    guides: &[Guide],
    picture: impl Fn(&str) -> String,
) -> String {
    let labels: BTreeSet<_> = texts.flat_map(|text| labels(text, guide, guides)).collect();
    let definition = |label: &String| {
        let anchor = parts(label).1;
        let link = match named(label, guide, guides)? {
            Named::Picture(name) => data_link(&picture(name)),
            named => module(&named, guide),
        };
        Some(format!("[{label}]: {link}{anchor}\n"))
    };
    labels.iter().filter_map(definition).collect()
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

/// The file `llms.txt`: the guides' lists with the paths of their pages.
#[must_use]
pub fn llms_txt(guides: &[Guide]) -> String {
    let mut text = LLMS.to_owned();
    for guide in guides {
        let files = guide.files();
        for line in body(&guide.list).lines() {
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
            text += &format!("- [{title}]({files}/{name}.md): {told}\n");
        }
    }
    text
}

/// The file `llms-full.txt`: the attributes and all pages, each below the path of its file; `read` reads one.
#[must_use]
pub fn llms_full_txt(guides: &[Guide], read: impl Fn(&str) -> String) -> String {
    let pages = guides.iter().flat_map(|guide| {
        let path = |page: &Page| format!("{}/{}.md", guide.files(), page.name);
        guide.pages.iter().map(path)
    });
    let mut text = LLMS.split("\n\n").take(2).collect::<Vec<_>>().join("\n\n") + "\n";
    for path in ATTRIBUTES.into_iter().map(str::to_owned).chain(pages) {
        text += &format!("\n<!-- {path} -->\n\n{}", body(&read(&path)));
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

/// The link in this form, if it leads to a guide or to the docs of a crate.
fn turned_link(link: &str, root: &str, target: Target) -> Option<String> {
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
    PACKAGES
        .iter()
        .find_map(|package| turned_to_guide(link, package, root, target))
}

/// The link in this form, if it leads to the guide of this package.
fn turned_to_guide(link: &str, package: &str, root: &str, target: Target) -> Option<String> {
    let (files, published) = (format!("{root}{}/", files(package)), published(package));
    let (link, anchor) = parts(link);
    let page = match link.strip_prefix(&files) {
        Some(file) => file.strip_suffix(".md")?.replace("README", ""),
        None => link
            .strip_prefix(&published)?
            .strip_suffix("index.html")?
            .replace('/', ""),
    };
    Some(match target {
        Target::Files if page.is_empty() => format!("{files}README.md{anchor}"),
        Target::Files => format!("{files}{page}.md{anchor}"),
        Target::DocsRs if page.is_empty() => format!("{published}index.html{anchor}"),
        Target::DocsRs => format!("{published}{page}/index.html{anchor}"),
    })
}

/// A page without the part that is written here, and with labels in place of paths to pages and derives.
fn body(page: &str) -> String {
    let text = page.split(FOOT).next().unwrap_or(page);
    let mut body = text.trim_end().to_owned() + "\n";
    for (path, label) in [
        ("](crate::guide::", "]["),
        ("](bucket_runtime::guide::", "]["),
        ("](crate::guide)", "][guide)"),
        ("](macro@crate::Bucket", "][derive(Bucket)"),
        ("](macro@crate::Outlier", "][derive(Outlier)"),
        ("](macro@bucket_runtime::Bucket", "][derive(Bucket)"),
        ("](macro@bucket_runtime::Outlier", "][derive(Outlier)"),
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

/// The labels of pages, derives and pictures that a text uses.
fn labels(text: &str, guide: &Guide, guides: &[Guide]) -> BTreeSet<String> {
    let used = text.split("][").skip(1);
    let used = used.filter_map(|text| Some(text.split_once(']')?.0));
    let is_ours = |label: &&str| named(label, guide, guides).is_some();
    used.filter(is_ours).map(str::to_owned).collect()
}

/// What a label in a page of this guide stands for.
fn named<'l>(label: &'l str, guide: &'l Guide, guides: &'l [Guide]) -> Option<Named<'l>> {
    let name = parts(label).0;
    if let Some(package) = name.strip_prefix("guide of ") {
        let of = guides.iter().find(|it| it.package == package)?;
        return Some(Named::List(of));
    }
    match name {
        "guide" => Some(Named::List(guide)),
        "derive(Bucket)" => Some(Named::Derive("Bucket")),
        "derive(Outlier)" => Some(Named::Derive("Outlier")),
        picture if picture.ends_with(".svg") => Some(Named::Picture(picture)),
        page => {
            let of = guides.iter().find(|it| it.has(page))?;
            Some(Named::Page(of, page))
        }
    }
}

/// A label's page, and its anchor with the `#`.
fn parts(label: &str) -> (&str, &str) {
    label.split_at(label.find('#').unwrap_or(label.len()))
}

/// The file that describes it, as seen from this guide.
fn file(named: &Named<'_>, guide: &Guide) -> String {
    let folder = |of: &Guide| match of.package == guide.package {
        true => String::new(),
        false => format!("../../../{}/", of.files()),
    };
    match *named {
        Named::List(of) => folder(of) + "README.md",
        Named::Page(of, page) => format!("{}{page}.md", folder(of)),
        Named::Derive(name) if guide.package == PACKAGES[0] => {
            format!("../docs/{}.md", name.to_lowercase())
        }
        Named::Derive(name) => {
            let name = name.to_lowercase();
            format!("../../../{}/src/docs/{name}.md", PACKAGES[0])
        }
        Named::Picture(name) => name.to_owned(),
    }
}

/// Its path, as rustdoc knows it in the docs of this guide's crate. A crate above it is known by its published docs.
fn module(named: &Named<'_>, guide: &Guide) -> String {
    let is_first = guide.package == PACKAGES[0];
    let of_runtime = if is_first { "crate" } else { "bucket_runtime" };
    let list = |of: &Guide| match of.package == guide.package {
        true => "crate::guide".to_owned(),
        false if is_first => published(&of.package),
        false => format!("{of_runtime}::guide"),
    };
    match *named {
        Named::List(of) => list(of),
        Named::Page(of, page) => match list(of) {
            url if url.ends_with('/') => format!("{url}{page}/index.html"),
            path => format!("{path}::{page}"),
        },
        Named::Derive(name) => format!("macro@{of_runtime}::{name}"),
        Named::Picture(name) => name.to_owned(),
    }
}
