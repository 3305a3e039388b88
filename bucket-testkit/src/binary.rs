//! Which mongod to run.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fetch;

/// What to do when there is no mongod to be had; several errors end in it.
pub(crate) const WAYS_OUT: &str = "set MONGOD to the path of a mongod, put one on PATH, \
     or set MONGODB_URI to a replica set that is running already";

/// The path of a mongod: that of `MONGOD`, one on `PATH`, or the fetched one.
pub(crate) async fn find() -> Result<PathBuf> {
    if !cfg!(unix) {
        return Err(Error::new(
            "servers are started on Unix only: set MONGODB_URI to a replica set that is running",
        ));
    }
    let named = env::var_os("MONGOD").filter(|value| !value.is_empty());
    if let Some(path) = choose(named.as_deref(), env::var_os("PATH").as_deref())? {
        return Ok(path);
    }
    // A download takes long, and so does unpacking: neither may hold up the
    // other tasks of the runtime.
    tokio::task::spawn_blocking(fetch::cached_or_fetched)
        .await
        .map_err(|error| Error::caused("fetching mongod", error))?
}

/// A mongod that is installed, if there is one.
///
/// A `MONGOD` that leads nowhere is an error, since whoever set it wants that
/// one and no other.
fn choose(named: Option<&OsStr>, search: Option<&OsStr>) -> Result<Option<PathBuf>> {
    if let Some(named) = named {
        let path = absolute(Path::new(named))?;
        return if is_executable(&path) {
            Ok(Some(path))
        } else {
            Err(Error::new(format!(
                "MONGOD is set to `{}`, which is not an executable file",
                path.display()
            )))
        };
    }
    search
        .into_iter()
        .flat_map(env::split_paths)
        .map(|folder| folder.join("mongod"))
        .find(|path| is_executable(path))
        .map(|path| absolute(&path))
        .transpose()
}

/// The server is started from another working directory than ours.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Error::caused(format!("resolving `{}`", path.display()), error))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folder_with_mongod(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("mongod");
        fs::write(&path, "").expect("an empty file");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("its mode");
        folder
    }

    #[test]
    fn the_named_one_comes_before_the_path() {
        let (named, other) = (folder_with_mongod(0o755), folder_with_mongod(0o755));
        let named = named.path().join("mongod");
        let chosen = choose(Some(named.as_os_str()), Some(other.path().as_os_str()));
        assert_eq!(chosen.expect("a choice"), Some(named));
    }

    #[test]
    fn the_path_is_searched_for_an_executable() {
        let (plain, good) = (folder_with_mongod(0o644), folder_with_mongod(0o755));
        let search = env::join_paths([plain.path(), good.path()]).expect("a search path");
        let chosen = choose(None, Some(&search)).expect("a choice");
        assert_eq!(chosen, Some(good.path().join("mongod")));
    }

    #[test]
    fn a_name_that_leads_nowhere_is_an_error() {
        let error = choose(Some(OsStr::new("/no/such/mongod")), None).expect_err("no such file");
        assert!(error.to_string().contains("/no/such/mongod"), "{error}");
    }

    #[test]
    fn nothing_installed_is_not_an_error() {
        assert_eq!(choose(None, None).expect("no choice"), None);
    }
}
