//! The program `bucket-testkit`: a server for a shell, or for a program in another language.
#![cfg(unix)]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use mongodb::Client;
use mongodb::bson::{Document, doc};

fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_bucket-testkit"));
    program.env_remove("MONGODB_URI").stdout(Stdio::piped());
    // If a test fails, its child goes on, and nobody may wait for its output to end.
    program.stderr(Stdio::null());
    program
}

#[tokio::test]
async fn it_prints_an_address_that_works_until_it_is_stopped() -> Result<(), Box<dyn Error>> {
    let mut child = program().spawn()?;
    let mut uri = String::new();
    let stdout = child.stdout.take().ok_or("no output")?;
    BufReader::new(stdout).read_line(&mut uri)?;

    let client = Client::with_uri_str(uri.trim()).await?;
    let pets = client.database("zoo").collection::<Document>("pets");
    let mut session = client.start_session().await?;
    session.start_transaction().await?;
    pets.insert_one(doc! { "_id": "Ada" })
        .session(&mut session)
        .await?;
    session.commit_transaction().await?;
    assert!(child.try_wait()?.is_none(), "it ended by itself");

    child.kill()?;
    child.wait()?;
    let address = uri
        .trim_start_matches("mongodb://")
        .split(['/', ','])
        .next()
        .ok_or("no address")?;
    let deadline = Instant::now() + Duration::from_secs(120);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "the server outlives the program");
        sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[test]
fn it_says_which_servers_there_are() -> Result<(), Box<dyn Error>> {
    let help = program().arg("--help").output()?;
    assert!(help.status.success());
    assert!(String::from_utf8(help.stdout)?.contains("8.2-cluster"));

    let unknown = program().arg("7.7").stderr(Stdio::piped()).output()?;
    assert!(!unknown.status.success());
    let error = String::from_utf8(unknown.stderr)?;
    assert!(
        error.contains("7.7") && error.contains("8.2-cluster"),
        "{error}"
    );
    Ok(())
}
