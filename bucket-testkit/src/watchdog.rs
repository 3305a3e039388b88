//! The process that outlives the owner for a moment.
//!
//! A destructor does not run when its process is killed, aborts, or exits while
//! the value is in a `static`. But the kernel closes a pipe in every case, so a
//! shell waits for the end of one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::binary::Binary;
use crate::error::{Error, Result};

const SCRIPT: &str = include_str!("watchdog.sh");

/// Guards a folder and the server process that works in it: both are gone soon
/// after this value, or the process that holds it.
pub(crate) struct Watchdog {
    folder: PathBuf,
    control: Mutex<Control>,
    shell: Option<Child>,
}

struct Control {
    // `Some` until this value is dropped. Closing the pipe is the signal.
    pipe: Option<ChildStdin>,
    launched: bool,
}

impl Watchdog {
    /// Starts a watchdog, and nothing else yet.
    pub(crate) fn new(folder: TempDir, binary: &Binary, arguments: &[String]) -> Result<Self> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "watchdog"])
            .arg(folder.path())
            .arg(binary.libraries.as_deref().unwrap_or(Path::new("")))
            .arg(&binary.path)
            .args(arguments)
            .current_dir("/")
            // mongod refuses to run with a locale that is not installed, and
            // the dynamic linker's messages must be the ones we look for.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            // If it inherited the owner's streams, `cargo test | tail` would
            // wait for it, since a pipe ends when its last writer has gone.
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // Ctrl-C and a CI runner's kill go to the owner's group.
            command.process_group(0);
        }
        let mut shell = command
            .spawn()
            .map_err(|error| Error::caused("starting /bin/sh", error))?;
        Ok(Self {
            // From here on the shell removes the folder.
            folder: folder.keep(),
            control: Mutex::new(Control {
                pipe: shell.stdin.take(),
                launched: false,
            }),
            shell: Some(shell),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts the program.
    ///
    /// It is an error if the program is running or just starting: the watchdog
    /// knows only the last process id.
    pub(crate) fn launch(&self) -> Result<()> {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        if control.launched && self.exit_status().is_none() {
            return Err(Error::new("this server is running or starting already"));
        }
        for name in ["pid", "exit", "output", "log"] {
            // The files belong to the run before, if there was one.
            let _ = fs::remove_file(self.folder.join(name));
        }
        control.launched = true;
        let start = |pipe: &mut ChildStdin| pipe.write_all(b"start\n");
        (control.pipe.as_mut().map_or(Ok(()), start))
            .map_err(|error| Error::caused("calling the watchdog of a server", error))
    }

    /// The program's process id, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        let pid = self.line("pid")?;
        if self.exit_status().is_some() {
            return None;
        }
        pid.parse().ok()
    }

    /// How the program ended, once it has, as a shell reports it: an exit code,
    /// or 128 plus the number of a signal.
    pub(crate) fn exit_status(&self) -> Option<i32> {
        self.line("exit")?.parse().ok()
    }

    /// The program's output, which is little besides its log.
    pub(crate) fn output(&self) -> String {
        fs::read(self.folder.join("output"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// A file with one line; `None` until that line is complete.
    fn line(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.folder.join(name)).ok()?;
        Some(text.strip_suffix('\n')?.to_owned())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let control = self.control.get_mut();
        drop(control.unwrap_or_else(PoisonError::into_inner).pipe.take());
        if let Some(mut shell) = self.shell.take() {
            // Somebody must collect the shell's status, or the shell stays as a
            // zombie; and a drop in async code must not wait. Without a thread
            // the zombie stays until the owner ends, which is harmless.
            let _ = std::thread::Builder::new().spawn(move || shell.wait());
        }
    }
}
