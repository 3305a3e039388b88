//! One process of several, which can be killed, paused and restarted.

use mongodb::Client;

use crate::election;
use crate::error::Result;
use crate::process::Process;

/// One process of a [`ReplicaSet`] or a [`Cluster`]: a mongod or a mongos.
///
/// [`ReplicaSet`]: crate::ReplicaSet
/// [`Cluster`]: crate::Cluster
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
    pub(crate) fn new(process: Process) -> Self {
        Self {
            address: process.address(),
            process,
        }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }

    /// The address, such as `127.0.0.1:20001`; it stays the same after a
    /// restart.
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

    /// A new client of this process alone, which works whatever the process's
    /// state: for fail points, profilers and counters, which each process has
    /// for itself. The client works as long as the tokio runtime that created
    /// it.
    ///
    /// # Errors
    ///
    /// When the driver rejects the address, which would be a bug.
    ///
    /// ```no_run
    /// # async fn example(member: &bucket_testkit::Member) -> Result<(), Box<dyn std::error::Error>> {
    /// use mongodb::bson::doc;
    ///
    /// let admin = member.client().await?.database("admin");
    /// let status = admin.run_command(doc! { "serverStatus": 1 }).await?;
    /// println!("{}", status.get_document("opcounters")?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn client(&self) -> Result<Client> {
        election::connect(&election::direct(&self.address)).await
    }

    /// The process id; `None` while the process does not run.
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

    /// Kills the process with SIGKILL, and returns once it is gone. Its data
    /// stays.
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

    /// Starts the process again with its data and address, and kills it first
    /// if it is running. Returns once it is a secondary or the primary, for
    /// which a majority of its replica set must be up; for a mongos, once it
    /// takes commands, for which the config server must be up.
    ///
    /// # Errors
    ///
    /// When it is not ready within 60 seconds, with the end of its log.
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

    /// Stops the process where it is (SIGSTOP): it keeps its connections and
    /// does not answer, as if the network were down.
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

    /// Lets a paused process go on (SIGCONT).
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
