//! The links of the READMEs and of the guide.

use std::{collections::BTreeSet, path::Path};

use bucket_tests::links::{
    Page, READMES, Target, linked_page, llms_txt, pages, rustdoc_links, turned,
};

use super::{between, page, text};

/// The texts with links to other files, besides the READMEs and the guide.
const TEXTS: [&str; 5] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "llms.txt",
    "skills/bucket-runtime/SKILL.md",
];

/// The guide's pages, in order.
fn guide_pages() -> Vec<Page> {
    pages(&text("bucket-runtime/src/guide/README.md"))
}

#[test]
fn every_page_of_the_guide_is_a_module_and_stands_in_the_readme() {
    let listed = BTreeSet::from_iter(guide_pages().into_iter().map(|page| page.name));
    let guide = text("bucket-runtime/src/guide.rs");
    let modules = between(&guide, "\npages! {\n", "\n}")[0].lines();
    let modules = modules.map(str::trim).filter(|line| !line.starts_with('#'));
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
    assert!(text("llms.txt") == llms_txt(&page("README")), "{command}");
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
