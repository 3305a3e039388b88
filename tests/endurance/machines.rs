//! The processes under test. Their clients, and the members of a replica set, reach each process
//! through a line that can be cut.

use std::{collections::HashMap, slice, time::Duration};

use bucket_runtime::mongodb::{
    bson::{Document, doc},
    options::ClientOptions,
};
use bucket_testkit::{Cluster, Member, ReplicaSet};
use tokio::time::{sleep, timeout};

use crate::{Deployment, Result, network::Line};

const PAUSE: Duration = Duration::from_millis(50);

/// How long a replica set may take to have a primary that the others follow. One whose member has ended by itself never
/// has.
const PATIENCE: Duration = Duration::from_secs(600);

const MEMBERS: usize = 3;

pub(crate) struct Machines {
    running: Running,
    /// Each line, by the address of the process at its end.
    lines: HashMap<String, Line>,
}

enum Running {
    ReplicaSet(ReplicaSet),
    Cluster(Cluster),
}

/// A process and the line to it.
pub(crate) struct Node<'m> {
    pub(crate) member: &'m Member,
    pub(crate) line: &'m Line,
}

impl Machines {
    pub(crate) async fn start(deployment: Deployment) -> Result<Self> {
        let running = match deployment {
            Deployment::ReplicaSet => Running::ReplicaSet(ReplicaSet::start(MEMBERS).await?),
            Deployment::Cluster => {
                Running::Cluster(Cluster::builder().members(MEMBERS).start().await?)
            }
        };
        let mut lines = HashMap::new();
        let members = running.sets().iter().flat_map(ReplicaSet::members);
        for member in members.chain(running.mongos()) {
            let address = member.address();
            lines.insert(address.to_owned(), Line::to(address).await?);
        }
        let machines = Self { running, lines };
        for set in machines.running.sets() {
            machines.reconfigure(set).await?;
        }
        machines.settled().await;
        Ok(machines)
    }

    /// The number of replica sets; in a cluster each is a shard.
    pub(crate) fn sets(&self) -> usize {
        self.running.sets().len()
    }

    /// The number of mongos; none outside a cluster.
    pub(crate) fn mongos(&self) -> usize {
        self.running.mongos().len()
    }

    pub(crate) fn is_sharded(&self) -> bool {
        matches!(self.running, Running::Cluster(_))
    }

    /// Registers every member of a set under the address of its line.
    async fn reconfigure(&self, set: &ReplicaSet) -> Result<()> {
        let admin = set.database("admin").await?;
        let found = admin.run_command(doc! { "replSetGetConfig": 1 }).await?;
        let mut config = found.get_document("config")?.clone();
        config.insert("version", config.get_i32("version")? + 1);
        for member in config.get_array_mut("members")? {
            let member = member.as_document_mut().ok_or("a member")?;
            let line = self.lines.get(member.get_str("host")?).ok_or("a line")?;
            member.insert("host", line.address());
        }
        let command = doc! { "replSetReconfig": config, "force": true };
        admin.run_command(command).await?;
        Ok(())
    }

    /// The options of a client that connects through the lines.
    pub(crate) async fn options(&self) -> Result<ClientOptions> {
        let (entries, set) = match &self.running {
            Running::ReplicaSet(set) => (set.members(), format!("replicaSet={}", set.name())),
            Running::Cluster(cluster) => (cluster.mongos(), String::new()),
        };
        let lines = entries.iter().map(|entry| self.node(entry).line.address());
        let hosts = Vec::from_iter(lines).join(",");
        Ok(ClientOptions::parse(format!("mongodb://{hosts}/?{set}")).await?)
    }

    /// The writable primary of this replica set; waits until there is one.
    pub(crate) async fn primary(&self, set: usize) -> Node<'_> {
        let found = async {
            loop {
                for member in self.running.sets()[set].members() {
                    if is(member, "isWritablePrimary").await {
                        return self.node(member);
                    }
                }
                sleep(PAUSE).await;
            }
        };
        timeout(PATIENCE, found).await.expect("a primary")
    }

    /// The members of this replica set.
    pub(crate) fn members(&self, set: usize) -> impl Iterator<Item = Node<'_>> {
        let members = self.running.sets()[set].members().iter();
        members.map(|member| self.node(member))
    }

    pub(crate) fn nth_mongos(&self, nth: usize) -> Node<'_> {
        self.node(&self.running.mongos()[nth])
    }

    /// Returns once each replica set has a primary that the others follow, and each mongos answers.
    pub(crate) async fn settled(&self) {
        let settled = async {
            for (nth, set) in self.running.sets().iter().enumerate() {
                self.primary(nth).await;
                for member in set.members() {
                    while !is(member, "isWritablePrimary").await && !is(member, "secondary").await {
                        sleep(PAUSE).await;
                    }
                }
            }
            for mongos in self.running.mongos() {
                while !is(mongos, "isWritablePrimary").await {
                    sleep(PAUSE).await;
                }
            }
        };
        timeout(PATIENCE, settled).await.expect("all members");
    }

    fn node<'m>(&'m self, member: &'m Member) -> Node<'m> {
        let line = &self.lines[member.address()];
        Node { member, line }
    }
}

impl Running {
    fn sets(&self) -> &[ReplicaSet] {
        match self {
            Self::ReplicaSet(set) => slice::from_ref(set),
            Self::Cluster(cluster) => cluster.shards(),
        }
    }

    fn mongos(&self) -> &[Member] {
        match self {
            Self::ReplicaSet(_) => &[],
            Self::Cluster(cluster) => cluster.mongos(),
        }
    }
}

/// Whether a process reports this field of `hello` as true, asked directly. A mongos reports that it is
/// a writable primary; a stopped process reports nothing.
async fn is(member: &Member, what: &str) -> bool {
    match timeout(Duration::from_secs(1), hello(member)).await {
        Ok(Ok(hello)) => hello.get_bool(what).unwrap_or(false),
        _ => false,
    }
}

async fn hello(member: &Member) -> Result<Document> {
    let admin = member.client().await?.database("admin");
    Ok(admin.run_command(doc! { "hello": 1 }).await?)
}
