//! How a collection is distributed over shards.

use mongodb::{
    IndexModel,
    bson::{Document, doc},
};

use super::{Server, target::Target};
use crate::Result;

impl Server {
    /// The collection's shard key; `None` if it is not sharded, or if the user may not read the
    /// cluster's metadata.
    pub(crate) async fn shard_key(&self) -> Option<Document> {
        let config = self.collection.client().database("config");
        let collections = config.collection::<Document>("collections");
        let found = self
            .ask(collections.find_one(doc! { "_id": self.name() }))
            .await;
        let found = found.ok().flatten()?;
        found.get_document("key").ok().cloned()
    }
}

impl Target<'_> {
    /// Shards the collection. If it holds documents, the server needs an index on the shard key that
    /// holds all of them, so that index is created first. A collection that is already sharded by this
    /// key stays as it is.
    pub(crate) async fn shard(self, shard_key: Document) -> Result<()> {
        let index = IndexModel::builder().keys(shard_key.clone()).build();
        let collection = self.server.collection();
        let created = self.server.ask(collection.create_index(index)).await;
        created.map_err(|error| self.write_error(error))?;
        let shard = doc! { "shardCollection": self.server.name(), "key": shard_key };
        let admin = collection.client().database("admin");
        let sharded = self.server.ask(admin.run_command(shard)).await;
        sharded.map(drop).map_err(|error| self.write_error(error))
    }
}
