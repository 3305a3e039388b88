//! Writes a file whole, or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::refusal::Refusal;

/// Whether there can be a file of this name; to be asked before a long reading.
pub(super) fn check(path: &Path) -> Result<(), Refusal> {
    let shown = path.display();
    if path.is_dir() || path.file_name().is_none() {
        return Err(Refusal::usage(format!("{shown} is not the name of a file")));
    }
    match folder(path).is_dir() {
        true => Ok(()),
        false => Err(Refusal::usage(format!(
            "{shown} cannot be written: there is no folder {}",
            folder(path).display()
        ))),
    }
}

/// Writes the file under a name beside its own, and renames it once it is whole.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Refusal> {
    let half = half(path);
    let written = write_new(&half, text).and_then(|()| fs::rename(&half, path));
    written.map_err(|error| {
        // If nothing was created, there is nothing to remove.
        let _ = fs::remove_file(&half);
        Refusal::failed(format!("{} cannot be written: {error}", path.display()))
    })
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A hidden name of this process's own.
fn half(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}
