//! A sharded cluster.

use mongodb::{Client, Database};

use crate::election;
use crate::error::Result;
use crate::member::Member;
use crate::replica_set::ReplicaSet;

mod builder;

pub use builder::ClusterBuilder;

/// A throw-away sharded cluster of MongoDB 8.2.0, whose parts can be killed,
/// paused and restarted.
///
/// It is gone, with its data, soon after this value is dropped or the process
/// ends, however that happens. `MONGODB_URI` is ignored, since tests must not
/// kill parts of a user's own cluster.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use mongodb::bson::{Document, doc};
///
/// let cluster = bucket_testkit::Cluster::start().await?;
/// let client = cluster.client().await?;
/// let command = doc! { "shardCollection": "zoo.pets", "key": { "_id": "hashed" } };
/// client.database("admin").run_command(command).await?;
///
/// let pets = client.database("zoo").collection::<Document>("pets");
/// pets.insert_many((0..100).map(|n| doc! { "_id": n })).await?;
/// for shard in cluster.shards() {
///     let here = shard.database("zoo").await?.collection::<Document>("pets");
///     println!("{}: {}", shard.name(), here.count_documents(doc! {}).await?);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Cluster {
    uri: String,
    config: ReplicaSet,
    shards: Vec<ReplicaSet>,
    mongos: Vec<Member>,
}

impl Cluster {
    /// Starts a cluster of two shards of one member each, behind two mongos,
    /// and returns once it takes writes.
    ///
    /// # Errors
    ///
    /// Those of [`ClusterBuilder::start`].
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let cluster = bucket_testkit::Cluster::start().await?;
    /// assert_eq!(cluster.shards().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// A cluster of other sizes, or with further options.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_testkit::Error> {
    /// let cluster = bucket_testkit::Cluster::builder().members(3).start().await?;
    /// cluster.shards()[0].primary().await?.kill().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> ClusterBuilder {
        ClusterBuilder::default()
    }

    /// The connection string, which names all mongos.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> mongodb::error::Result<()> {
    /// let options = mongodb::options::ClientOptions::parse(cluster.uri()).await?;
    /// assert_eq!(options.hosts.len(), cluster.mongos().len());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// A new client of the cluster, which uses any mongos that answers. It
    /// works as long as the tokio runtime that created it.
    ///
    /// # Errors
    ///
    /// When the driver rejects the connection string, which would be a bug.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), Box<dyn std::error::Error>> {
    /// let client = cluster.client().await?;
    /// println!("{:?}", client.list_database_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn client(&self) -> Result<Client> {
        election::connect(&self.uri).await
    }

    /// A database with this name, through a [new client](Self::client).
    ///
    /// # Errors
    ///
    /// Those of [`client`](Self::client).
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), Box<dyn std::error::Error>> {
    /// let database = cluster.database("orders").await?;
    /// println!("{:?}", database.list_collection_names().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn database(&self, name: &str) -> Result<Database> {
        Ok(self.client().await?.database(name))
    }

    /// The mongos, in the order of the connection string.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), bucket_testkit::Error> {
    /// cluster.mongos()[0].kill().await?;
    /// // The clients go on through the other one.
    /// cluster.mongos()[0].restart().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn mongos(&self) -> &[Member] {
        &self.mongos
    }

    /// The shards. Their connection strings and clients bypass the mongos and
    /// reach only that shard's data: to profile it, or to read what was stored.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), Box<dyn std::error::Error>> {
    /// use mongodb::bson::doc;
    ///
    /// for shard in cluster.shards() {
    ///     let zoo = shard.database("zoo").await?;
    ///     zoo.run_command(doc! { "profile": 2 }).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn shards(&self) -> &[ReplicaSet] {
        &self.shards
    }

    /// The config server, a replica set of one member.
    ///
    /// ```no_run
    /// # async fn example(cluster: &bucket_testkit::Cluster) -> Result<(), bucket_testkit::Error> {
    /// // Sharded collections still work; nothing can be sharded or moved.
    /// cluster.config_server().primary().await?.pause()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn config_server(&self) -> &ReplicaSet {
        &self.config
    }
}
