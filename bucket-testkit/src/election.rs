//! Forms a replica set of processes, and waits for its primary.

use mongodb::Client;
use mongodb::bson::{Document, doc};
use tokio::time::{Instant, sleep};

use crate::error::{Error, Result};
use crate::process::{PATIENCE, PAUSE, Process};
use crate::recipe::Purpose;

/// Makes the first process form the set, and returns once the set has a
/// writable primary and every other member is a secondary.
pub(crate) async fn initiate(set: &str, purpose: Purpose, members: &[&Process]) -> Result<()> {
    let Some(first) = members.first() else {
        return Err(Error::new("a replica set needs a member"));
    };
    let addresses: Vec<String> = members.iter().map(|member| member.address()).collect();
    connect(&direct(&first.address()))
        .await?
        .database("admin")
        .run_command(doc! { "replSetInitiate": config(set, purpose, &addresses) })
        .await
        .map_err(|error| Error::caused("replSetInitiate", error))?;
    for member in members {
        joined(member).await?;
    }
    // A set that has only secondaries still has to elect a primary.
    let client = connect(&uri(set, &addresses)).await?;
    let deadline = Instant::now() + PATIENCE;
    while primary(&client).await.is_none() {
        if Instant::now() > deadline {
            return Err(first.late("has no primary in its replica set"));
        }
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Returns once a process is the writable primary or a secondary; a mongos
/// counts as a primary.
pub(crate) async fn joined(process: &Process) -> Result<()> {
    let client = connect(&direct(&process.address())).await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let hello = hello(&client).await.unwrap_or_default();
        let is = |name| hello.get_bool(name).unwrap_or(false);
        if is("isWritablePrimary") || is("secondary") {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(process.late("is neither primary nor secondary"));
        }
        sleep(PAUSE).await;
    }
}

/// The address of the writable primary, if a client of the whole set can reach
/// it now.
pub(crate) async fn primary(client: &Client) -> Option<String> {
    let hello = hello(client).await?;
    let writable = hello.get_bool("isWritablePrimary").unwrap_or(false);
    let address = hello.get_str("me").ok()?;
    writable.then(|| address.to_owned())
}

/// The connection string of a set.
///
/// It names the set, since the driver then follows the primary and sends
/// nothing to a server of another set.
pub(crate) fn uri(set: &str, addresses: &[String]) -> String {
    format!("mongodb://{}/?replicaSet={set}", addresses.join(","))
}

pub(crate) async fn connect(uri: &str) -> Result<Client> {
    Client::with_uri_str(uri)
        .await
        .map_err(|error| Error::caused("making a client", error))
}

pub(crate) fn direct(address: &str) -> String {
    format!("mongodb://{address}/?directConnection=true")
}

async fn hello(client: &Client) -> Option<Document> {
    let admin = client.database("admin");
    admin.run_command(doc! { "hello": 1 }).await.ok()
}

fn config(set: &str, purpose: Purpose, addresses: &[String]) -> Document {
    let members: Vec<Document> = (0i32..)
        .zip(addresses)
        .map(|(id, host)| doc! { "_id": id, "host": host })
        .collect();
    doc! {
        "_id": set,
        "configsvr": purpose == Purpose::ConfigServer,
        "members": members,
        // Tests of failover wait for an election. The default timeout is ten
        // seconds, which suits real networks.
        "settings": { "electionTimeoutMillis": 3000, "heartbeatIntervalMillis": 1000 },
    }
}
