//! One server, which is what most tests need.

use std::env;

use mongodb::{Client, Database};

use crate::election;
use crate::error::Result;
use crate::process::{Process, Recipe};

/// A MongoDB server to use: a throw-away one, or the one of `MONGODB_URI`.
///
/// A throw-away server is a replica set of one member, so transactions, change
/// streams and retryable writes work. It is gone, with its data, soon after
/// this value was dropped or the process has ended, however that ended.
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
    // `None`: the server is the user's.
    process: Option<Process>,
}

impl Server {
    /// Starts a throw-away server and returns once it takes writes; if
    /// `MONGODB_URI` is set, starts nothing and returns that server.
    ///
    /// # Errors
    ///
    /// When there is no mongod to run and none could be fetched, or when it
    /// does not take writes within 60 seconds; then the error holds the end of
    /// its log. Whether the server of `MONGODB_URI` can be reached is not
    /// tried.
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
    /// line, such as a cache of another size than the usual 0.5 GB, or
    /// `--setParameter enableTestCommands=1` for fail points. The server of
    /// `MONGODB_URI` is returned as it is.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start). An option that mongod does not know,
    /// or that is set already (the port, say), makes it end at once; the error
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
            return Ok(Self { uri, process: None });
        }
        let options = options.iter().map(|option| option.as_ref().to_owned());
        Self::throw_away(options.collect()).await
    }

    async fn throw_away(options: Vec<String>) -> Result<Self> {
        let recipe = Recipe::new(options).await?;
        let set = recipe.set().to_owned();
        let process = Process::start(recipe).await?;
        election::initiate(&set, &[&process]).await?;
        Ok(Self {
            uri: election::uri(&set, &[process.address()]),
            process: Some(process),
        })
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
    /// A client works only as long as the tokio runtime that it was made in,
    /// and each `#[tokio::test]` has its own: tests can share a server, but
    /// each needs its own client.
    ///
    /// # Errors
    ///
    /// When the connection string cannot be parsed or resolved, which happens
    /// with that of `MONGODB_URI` only.
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

    /// A database of that name, through a [new client](Self::client). The
    /// database of a user's own server may hold data already.
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

    /// Whether the server goes with this value; false for the one of
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
        self.process.is_some()
    }
}
