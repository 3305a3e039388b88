//! The parts of a cluster, and its start.

use futures_util::future::{self, TryFutureExt};
use mongodb::bson::doc;

use super::Cluster;
use crate::binary;
use crate::choice::Version;
use crate::election;
use crate::error::{Error, Result};
use crate::member::Member;
use crate::process::Process;
use crate::recipe::{self, Purpose, Recipe};
use crate::replica_set::{self, ReplicaSet};

/// The processes of a [`Cluster`]: by default two shards of one member each
/// and two mongos; always a config server.
///
/// ```no_run
/// # async fn example() -> Result<(), bucket_testkit::Error> {
/// let cluster = bucket_testkit::Cluster::builder()
///     .shards(3)
///     .mongos(1)
///     .options(&["--setParameter", "enableTestCommands=1"])
///     .start()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ClusterBuilder {
    shards: usize,
    members: usize,
    mongos: usize,
    options: Vec<String>,
}

impl Default for ClusterBuilder {
    fn default() -> Self {
        Self {
            shards: 2,
            members: 1,
            mongos: 2,
            options: Vec::new(),
        }
    }
}

impl ClusterBuilder {
    /// The number of shards. A cluster without shards starts, and refuses to
    /// store anything.
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = shards;
        self
    }

    /// The number of members of each shard, 1 to 7: three for tests of
    /// failover.
    pub fn members(mut self, members: usize) -> Self {
        self.members = members;
        self
    }

    /// The number of mongos, at least one.
    pub fn mongos(mut self, mongos: usize) -> Self {
        self.mongos = mongos;
        self
    }

    /// Further options on the command line of each mongod of a shard, such as
    /// another cache size than 0.25 GB. `--setParameter enableTestCommands=1`,
    /// for fail points, also goes to the mongos and the config server.
    pub fn options<S: AsRef<str>>(mut self, options: &[S]) -> Self {
        let options = options.iter().map(|option| option.as_ref().to_owned());
        self.options.extend(options);
        self
    }

    /// Starts the cluster, and returns once it takes writes.
    ///
    /// # Errors
    ///
    /// When a number is out of its range, when MongoDB 8.2.0 could not be
    /// fetched (it is fetched only on Linux x86-64), or when a process is not
    /// ready within 60 seconds; then the error holds the end of its log. An
    /// option that mongod does not know makes it end at once; the error then
    /// holds its message.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let empty = bucket_testkit::Cluster::builder().shards(0).start().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start(self) -> Result<Cluster> {
        replica_set::check_size(self.members)?;
        if self.mongos == 0 {
            return Err(Error::new("a cluster has at least one mongos"));
        }
        let mongod = binary::mongod(Version::V8_2).await?;
        let shard =
            |_| ReplicaSet::run(mongod.clone(), Purpose::Shard, self.members, &self.options);
        let shards = future::try_join_all((0..self.shards).map(shard));
        let test_commands = recipe::test_commands(&self.options);
        let config = ReplicaSet::run(mongod.clone(), Purpose::ConfigServer, 1, &test_commands);
        // A mongos waits for the config server, and neither waits for the shards.
        let front = config.and_then(async |config| {
            let mongos = binary::mongos().await?;
            let recipe = Recipe::mongos(mongos, &config.seeds(), &test_commands);
            let mongos = (0..self.mongos).map(|_| Process::start(&recipe));
            Ok((config, future::try_join_all(mongos).await?))
        });
        let (shards, (config, mongos)) = future::try_join(shards, front).await?;
        let mongos: Vec<Member> = mongos.into_iter().map(Member::new).collect();
        add(&shards, &mongos[0]).await?;
        let addresses: Vec<&str> = mongos.iter().map(Member::address).collect();
        Ok(Cluster {
            uri: format!("mongodb://{}/", addresses.join(",")),
            config,
            shards,
            mongos,
        })
    }
}

/// Adds replica sets as shards to the cluster behind this mongos.
async fn add(shards: &[ReplicaSet], mongos: &Member) -> Result<()> {
    election::joined(mongos.process()).await?;
    let admin = mongos.client().await?.database("admin");
    for shard in shards {
        admin
            .run_command(doc! { "addShard": shard.seeds(), "name": shard.name() })
            .await
            .map_err(|error| Error::caused("addShard", error))?;
    }
    Ok(())
}
