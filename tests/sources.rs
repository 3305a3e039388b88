//! The sources of a crate, for the tests that read them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folder `src` of a package.
pub(crate) fn of_package(package: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(package).join("src")
}

/// All Rust files of a folder, and of the folders in it.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "rs");
    files(folder).into_iter().filter(is_source).collect()
}

/// All files of a folder, and of the folders in it, but for those that cargo and git keep.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true if path.ends_with("target") || path.ends_with(".git") => Vec::new(),
        true => files(&path),
        false => vec![path],
    });
    files.collect()
}

/// A source without its unit tests and its comments.
pub(crate) fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}
