//! Several members, for tests of failover.

use futures_util::future;
use mongodb::{Client, Database};
use tokio::time::{Instant, sleep};

use crate::binary::{self, Binary};
use crate::choice::Choice;
use crate::election;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::process::{self, PATIENCE, PAUSE, Process};
use crate::recipe::{Purpose, Recipe};

/// The most voting members that a set can have.
const MOST_MEMBERS: usize = 7;

/// A throw-away replica set whose members can be killed, paused and restarted.
///
/// It is gone, with its data, soon after this value is dropped or the process
/// ends, however that happens. `MONGODB_URI` is ignored, since tests must not
/// kill members of a user's own set. A shard of a
/// [`Cluster`](crate::Cluster) is a replica set, too.
///
/// ```no_run
/// # async fn example() -> Result<(), bucket_testkit::Error> {
/// let set = bucket_testkit::ReplicaSet::start(3).await?;
/// let client = set.client().await?;
///
/// let old = set.primary().await?;
/// old.kill().await?;
/// let new = set.primary().await?;
/// assert_ne!(old.address(), new.address());
///
/// old.restart().await?;
/// # Ok(())
/// # }
/// ```
pub struct ReplicaSet {
    name: String,
    uri: String,
    members: Vec<Member>,
}

impl ReplicaSet {
    /// Starts a set and returns once it has a primary and all others are
    /// secondaries. A member whose primary is gone starts an election after
    /// about three seconds.
    ///
    /// # Errors
    ///
    /// When `members` is not 1 to 7, when there is no mongod to run and none
    /// could be fetched, or when a member is not ready within 60 seconds; then
    /// the error holds the end of its log.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let set = bucket_testkit::ReplicaSet::start(3).await?;
    /// assert_eq!(set.members().len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start(members: usize) -> Result<Self> {
        check_size(members)?;
        let binary = binary::mongod(Choice::read()?.version).await?;
        Self::run(binary, Purpose::Alone, members, &[]).await
    }

    /// Starts a set of this mongod, with further options.
    pub(crate) async fn run(
        binary: Binary,
        purpose: Purpose,
        members: usize,
        options: &[String],
    ) -> Result<Self> {
        // Each set has its own name, so that a client cannot mistake another
        // set for its own if a port is used again.
        let name = format!("testkit-{:016x}", process::random());
        let recipe = Recipe::mongod(binary, &name, purpose, options);
        let processes = (0..members).map(|_| Process::start(&recipe));
        let members = future::try_join_all(processes).await?;
        let members: Vec<Member> = members.into_iter().map(Member::new).collect();
        let processes: Vec<&Process> = members.iter().map(Member::process).collect();
        election::initiate(&name, purpose, &processes).await?;
        Ok(Self {
            uri: election::uri(&name, &addresses(&members)),
            name,
            members,
        })
    }

    /// The members of the set, in the form that the other parts of a cluster expect.
    pub(crate) fn seeds(&self) -> String {
        format!("{}/{}", self.name, addresses(&self.members).join(","))
    }

    /// The name of the set; for a shard it is also the shard's name in the
    /// cluster.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), Box<dyn std::error::Error>> {
    /// use mongodb::bson::doc;
    ///
    /// let shard = &cluster.shards()[1];
    /// let admin = cluster.database("admin").await?;
    /// admin.run_command(doc! { "movePrimary": "zoo", "to": shard.name() }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The connection string, which names all members.
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> mongodb::error::Result<()> {
    /// let options = mongodb::options::ClientOptions::parse(set.uri()).await?;
    /// assert_eq!(options.hosts.len(), set.members().len());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// A new client of the set. It works as long as the tokio runtime that
    /// created it.
    ///
    /// # Errors
    ///
    /// When the driver rejects the connection string, which would be a bug.
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = set.client().await?;
    /// println!("{:?}", client.list_database_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn client(&self) -> Result<Client> {
        election::connect(&self.uri).await
    }

    /// A database with this name, through a [new client](Self::client). On a
    /// shard it holds only that shard's data.
    ///
    /// # Errors
    ///
    /// Those of [`client`](Self::client).
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> Result<(), Box<dyn std::error::Error>> {
    /// let database = set.database("orders").await?;
    /// println!("{:?}", database.list_collection_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn database(&self, name: &str) -> Result<Database> {
        Ok(self.client().await?.database(name))
    }

    /// All members, whatever their state.
    ///
    /// ```no_run
    /// # fn example(set: &bucket_testkit::ReplicaSet) {
    /// for member in set.members() {
    ///     println!("{} {:?}", member.address(), member.pid());
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The primary. If there is none, it waits for an election.
    ///
    /// # Errors
    ///
    /// When there is none within 60 seconds, for example because a majority is
    /// down.
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> Result<(), bucket_testkit::Error> {
    /// set.primary().await?.pause()?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn primary(&self) -> Result<&Member> {
        let client = self.client().await?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = election::primary(&client).await;
            let is_it = |member: &&Member| Some(member.address()) == found.as_deref();
            if let Some(member) = self.members.iter().find(is_it) {
                return Ok(member);
            }
            if Instant::now() > deadline {
                return Err(Error::new(format!(
                    "the replica set at {} has no primary after {} seconds",
                    self.uri,
                    PATIENCE.as_secs()
                )));
            }
            sleep(PAUSE).await;
        }
    }
}

/// Refuses a number of members that a replica set cannot have.
pub(crate) fn check_size(members: usize) -> Result<()> {
    if (1..=MOST_MEMBERS).contains(&members) {
        return Ok(());
    }
    Err(Error::new(format!(
        "a replica set has 1 to {MOST_MEMBERS} members here, not {members}"
    )))
}

fn addresses(members: &[Member]) -> Vec<String> {
    let address = |member: &Member| member.address().to_owned();
    members.iter().map(address).collect()
}
