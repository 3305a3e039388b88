//! One server, which is what most tests need.

use std::env;

use mongodb::bson::doc;
use mongodb::{Client, Database};

use crate::binary;
use crate::choice::{Choice, Shape};
use crate::cluster::Cluster;
use crate::election;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::recipe::{Purpose, Recipe};
use crate::replica_set::ReplicaSet;

/// A MongoDB server to use: a throw-away server, or the one that `MONGODB_URI`
/// names.
///
/// A throw-away server is a replica set of one member, or with
/// `BUCKET_TESTKIT_SERVER=8.2-cluster` a sharded [`Cluster`], so transactions,
/// change streams and retryable writes work. It is gone, with its data, soon
/// after this value is dropped or the process ends, however that happens.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use mongodb::bson::{Document, doc};
///
/// let server = bucket_testkit::Server::start().await?;
/// let pets = server.database("zoo").await?.collection::<Document>("pets");
/// pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
/// # Ok(())
/// # }
/// ```
pub struct Server {
    uri: String,
    deployment: Deployment,
}

/// The kinds of [`Server`]. Dropping it ends a server that we started.
enum Deployment {
    /// The server that `MONGODB_URI` names.
    Theirs,
    Set {
        _set: ReplicaSet,
    },
    Standalone {
        _process: Process,
    },
    Cluster(Cluster),
}

impl Server {
    /// Starts a throw-away server and returns once it takes writes; if
    /// `MONGODB_URI` is set, starts nothing and returns that server.
    ///
    /// # Errors
    ///
    /// When `BUCKET_TESTKIT_SERVER` has an invalid value, when there is no
    /// mongod to run and none could be fetched, or when the server does not
    /// take writes within 60 seconds; then the error holds the end of its log.
    /// Whether the server of `MONGODB_URI` can be reached is not checked.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let server = bucket_testkit::Server::start().await?;
    /// println!("{}", server.uri());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start() -> Result<Self> {
        Self::start_with::<&str>(&[]).await
    }

    /// Like [`start`](Self::start), with further options on mongod's command
    /// line, such as another cache size than the usual 0.5 GB, or
    /// `--setParameter enableTestCommands=1` for fail points. On a cluster they
    /// go where [`ClusterBuilder::options`](crate::ClusterBuilder::options)
    /// says. The server of `MONGODB_URI` is returned unchanged.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start). An option that mongod does not know, or
    /// that is already set (the port, say), makes it end at once; the error
    /// then holds its message.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let options = ["--wiredTigerCacheSizeGB", "2"];
    /// let server = bucket_testkit::Server::start_with(&options).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_with<S: AsRef<str>>(options: &[S]) -> Result<Self> {
        if let Some(uri) = env::var("MONGODB_URI").ok().filter(|uri| !uri.is_empty()) {
            return Ok(Self {
                uri,
                deployment: Deployment::Theirs,
            });
        }
        let options: Vec<String> = options
            .iter()
            .map(|option| option.as_ref().into())
            .collect();
        Self::run(Choice::read()?, &options).await
    }

    /// Starts the throw-away server that this value of `BUCKET_TESTKIT_SERVER`
    /// names, such as `8.2-cluster`, whatever the variables say.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start), and when there is no server of that
    /// name.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let standalone = bucket_testkit::Server::start_named("6.0-standalone").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start_named(name: &str) -> Result<Self> {
        Self::run(Choice::named(name)?, &[]).await
    }

    /// The server that all tests of this process share, as [`start`](Self::start)
    /// chooses it. The first caller starts it; it ends with the process.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let pets = bucket_testkit::Server::shared().await?.database("pets").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn shared() -> Result<&'static Self> {
        crate::test::shared(None).await
    }

    async fn run(choice: Choice, options: &[String]) -> Result<Self> {
        let (uri, deployment) = match choice.shape {
            Shape::Cluster => {
                let cluster = Cluster::builder().options(options).start().await?;
                (cluster.uri().to_owned(), Deployment::Cluster(cluster))
            }
            Shape::Set => {
                let mongod = binary::mongod(choice.version).await?;
                let set = ReplicaSet::run(mongod, Purpose::Alone, 1, options).await?;
                (set.uri().to_owned(), Deployment::Set { _set: set })
            }
            Shape::Standalone => {
                let mongod = binary::mongod(choice.version).await?;
                let process = Process::start(&Recipe::standalone(mongod, options)).await?;
                election::joined(&process).await?;
                let uri = election::direct(&process.address());
                (uri, Deployment::Standalone { _process: process })
            }
        };
        Ok(Self { uri, deployment })
    }

    /// The connection string.
    ///
    /// ```no_run
    /// # async fn example(server: &bucket_testkit::Server) -> mongodb::error::Result<()> {
    /// let options = mongodb::options::ClientOptions::parse(server.uri()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// A new client of the server.
    ///
    /// A client works only as long as the tokio runtime that created it, and
    /// each `#[tokio::test]` has its own: tests can share a server, but each
    /// needs its own client.
    ///
    /// # Errors
    ///
    /// When the connection string cannot be parsed or resolved, which happens
    /// only with that of `MONGODB_URI`.
    ///
    /// ```no_run
    /// # async fn example(server: &bucket_testkit::Server) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = server.client().await?;
    /// println!("{:?}", client.list_database_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn client(&self) -> Result<Client> {
        election::connect(&self.uri).await
    }

    /// A database with this name, through a [new client](Self::client). The
    /// database of a user's own server may already hold data.
    ///
    /// # Errors
    ///
    /// Those of [`client`](Self::client).
    ///
    /// ```no_run
    /// # async fn example(server: &bucket_testkit::Server) -> Result<(), Box<dyn std::error::Error>> {
    /// let database = server.database("orders").await?;
    /// println!("{:?}", database.list_collection_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn database(&self, name: &str) -> Result<Database> {
        Ok(self.client().await?.database(name))
    }

    /// Whether the server ends with this value; false for the one of
    /// `MONGODB_URI`.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_testkit::Server) {
    /// if !server.is_throw_away() {
    ///     println!("what is written to {} stays there", server.uri());
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn is_throw_away(&self) -> bool {
        !matches!(self.deployment, Deployment::Theirs)
    }

    /// Whether the server is a mongos, and so the front of a sharded cluster.
    /// It asks the server, so the answer is right for that of `MONGODB_URI`,
    /// too.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    ///
    /// ```no_run
    /// # async fn example(server: &bucket_testkit::Server) -> Result<(), Box<dyn std::error::Error>> {
    /// use mongodb::bson::doc;
    ///
    /// if server.is_sharded().await? {
    ///     let admin = server.database("admin").await?;
    ///     let command = doc! { "shardCollection": "zoo.pets", "key": { "_id": "hashed" } };
    ///     admin.run_command(command).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn is_sharded(&self) -> Result<bool> {
        let admin = self.database("admin").await?;
        let hello = admin
            .run_command(doc! { "hello": 1 })
            .await
            .map_err(|error| Error::caused("hello", error))?;
        Ok(hello
            .get_str("msg")
            .is_ok_and(|message| message == "isdbgrid"))
    }

    /// The throw-away cluster behind this server, to reach its parts; `None`
    /// for any other server.
    ///
    /// ```no_run
    /// # async fn example(server: &bucket_testkit::Server) -> Result<(), Box<dyn std::error::Error>> {
    /// for shard in server.cluster().map(|cluster| cluster.shards()).unwrap_or_default() {
    ///     println!("{}: {:?}", shard.name(), shard.client().await?.list_database_names().await?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cluster(&self) -> Option<&Cluster> {
        match &self.deployment {
            Deployment::Cluster(cluster) => Some(cluster),
            Deployment::Theirs | Deployment::Set { .. } | Deployment::Standalone { .. } => None,
        }
    }
}
