//! The only module that talks to the server.

pub mod call;
mod collection;
pub mod deployment;
pub mod pause;
pub mod read;
mod retryable_session;
pub mod target;
pub mod transaction;
pub mod watch;
pub mod wire;
pub mod write;

use std::sync::Arc;

use mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::Error as DriverError,
    options::{CollectionOptions, ReadConcern, ReadPreference},
};
use tokio::sync::OnceCell;

use self::deployment::Deployment;
use crate::{
    Error,
    error::{Kind, is_killed, is_repeatable},
    protocol::command::KeyScope,
    server::retryable_session::RetryableSessions,
};

/// A collection, and the requests that the runtime sends to it.
#[derive(Debug, Clone)]
pub struct Server {
    collection: Collection<Document>,
    deployment: Arc<OnceCell<Deployment>>,
    retryable_sessions: RetryableSessions,
    /// Whether spans name keys.
    traces_keys: bool,
}

impl Server {
    pub fn new(collection: Collection<Document>) -> Self {
        Self {
            collection,
            deployment: Arc::default(),
            retryable_sessions: RetryableSessions::default(),
            traces_keys: false,
        }
    }

    /// Another collection of the same deployment, which is not asked for its kind again.
    pub fn with_collection(&self, collection: Collection<Document>) -> Self {
        Self {
            deployment: Arc::clone(&self.deployment),
            traces_keys: self.traces_keys,
            ..Self::new(collection)
        }
    }

    /// Reads from these members of the replica set, and with this concern, if they are given.
    pub fn read_with(&mut self, from: Option<&ReadPreference>, concern: Option<&ReadConcern>) {
        if from.is_none() && concern.is_none() {
            return;
        }
        let all = &self.collection;
        let mut options = CollectionOptions::default();
        let from = from.cloned().map(Into::into);
        options.selection_criteria = from.or_else(|| all.selection_criteria().cloned());
        options.read_concern = concern.or_else(|| all.read_concern()).cloned();
        options.write_concern = all.write_concern().cloned();
        self.collection = self.database().collection_with_options(all.name(), options);
    }

    pub fn collection(&self) -> &Collection<Document> {
        &self.collection
    }

    /// The kind of deployment that answers. The server is asked only once.
    async fn deployment(&self) -> Result<Deployment, DriverError> {
        // Boxed, since it is needed only once.
        let ask = || Box::pin(self.ask_hello());
        self.deployment.get_or_try_init(ask).await.copied()
    }

    /// Asks for the kind of deployment. One round trip, repeated once if the connection breaks.
    async fn ask_hello(&self) -> Result<Deployment, DriverError> {
        let (admin, hello) = (self.admin(), doc! { "hello": 1 });
        let answer = match self.run(admin.clone(), &hello, None).await {
            Err(error) if is_repeatable(&error) => self.run(admin, &hello, None).await,
            answer => answer,
        };
        answer.map(|hello| Deployment::of(&hello))
    }

    /// The kind of deployment, or an error in the context of a call whose first request this is.
    pub async fn known_deployment(&self) -> Result<Deployment, Error> {
        let known = self.deployment().await;
        known.map_err(|error| self.target().read_error(error))
    }

    /// An error if this call cannot work because the server belongs to no replica set.
    pub async fn needs_replica_set(&self, call: &'static str) -> Result<(), Error> {
        match self.known_deployment().await?.is_standalone() {
            true => Err(self.target().error(Kind::Standalone(call))),
            false => Ok(()),
        }
    }

    /// Whether a `mongos` is known to answer.
    pub fn is_sharded(&self) -> bool {
        self.deployment
            .get()
            .is_some_and(|known| known.is_sharded())
    }

    /// Whether a `mongos` may be answering: then a statement's error proves less.
    pub fn may_be_sharded(&self) -> bool {
        self.deployment.get().is_none_or(|known| known.is_sharded())
    }

    /// Whether the error says that an update was ended with its index, before it has changed
    /// anything.
    pub fn was_broken_off(&self, error: &DriverError) -> bool {
        let known = self.deployment.get();
        is_killed(error) && known.is_some_and(|known| known.breaks_off_before_writing())
    }

    /// The key's buckets with these ids, so that the `_id` index alone finds them. A `mongos` needs
    /// the key fields, too: otherwise it would ask all shards, and these read the documents in any
    /// case.
    pub fn by_ids(&self, scope: &KeyScope, ids: Document) -> Document {
        match self.is_sharded() {
            true => scope.with_key(ids),
            false => ids,
        }
    }

    pub fn database(&self) -> Database {
        let namespace = self.collection.namespace();
        self.collection.client().database(&namespace.db)
    }

    fn admin(&self) -> Database {
        self.collection.client().database("admin")
    }

    /// The collection as `database.collection`.
    pub fn name(&self) -> String {
        self.collection.namespace().to_string()
    }
}
