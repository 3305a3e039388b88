//! A replica set of three whose members, and whose clients, reach each member through a line that
//! can be cut.

use std::time::Duration;

use bucket_runtime::mongodb::{
    Client,
    bson::{Document, doc},
    options::ClientOptions,
};
use bucket_testkit::{Member, ReplicaSet};
use tokio::time::{sleep, timeout};

use crate::{Result, network::Line};

const PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct Cluster {
    set: ReplicaSet,
    lines: Vec<Line>,
    name: String,
}

/// A member and the line to it.
pub(crate) struct Node<'c> {
    pub(crate) member: &'c Member,
    pub(crate) line: &'c Line,
}

impl Cluster {
    pub(crate) async fn start() -> Result<Self> {
        let set = ReplicaSet::start(3).await?;
        let mut lines = Vec::new();
        for member in set.members() {
            lines.push(Line::to(member.address()).await?);
        }
        let options = ClientOptions::parse(set.uri()).await?;
        let name = options.repl_set_name.clone().unwrap_or_default();
        let cluster = Self { set, lines, name };
        cluster.reconfigure(&Client::with_options(options)?).await?;
        cluster.settled().await?;
        Ok(cluster)
    }

    /// Has every member known by the address of its line.
    async fn reconfigure(&self, client: &Client) -> Result<()> {
        let admin = client.database("admin");
        let found = admin.run_command(doc! { "replSetGetConfig": 1 }).await?;
        let mut config = found.get_document("config")?.clone();
        config.insert("version", config.get_i32("version")? + 1);
        for member in config.get_array_mut("members")? {
            let member = member.as_document_mut().ok_or("a member")?;
            let mut nodes = self.set.members().iter().zip(&self.lines);
            let host = member.get_str("host")?;
            let (_, line) = nodes
                .find(|(node, _)| node.address() == host)
                .ok_or("a line")?;
            member.insert("host", line.address());
        }
        let command = doc! { "replSetReconfig": config, "force": true };
        admin.run_command(command).await?;
        Ok(())
    }

    /// The options of a client that comes through the lines.
    pub(crate) async fn options(&self) -> Result<ClientOptions> {
        let addresses: Vec<_> = self.lines.iter().map(Line::address).collect();
        let uri = format!(
            "mongodb://{}/?replicaSet={}",
            addresses.join(","),
            self.name
        );
        Ok(ClientOptions::parse(uri).await?)
    }

    /// The writable primary, once there is one.
    pub(crate) async fn primary(&self) -> Result<Node<'_>> {
        loop {
            for (member, line) in self.set.members().iter().zip(&self.lines) {
                if is(member, "isWritablePrimary").await {
                    return Ok(Node { member, line });
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Returns once one member is the primary and the others follow it.
    pub(crate) async fn settled(&self) -> Result<()> {
        self.primary().await?;
        for member in self.set.members() {
            while !is(member, "isWritablePrimary").await && !is(member, "secondary").await {
                sleep(PAUSE).await;
            }
        }
        Ok(())
    }
}

/// Whether a member says so of itself, asked past its line. A member that is stopped says nothing.
async fn is(member: &Member, what: &str) -> bool {
    match timeout(Duration::from_secs(1), hello(member)).await {
        Ok(Ok(hello)) => hello.get_bool(what).unwrap_or(false),
        _ => false,
    }
}

async fn hello(member: &Member) -> Result<Document> {
    let uri = format!("mongodb://{}/?directConnection=true", member.address());
    let client = Client::with_uri_str(uri).await?;
    let admin = client.database("admin");
    Ok(admin.run_command(doc! { "hello": 1 }).await?)
}
