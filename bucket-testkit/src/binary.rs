//! Decides which mongod or mongos to run.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::choice::Version;
use crate::error::{Error, Result};
use crate::fetch::{self, Release};

/// A program of MongoDB's on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    /// The folder of the shared libraries that were fetched with it.
    pub(crate) libraries: Option<PathBuf>,
    /// The remedy when the program does not run; completes "do this, or …".
    pub(crate) ways_out: &'static str,
}

impl Binary {
    fn installed(path: PathBuf) -> Self {
        Self {
            path,
            libraries: None,
            ways_out: fetch::USUAL_WAYS_OUT,
        }
    }

    fn fetched(release: &Release, folder: &Path, name: &str) -> Self {
        let libraries = folder.join("lib");
        Self {
            path: folder.join(name),
            libraries: libraries.is_dir().then_some(libraries),
            ways_out: release.ways_out,
        }
    }
}

/// The mongod of a version. The usual version is that of `MONGOD`, of the
/// mongod on `PATH`, or the fetched one.
pub(crate) async fn mongod(version: Version) -> Result<Binary> {
    match version {
        Version::Usual => {
            let named = env::var_os("MONGOD").filter(|value| !value.is_empty());
            match choose(named.as_deref(), env::var_os("PATH").as_deref())? {
                Some(path) if cfg!(unix) => Ok(Binary::installed(path)),
                _ => fetched(fetch::usual()?, "mongod").await,
            }
        }
        Version::V8_2 => fetched(fetch::v8_2()?, "mongod").await,
    }
}

/// The mongos of 8.2.0.
pub(crate) async fn mongos() -> Result<Binary> {
    fetched(fetch::v8_2()?, "mongos").await
}

async fn fetched(release: &'static Release, name: &str) -> Result<Binary> {
    // A download takes long, and so does unpacking: neither may hold up other
    // tasks of the runtime.
    let folder = tokio::task::spawn_blocking(|| fetch::cached_or_fetched(release))
        .await
        .map_err(|error| Error::caused("fetching MongoDB", error))??;
    Ok(Binary::fetched(release, &folder, name))
}

/// An installed mongod, if there is one.
///
/// A `MONGOD` that leads nowhere is an error, since the user wants that one and
/// no other.
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

/// Makes the path absolute, since the server starts in another working
/// directory.
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
