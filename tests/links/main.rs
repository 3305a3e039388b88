//! Writes the links of the docs: `links` those between the guides' pages, `links files` and `links docs.rs` also
//! those of the READMEs, to the files of the repository or to the published docs.

use std::{env, fs, io, path::Path, process::ExitCode};

use bucket_tests::links::{
    Guide, PACKAGES, READMES, Target, linked_page, llms_full_txt, llms_txt, rustdoc_links, turned,
};

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
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let guide = |package| Guide::new(package, read(&format!("{package}/src/guide/README.md")));
    let guides = PACKAGES.map(guide);
    for guide in &guides {
        write_guide(&root, guide, &guides)?;
    }
    fs::write(root.join("llms.txt"), llms_txt(&guides))?;
    fs::write(root.join("llms-full.txt"), llms_full_txt(&guides, read))?;
    for (readme, to_root) in READMES {
        let Some(target) = target else { break };
        let path = root.join(readme);
        let text = fs::read_to_string(&path)?;
        fs::write(path, turned(&text, to_root, target))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_guide(root: &Path, guide: &Guide, guides: &[Guide]) -> io::Result<()> {
    let folder = root.join(guide.files());
    let mut texts = Vec::new();
    for name in guide.pages.iter().map(|page| &*page.name).chain(["README"]) {
        let path = folder.join(name).with_extension("md");
        let text = linked_page(name, &fs::read_to_string(&path)?, guide, guides);
        fs::write(path, &text)?;
        texts.push(text);
    }
    let picture = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let links = rustdoc_links(texts.iter().map(String::as_str), guide, guides, picture);
    fs::write(folder.join("links.md"), links)
}
