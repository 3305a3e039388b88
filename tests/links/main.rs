//! Writes the links of the docs: `links` those between the guide's pages, `links files` and `links docs.rs` also
//! those of the READMEs, to the files of the repository or to the published docs.

use std::{env, fs, io, path::Path, process::ExitCode};

use bucket_tests::links::{READMES, Target, linked_page, llms_txt, pages, rustdoc_links, turned};

fn main() -> io::Result<ExitCode> {
    let target = match env::args().nth(1).as_deref() {
        None => None,
        Some("files") => Some(Target::Files),
        Some("docs.rs") => Some(Target::DocsRs),
        Some(other) => {
            eprintln!("no target `{other}`: write `links`, `links files` or `links docs.rs`");
            return Ok(ExitCode::FAILURE);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guide = root.join("bucket-runtime/src/guide");
    write_guide(&guide)?;
    let list = fs::read_to_string(guide.join("README.md"))?;
    fs::write(root.join("llms.txt"), llms_txt(&list))?;
    for (readme, to_root) in READMES {
        let Some(target) = target else { break };
        let path = root.join(readme);
        let text = fs::read_to_string(&path)?;
        fs::write(path, turned(&text, to_root, target))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_guide(guide: &Path) -> io::Result<()> {
    let pages = pages(&fs::read_to_string(guide.join("README.md"))?);
    let mut texts = Vec::new();
    for name in pages.iter().map(|page| &*page.name).chain(["README"]) {
        let path = guide.join(name).with_extension("md");
        let text = linked_page(name, &fs::read_to_string(&path)?, &pages);
        fs::write(path, &text)?;
        texts.push(text);
    }
    let picture = |name: &str| fs::read_to_string(guide.join(name)).unwrap_or_default();
    let links = rustdoc_links(texts.iter().map(String::as_str), &pages, picture);
    fs::write(guide.join("links.md"), links)
}
