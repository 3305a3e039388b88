//! The links of the READMEs and of the guides.

use std::{collections::BTreeSet, fs, path::Path};

use bucket_tests::links::{
    Guide, PACKAGES, Page, READMES, Target, linked_page, llms_full_txt, llms_txt, rustdoc_links,
    turned,
};

use super::{between, text};

/// The texts with links to other files, besides the READMEs and the guides.
const TEXTS: [&str; 10] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "FAQ.md",
    "ROADMAP.md",
    "SECURITY.md",
    "benches/README.md",
    "docs/proof.md",
    "llms.txt",
    "skills/bucket-runtime/SKILL.md",
];

/// The pages that the runtime's guide may have, with its list and its links.
const PAGES: usize = 26;

fn guides() -> [Guide; 2] {
    PACKAGES.map(|package| Guide::new(package, text(&format!("{package}/src/guide/README.md"))))
}

/// The names of a guide's files, each with its text.
fn texts(guide: &Guide) -> Vec<(&str, String)> {
    let names = guide.pages.iter().map(|page| &*page.name).chain(["README"]);
    let text = |name| (name, text(&format!("{}/{name}.md", guide.files())));
    names.map(text).collect()
}

#[test]
fn every_page_of_a_guide_is_a_module_and_stands_in_the_readme() {
    let readme = turned(&text("README.md"), "", Target::Files);
    for guide in guides() {
        let listed = guide.pages.iter().map(|page| &*page.name);
        let wiring = text(&format!("{}.rs", guide.files()));
        let modules = between(&wiring, "\npages! {\n", "\n}")[0].lines();
        let modules = modules.map(str::trim).filter(|line| !line.starts_with('#'));
        let testing = wiring.contains("pub mod testing {}").then_some("testing");
        assert_eq!(
            BTreeSet::from_iter(modules.chain(testing)),
            BTreeSet::from_iter(listed)
        );
        for Page { name, title } in &guide.pages {
            let definition = format!("\n[{title}]: {}/{name}.md", guide.files());
            assert!(readme.contains(&definition), "{definition}");
            assert!(readme.matches(&format!("[{title}]")).count() > 1, "{title}");
        }
    }
}

/// Whoever is new reads them one by one.
#[test]
fn the_guide_of_applications_is_short() {
    let [guide, _] = guides();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(guide.files());
    let files = fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let pages = Vec::from_iter(names.filter(|name| name.ends_with(".md")));
    assert!(pages.len() <= PAGES, "{} pages: {pages:?}", pages.len());
}

#[test]
fn links_between_pages_are_written() {
    let command = "run `cargo run --package bucket-tests --bin links`";
    let guides = guides();
    for guide in &guides {
        let texts = texts(guide);
        for (name, text) in &texts {
            let linked = linked_page(name, text, guide, &guides);
            assert!(*text == linked, "{name}: {command}");
        }
        let texts = texts.iter().map(|(_, text)| text.as_str());
        let file = |name: &str| text(&format!("{}/{name}", guide.files()));
        let links = rustdoc_links(texts, guide, &guides, file);
        assert!(file("links.md") == links, "{command}");
    }
    assert!(text("llms.txt") == llms_txt(&guides), "{command}");
    let full = llms_full_txt(&guides, text);
    assert!(text("llms-full.txt") == full, "{command}");
}

/// The pages refer to each other in the order of the list.
#[test]
fn a_page_leads_to_its_neighbours() {
    for guide in guides() {
        let page = |page: &Page| text(&format!("{}/{}.md", guide.files(), page.name));
        for pair in guide.pages.windows(2) {
            let [first, second] = [&pair[0], &pair[1]];
            let forth = format!(" · [{}][{}] →", second.title, second.name);
            assert!(page(first).contains(&forth), "{}", first.name);
            let back = format!("\n← [{}][{}] · ", first.title, first.name);
            assert!(page(second).contains(&back), "{}", second.name);
        }
    }
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
    let guides = guides();
    let pages = guides.iter().flat_map(|guide| {
        let names = texts(guide).into_iter().map(|(name, _)| name);
        names.map(|name| format!("{}/{name}.md", guide.files()))
    });
    let readmes = READMES.map(|(path, _)| path.to_owned());
    let files = pages.chain(readmes).chain(TEXTS.map(str::to_owned));
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
