//! Several members, for tests of failover.

use mongodb::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::election;
use crate::error::{Error, Result};
use crate::process::{PATIENCE, PAUSE, Process, Recipe};

/// The most members of a set that may vote.
const MOST_MEMBERS: usize = 7;

/// A throw-away replica set whose members can be killed, paused and restarted.
///
/// It is gone, with its data, soon after this value was dropped or the process
/// has ended, however that ended. `MONGODB_URI` is ignored, since the members
/// of a user's own set are not ours to kill.
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
        if !(1..=MOST_MEMBERS).contains(&members) {
            return Err(Error::new(format!(
                "a replica set has 1 to {MOST_MEMBERS} members here, not {members}"
            )));
        }
        let recipe = Recipe::new(Vec::new()).await?;
        let mut starting = JoinSet::new();
        for _ in 0..members {
            starting.spawn(Process::start(recipe.clone()));
        }
        let mut members = Vec::new();
        while let Some(started) = starting.join_next().await {
            let process = started.map_err(|error| Error::caused("starting a member", error))??;
            members.push(Member {
                address: process.address(),
                process,
            });
        }
        let processes: Vec<&Process> = members.iter().map(|member| &member.process).collect();
        election::initiate(recipe.set(), &processes).await?;
        let addresses: Vec<String> = processes.iter().map(|process| process.address()).collect();
        Ok(Self {
            uri: election::uri(recipe.set(), &addresses),
            members,
        })
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

    /// A new client of the set. It works as long as the tokio runtime that it
    /// was made in.
    ///
    /// # Errors
    ///
    /// When the driver does not take the connection string, which would be a
    /// bug.
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

    /// All members, whatever state they are in.
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

    /// The member that is the primary, after an election if there is none.
    ///
    /// # Errors
    ///
    /// When there is none within 60 seconds, as when a majority is down.
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
            let is_it = |member: &&Member| Some(&member.address) == found.as_ref();
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

/// A member of a [`ReplicaSet`]: one mongod.
///
/// ```no_run
/// # async fn example(member: &bucket_testkit::Member) -> Result<(), bucket_testkit::Error> {
/// member.kill().await?;
/// member.restart().await?;
/// # Ok(())
/// # }
/// ```
pub struct Member {
    address: String,
    process: Process,
}

impl Member {
    /// Its address, such as `127.0.0.1:20001`; the same after a restart.
    ///
    /// ```no_run
    /// # fn example(member: &bucket_testkit::Member) {
    /// println!("mongosh {}", member.address());
    /// # }
    /// ```
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process id; `None` while it does not run.
    ///
    /// ```no_run
    /// # async fn example(member: &bucket_testkit::Member) -> Result<(), bucket_testkit::Error> {
    /// member.kill().await?;
    /// assert_eq!(member.pid(), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Kills it with SIGKILL, and returns once it is gone. Its data stays.
    ///
    /// # Errors
    ///
    /// When it is not running.
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> Result<(), bucket_testkit::Error> {
    /// set.primary().await?.kill().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&self) -> Result<()> {
        self.process.kill().await
    }

    /// Starts it again with its data and address, killing it first if it is
    /// running, and returns once it is a secondary or the primary. A majority
    /// of the members must be up for that.
    ///
    /// # Errors
    ///
    /// When it does not get there within 60 seconds, with the end of its log.
    ///
    /// ```no_run
    /// # async fn example(member: &bucket_testkit::Member) -> Result<(), bucket_testkit::Error> {
    /// member.restart().await?;
    /// assert!(member.pid().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn restart(&self) -> Result<()> {
        if self.pid().is_some() {
            self.kill().await?;
        }
        self.process.launch().await?;
        election::joined(&self.process).await
    }

    /// Stops it where it is (SIGSTOP): it keeps its connections and does not
    /// answer, as if the network were down.
    ///
    /// # Errors
    ///
    /// When it is not running.
    ///
    /// ```no_run
    /// # async fn example(set: &bucket_testkit::ReplicaSet) -> Result<(), bucket_testkit::Error> {
    /// let member = set.primary().await?;
    /// member.pause()?;
    /// member.resume()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn pause(&self) -> Result<()> {
        self.process.signal("STOP")
    }

    /// Lets a paused one go on (SIGCONT).
    ///
    /// # Errors
    ///
    /// When it is not running, not even paused.
    ///
    /// ```no_run
    /// # fn example(member: &bucket_testkit::Member) -> Result<(), bucket_testkit::Error> {
    /// member.resume()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self) -> Result<()> {
        self.process.signal("CONT")
    }
}
