//! One server process: its port, its signals, and when it accepts connections.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::binary::Binary;
use crate::error::{Error, Result};
use crate::failure;
use crate::recipe::Recipe;
use crate::watchdog::Watchdog;

/// The time limit for any step. Generous, since machines that run tests are
/// busy; nobody waits that long unless something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two checks of something that takes fractions of a second.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Below the ports that Linux and macOS give to outgoing connections: such a
/// connection could take the port of a member that is down, and a client that
/// tries to reach that member could even connect to itself.
const PORTS: Range<u16> = 20_000..32_000;

/// How often a port may turn out to be taken.
const PORT_TRIES: usize = 10;

/// A mongod or mongos that we started. Dropping this value ends it and removes
/// its folder.
pub(crate) struct Process {
    watchdog: Watchdog,
    binary: Binary,
    port: u16,
}

impl Process {
    /// Returns once the process accepts connections; a mongod has no replica
    /// set config yet.
    pub(crate) async fn start(recipe: &Recipe) -> Result<Self> {
        let mut tries = 1;
        loop {
            let process = Self::new(recipe)?;
            match process.launch().await {
                Ok(()) => return Ok(process),
                // Another process took the port after we had checked it.
                Err(_) if tries < PORT_TRIES && process.found_port_taken() => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn new(recipe: &Recipe) -> Result<Self> {
        let doing = "making a temporary folder for a server";
        let folder = tempfile::Builder::new()
            .prefix("bucket-testkit-")
            .tempdir()
            .map_err(|error| Error::caused(doing, error))?;
        // A mongos leaves the folder empty.
        fs::create_dir(folder.path().join("data")).map_err(|error| Error::caused(doing, error))?;
        let Some(path) = folder.path().to_str() else {
            return Err(Error::new(format!(
                "the path of the temporary folder is not UTF-8: {}",
                folder.path().display()
            )));
        };
        let port = free_port()?;
        let arguments = recipe.arguments(path, port);
        Ok(Self {
            watchdog: Watchdog::new(folder, recipe.binary(), &arguments)?,
            binary: recipe.binary().clone(),
            port,
        })
    }

    /// Starts the program and returns once it accepts connections.
    pub(crate) async fn launch(&self) -> Result<()> {
        self.watchdog.launch()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            // Read the log instead of trying the port, since another process
            // may have the port. This wording is as old as mongod.
            if self.log().contains("aiting for connections") {
                return Ok(());
            }
            if let Some(status) = self.watchdog.exit_status() {
                let output = self.watchdog.output();
                return Err(failure::exited(&self.binary, status, &output, &self.log()));
            }
            if Instant::now() > deadline {
                return Err(self.late("does not accept connections"));
            }
            sleep(PAUSE).await;
        }
    }

    /// The error when the process runs, but is not ready in time.
    pub(crate) fn late(&self, what: &str) -> Error {
        failure::late(&self.binary.path, what, PATIENCE, &self.log())
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.watchdog.pid()
    }

    /// Sends a signal, named as the shell does (`KILL`, `STOP`, `CONT`).
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let address = self.address();
        let ended = || Error::new(format!("the server at {address} is not running"));
        let pid = self.pid().ok_or_else(ended)?;
        // Every shell has `kill`, but not every system has it as a program.
        let sent = Command::new("/bin/sh")
            .args(["-c", "kill -\"$1\" \"$2\"", "kill", name, &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // If it fails, the process has just ended by itself, though its watchdog may not have said so yet.
        sent.map(drop)
            .map_err(|error| Error::caused(format!("kill -{name} {pid}"), error))
    }

    /// Kills the process and returns once it is gone; its data stays.
    pub(crate) async fn kill(&self) -> Result<()> {
        self.signal("KILL")?;
        let deadline = Instant::now() + PATIENCE;
        while self.watchdog.exit_status().is_none() {
            if Instant::now() > deadline {
                return Err(self.late("does not end though it was killed"));
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    fn log(&self) -> String {
        fs::read(self.watchdog.folder().join("log"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    fn found_port_taken(&self) -> bool {
        self.watchdog.exit_status().is_some() && self.log().contains("Address already in use")
    }
}

/// Gives no port twice: that of a member which is down is free until it is restarted.
fn free_port() -> Result<u16> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let Range { start, end } = PORTS;
    let width = u64::from(end - start);
    for _ in 0..1000 {
        let offset = u16::try_from(random() % width).unwrap_or_default();
        let port = start + offset;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() && given.insert(port) {
            return Ok(port);
        }
    }
    let none = format!("found no free port between {start} and {end}");
    Err(Error::new(none))
}

/// Random enough for names and ports: each `RandomState` has its own keys.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
