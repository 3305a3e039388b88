//! Servers end with the process that owns them.
//!
//! The owners are processes of their own: this test binary, told by variables
//! to run nothing but `an_owner`.
#![cfg(unix)]

use std::collections::HashSet;
use std::env;
use std::error::Error;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bucket_testkit::{ReplicaSet, Server};
use mongodb::Client;
use mongodb::bson::doc;
use tokio::sync::OnceCell;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ROLE: &str = "BUCKET_TESTKIT_TEST_ROLE";

/// Not a test, but what the other processes do.
#[tokio::test]
async fn an_owner() -> Outcome {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    let Ok(role) = env::var(ROLE) else {
        return Ok(());
    };
    match role.as_str() {
        "fails" => match Server::start().await {
            Ok(_) => println!("\nstarted"),
            Err(error) => println!("\n{error}"),
        },
        "drops" => {
            let server = Server::start().await?;
            tell(&server.client().await?).await?;
            drop(server);
            until_told_to_go_on();
        }
        "keeps one in a static" => {
            let server = SERVER.get_or_try_init(Server::start).await?;
            tell(&server.client().await?).await?;
            until_told_to_go_on();
        }
        "panics" => {
            let server = Server::start().await?;
            tell(&server.client().await?).await?;
            until_told_to_go_on();
            panic!("as it was told to");
        }
        "has paused one" => {
            let set = ReplicaSet::start(1).await?;
            let client = set.client().await?;
            let member = set.primary().await?;
            tell_after(&client, || member.pause()).await?;
            until_told_to_go_on();
        }
        "has restarted one" => {
            let set = ReplicaSet::start(1).await?;
            let member = set.primary().await?;
            let before = member.pid();
            member.kill().await?;
            member.restart().await?;
            assert_ne!(member.pid(), before);
            tell(&set.client().await?).await?;
            until_told_to_go_on();
        }
        other => panic!("no such role: {other}"),
    }
    Ok(())
}

/// Prints the process id and the folder of the mongod that a client talks to.
async fn tell(client: &Client) -> Outcome {
    tell_after(client, || Ok::<_, Box<dyn Error>>(())).await
}

async fn tell_after<E>(client: &Client, act: impl FnOnce() -> Result<(), E>) -> Outcome
where
    Box<dyn Error>: From<E>,
{
    let admin = client.database("admin");
    let status = admin.run_command(doc! { "serverStatus": 1 }).await?;
    let options = admin.run_command(doc! { "getCmdLineOpts": 1 }).await?;
    let storage = options.get_document("parsed")?.get_document("storage")?;
    let pid = status.get_i64("pid")?;
    let folder = Path::new(storage.get_str("dbPath")?).parent();
    let folder = folder.ok_or("mongod's data has no folder")?;
    act()?;
    // The test harness may have begun a line.
    println!("\nmongod {pid} {}", folder.display());
    Ok(())
}

/// Standard input ends when the test that started this process goes on, or
/// has failed.
fn until_told_to_go_on() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// Starts an owner that starts throw-away servers whatever is configured.
fn owner(role: &str) -> Outcome<Command> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["an_owner", "--exact", "--nocapture"])
        .env(ROLE, role)
        .env_remove("MONGODB_URI")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Ok(command)
}

/// An owner that runs, and what it told about its mongod.
struct Owner {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pid: String,
    folder: String,
}

impl Owner {
    fn start(role: &str) -> Outcome<Self> {
        let mut child = owner(role)?.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut line = String::new();
        loop {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                return Err("the owner ended before it told of its mongod".into());
            }
            if let ["mongod", pid, folder] = line.split_whitespace().collect::<Vec<_>>()[..] {
                return Ok(Self {
                    pid: pid.to_owned(),
                    folder: folder.to_owned(),
                    child,
                    stdout,
                });
            }
        }
    }

    fn assert_mongod_runs(&self) {
        assert!(is_alive(&self.pid));
        assert!(Path::new(&self.folder).is_dir());
    }

    fn wait_until_mongod_is_gone(&self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        while is_alive(&self.pid) || Path::new(&self.folder).exists() {
            assert!(Instant::now() < deadline, "mongod outlives its owner");
            sleep(Duration::from_millis(20));
        }
    }

    fn assert_gone_after_kill(mut self) -> Outcome {
        self.assert_mongod_runs();
        self.child.kill()?;
        self.child.wait()?;
        self.wait_until_mongod_is_gone();
        Ok(())
    }

    /// Nobody but the owner may hold its output open: a `cargo test | tail`
    /// would wait for that.
    fn assert_gone_after_end(mut self) -> Outcome {
        self.assert_mongod_runs();
        drop(self.child.stdin.take());
        self.stdout.read_to_end(&mut Vec::new())?;
        self.child.wait()?;
        self.wait_until_mongod_is_gone();
        Ok(())
    }
}

/// A zombie counts as alive: somebody has to collect its status.
fn is_alive(pid: &str) -> bool {
    Command::new("/bin/sh")
        .args(["-c", "kill -0 \"$1\"", "kill", pid])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_server_goes_when_its_owner_assert_gone_after_kill() -> Outcome {
    Owner::start("keeps one in a static")?.assert_gone_after_kill()
}

#[test]
fn a_server_in_a_static_goes_when_its_owner_ends() -> Outcome {
    Owner::start("keeps one in a static")?.assert_gone_after_end()
}

#[test]
fn a_server_goes_when_its_owner_panics() -> Outcome {
    Owner::start("panics")?.assert_gone_after_end()
}

// When its owner goes, the watchdog's process group is an orphan, and the
// kernel sends SIGHUP to an orphaned group that has a stopped member.
#[test]
fn a_paused_server_goes_when_its_owner_assert_gone_after_kill() -> Outcome {
    Owner::start("has paused one")?.assert_gone_after_kill()
}

#[test]
fn a_restarted_server_goes_when_its_owner_assert_gone_after_kill() -> Outcome {
    Owner::start("has restarted one")?.assert_gone_after_kill()
}

#[test]
fn a_dropped_server_goes_while_its_owner_stays() -> Outcome {
    let mut owner = Owner::start("drops")?;
    owner.wait_until_mongod_is_gone();
    assert!(owner.child.try_wait()?.is_none());
    drop(owner.child.stdin.take());
    assert!(owner.child.wait()?.success());
    Ok(())
}

/// What an owner says when `MONGOD` is this shell script.
fn error_with_mongod(script: &str) -> Outcome<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("mongod");
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    let output = owner("fails")?.env("MONGOD", &path).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_missing_library_is_named_with_its_package() -> Outcome {
    let text = error_with_mongod(
        "echo \"$0: error while loading shared libraries: libcurl.so.4: \
         cannot open shared object file: No such file or directory\" >&2; exit 127",
    )?;
    assert!(
        text.contains("the shared library libcurl.so.4 is missing"),
        "{text}"
    );
    assert!(text.contains("apt-get install libcurl4"), "{text}");
    assert!(text.contains("MONGODB_URI"), "{text}");
    Ok(())
}

#[test]
fn a_mongod_that_ends_is_reported_with_what_it_said() -> Outcome {
    let text = error_with_mongod("echo no, not today; exit 3")?;
    assert!(text.contains("ended with status 3"), "{text}");
    assert!(text.contains("no, not today"), "{text}");
    Ok(())
}

#[test]
fn a_taken_port_is_replaced_by_another() -> Outcome {
    let folder = tempfile::tempdir()?;
    let ports = folder.path().join("ports");
    let text = error_with_mongod(&format!(
        "while [ $# -gt 0 ]; do
           [ \"$1\" = --port ] && echo \"$2\" >>'{}'
           [ \"$1\" = --logpath ] && log=$2
           shift
         done
         echo 'Failed to set up listener: Address already in use' >\"$log\"
         exit 48",
        ports.display()
    ))?;
    assert!(text.contains("Address already in use"), "{text}");
    let tried: HashSet<String> = fs::read_to_string(ports)?
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(tried.len() > 1, "tried {tried:?} only");
    Ok(())
}

#[test]
fn without_pip_the_error_says_what_to_install() -> Outcome {
    let cache = tempfile::tempdir()?;
    let output = owner("fails")?
        .env_remove("MONGOD")
        .env("PATH", cache.path())
        .env("BUCKET_TESTKIT_CACHE", cache.path())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(text.contains("MONGOD"), "{text}");
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        assert!(text.contains("apt-get install python3-pip"), "{text}");
    }
    Ok(())
}
