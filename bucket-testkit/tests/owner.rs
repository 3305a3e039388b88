//! Servers end with the process that owns them.
//!
//! Each owner is another process: this test binary, which variables tell to run
//! only `an_owner`.
#![cfg(unix)]

use std::env;
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
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

/// Not a test: the other processes run this.
#[tokio::test]
#[ignore = "a process that another test starts"]
async fn an_owner() -> Outcome {
    static SERVER: OnceCell<Server> = OnceCell::const_new();
    let Ok(role) = env::var(ROLE) else {
        return Ok(());
    };
    match role.as_str() {
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
        "has a cluster" => {
            let server = Server::start().await?;
            let cluster = server.cluster().ok_or("not a cluster")?;
            assert!(server.is_sharded().await?);
            let sets = cluster.shards().iter().chain([cluster.config_server()]);
            for member in sets.flat_map(ReplicaSet::members).chain(cluster.mongos()) {
                tell(&member.client().await?).await?;
            }
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

/// Prints the process id and the folder of the server that a client talks to.
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
    let log = options.get_document("parsed")?.get_document("systemLog")?;
    let pid = status.get_i64("pid")?;
    let folder = Path::new(log.get_str("path")?).parent();
    let folder = folder.ok_or("the log has no folder")?;
    act()?;
    // The test harness may have begun a line.
    println!("\nserver {pid} {}", folder.display());
    Ok(())
}

/// Standard input ends when the test that started this process goes on, or has
/// failed.
fn until_told_to_go_on() {
    println!("\nready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// An owner that starts throw-away servers, whatever is configured.
fn owner(role: &str) -> Outcome<Command> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["an_owner", "--exact", "--ignored", "--nocapture"])
        .env(ROLE, role)
        .env_remove("MONGODB_URI")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    Ok(command)
}

/// A running owner, and the servers that it has reported.
struct Owner {
    child: Child,
    stdout: BufReader<ChildStdout>,
    servers: Vec<Started>,
}

/// A process and the folder that it works in.
struct Started {
    pid: String,
    folder: String,
}

impl Owner {
    fn start(command: &mut Command) -> Outcome<Self> {
        let mut child = command.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut servers = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                return Err("the owner ended before it reported its servers".into());
            }
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["server", pid, folder] => servers.push(Started {
                    pid: pid.to_owned(),
                    folder: folder.to_owned(),
                }),
                ["ready"] => break,
                _ => (),
            }
        }
        assert!(!servers.is_empty(), "the owner has no server");
        Ok(Self {
            child,
            stdout,
            servers,
        })
    }

    fn assert_servers_run(&self) {
        for server in &self.servers {
            assert!(is_alive(&server.pid));
            assert!(Path::new(&server.folder).is_dir());
        }
    }

    fn wait_until_servers_are_gone(&self) {
        let deadline = Instant::now() + Duration::from_secs(120);
        for server in &self.servers {
            while is_alive(&server.pid) || Path::new(&server.folder).exists() {
                assert!(Instant::now() < deadline, "a server outlives its owner");
                sleep(Duration::from_millis(20));
            }
        }
    }

    fn assert_gone_after_kill(mut self) -> Outcome {
        self.assert_servers_run();
        self.child.kill()?;
        self.child.wait()?;
        self.wait_until_servers_are_gone();
        Ok(())
    }

    /// Only the owner may hold its output open: a `cargo test | tail` would
    /// wait for any other holder.
    fn assert_gone_after_end(mut self) -> Outcome {
        self.assert_servers_run();
        drop(self.child.stdin.take());
        self.stdout.read_to_end(&mut Vec::new())?;
        self.child.wait()?;
        self.wait_until_servers_are_gone();
        Ok(())
    }
}

/// A zombie counts as alive: somebody must collect its status.
fn is_alive(pid: &str) -> bool {
    Command::new("/bin/sh")
        .args(["-c", "kill -0 \"$1\"", "kill", pid])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn a_server_goes_when_its_owner_is_killed() -> Outcome {
    Owner::start(&mut owner("keeps one in a static")?)?.assert_gone_after_kill()
}

#[test]
fn a_server_in_a_static_goes_when_its_owner_ends() -> Outcome {
    Owner::start(&mut owner("keeps one in a static")?)?.assert_gone_after_end()
}

#[test]
fn a_server_goes_when_its_owner_panics() -> Outcome {
    Owner::start(&mut owner("panics")?)?.assert_gone_after_end()
}

// When the owner goes, the watchdog's process group becomes an orphan, and the
// kernel sends SIGHUP to an orphaned group that has a stopped member.
#[test]
fn a_paused_server_goes_when_its_owner_is_killed() -> Outcome {
    Owner::start(&mut owner("has paused one")?)?.assert_gone_after_kill()
}

#[test]
fn a_restarted_server_goes_when_its_owner_is_killed() -> Outcome {
    Owner::start(&mut owner("has restarted one")?)?.assert_gone_after_kill()
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test owner -- --include-ignored"]
fn every_process_of_a_cluster_goes_when_its_owner_is_killed() -> Outcome {
    let mut command = owner("has a cluster")?;
    let owner = Owner::start(command.env("BUCKET_TESTKIT_SERVER", "8.2-cluster"))?;
    // A config server, two shards and two mongos.
    assert_eq!(owner.servers.len(), 5);
    owner.assert_gone_after_kill()
}

#[test]
fn a_dropped_server_goes_while_its_owner_stays() -> Outcome {
    let mut owner = Owner::start(&mut owner("drops")?)?;
    owner.wait_until_servers_are_gone();
    assert!(owner.child.try_wait()?.is_none());
    drop(owner.child.stdin.take());
    assert!(owner.child.wait()?.success());
    Ok(())
}
