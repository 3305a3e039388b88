//! Creates collections with a validator that refuses, from every writer, what breaks the
//! guarantees.

use bucket_core::{
    error::{Code, Kind, is_code},
    protocol::command::{hashed, shard_key, window_shard_key},
    schema::spec::BucketSpec,
    server::{Server, call::span},
};
use mongodb::{
    Collection,
    bson::{Document, doc},
    options::CreateCollectionOptions,
};

use crate::{Result, call::Call};

/// New collections: await it; see [`Bucket::create_collection`](crate::Bucket::create_collection)
/// and [`Outlier::create_collections`](crate::Outlier::create_collections).
pub type CreateCollections = Call<'static, (), CreateSettings>;

/// The settings of new collections.
#[derive(Default)]
pub struct CreateSettings {
    options: CreateCollectionOptions,
    /// The shard key of each, if they are to be sharded.
    sharding: Option<fn(&NewCollection) -> MaybeShardKey>,
}

/// A shard key, or why there is none.
type MaybeShardKey = Result<Document, &'static str>;

/// A collection to create.
pub(crate) struct NewCollection {
    server: Server,
    validator: Document,
    shard_key: Document,
    /// The shard key that spreads the windows of a key, or why there is none.
    window_shard_key: MaybeShardKey,
}

impl NewCollection {
    /// A collection of buckets.
    pub(crate) fn of_buckets(
        collection: Collection<Document>,
        validator: Document,
        spec: &BucketSpec,
    ) -> Self {
        let window_shard_key = match spec.unique {
            // The index on `unique` covers all windows of a key, so it would have to be on one
            // shard.
            Some(_) => Err("a `unique` field is checked across all windows of a key"),
            None => window_shard_key(spec).ok_or("its buckets have no windows"),
        };
        Self {
            server: Server::new(collection),
            validator,
            shard_key: shard_key(spec),
            window_shard_key,
        }
    }

    /// A collection of the parents of an outlier.
    pub(crate) fn of_parents(collection: Collection<Document>, validator: Document) -> Self {
        Self {
            server: Server::new(collection),
            validator,
            shard_key: doc! { "_id": 1 },
            window_shard_key: Err("parents have none"),
        }
    }
}

impl CreateCollections {
    /// Shards the collections by ranges of the key fields
    /// ([`Bucket::shard_key`](crate::Bucket::shard_key)); the parents of an outlier by their `_id`,
    /// the extras by their reference.
    ///
    /// All buckets of a key are on one shard, and neighbouring keys are close together. This suits
    /// keys that spread evenly, or collections whose ranges you split and assign to zones. Keys
    /// that only grow, such as counters or `ObjectId`s, all go to the last range; for them use
    /// [`sharded_hashed`](Self::sharded_hashed).
    ///
    /// An existing collection is sharded with its data, and gets one more index on the shard key,
    /// which the server needs; the balancer then moves chunks while programs keep working.
    /// Repeating the call changes nothing. Three more round trips for each collection. The user
    /// needs the privilege `enableSharding` on the collection, which the role `clusterManager` has.
    ///
    /// # Errors
    ///
    /// [`is_unsupported`](crate::Error::is_unsupported) if the server is not a `mongos`, and
    /// [`is_shard_key_conflict`](crate::Error::is_shard_key_conflict) if the collection has another
    /// shard key.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// Trade::create_collection(&db).sharded().await?;
    /// let trades = Trade::buckets(&db).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sharded(mut self) -> Self {
        self.settings.sharding = Some(|new| Ok(new.shard_key.clone()));
        self
    }

    /// Shards the collections by the hash of the first key field, which spreads keys evenly,
    /// whatever their values. Otherwise like [`sharded`](Self::sharded).
    pub fn sharded_hashed(mut self) -> Self {
        self.settings.sharding = Some(|new| Ok(hashed(new.shard_key.clone())));
        self
    }

    /// Shards the collection by ranges of the key fields and the time window, for keys with more
    /// buckets than one shard should hold. Writes to one window still go to one shard; reads of a
    /// key ask the shards that hold its windows. Otherwise like [`sharded`](Self::sharded).
    ///
    /// # Errors
    ///
    /// [`is_shard_key_conflict`](crate::Error::is_shard_key_conflict), before anything is sent, if
    /// the buckets have no windows (`{date/1h}`), or a field is `unique`: its index has to see all
    /// items of a key.
    pub fn sharded_by_window(mut self) -> Self {
        self.settings.sharding = Some(|new| new.window_shard_key.clone());
        self
    }

    /// Sets the driver's options for the collections that are created, such as another compressor.
    /// Their validator is always the struct's.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::{Database, bson::doc}};
    /// # use bucket_runtime::mongodb::options::CreateCollectionOptions;
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let zstd = doc! { "wiredTiger": { "configString": "block_compressor=zstd" } };
    /// let options = CreateCollectionOptions::builder().storage_engine(zstd).build();
    /// Trade::create_collection(&db).options(options).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn options(mut self, options: CreateCollectionOptions) -> Self {
        self.settings.options = options;
        self
    }
}

/// Creates all these collections.
pub(crate) fn create_all<const N: usize>(collections: [NewCollection; N]) -> CreateCollections {
    CreateCollections::new(span!(create), |settings| async move {
        let key = |new: &NewCollection| {
            let key = settings.sharding.map(|shard_key| shard_key(new));
            key.transpose()
                .map_err(|why| new.server.target().error(Kind::NoWindowShardKey(why)))
        };
        let keys = collections.iter().map(key);
        let keys = keys.collect::<Result<Vec<_>>>()?;
        for (new, key) in collections.into_iter().zip(keys) {
            // An error before anything is created, unless a `mongos` answers.
            if key.is_some() && !new.server.known_deployment().await?.is_sharded() {
                return Err(new.server.target().error(Kind::NotSharded));
            }
            create(&new.server, new.validator, settings.options.clone()).await?;
            if let Some(key) = key {
                shard(&new.server, key).await?;
            }
        }
        Ok(())
    })
}

async fn create(
    server: &Server,
    validator: Document,
    options: CreateCollectionOptions,
) -> Result<()> {
    let Err(error) = server.create(validator.clone(), options).await else {
        return Ok(());
    };
    let target = server.target();
    if !is_code(&error, Code::NamespaceExists) {
        return Err(target.write_error(error));
    }
    match target.validator().await? {
        // The name belongs to a view, or the collection is gone again.
        None => Err(target.write_error(error)),
        Some(there) if there == validator => Ok(()),
        Some(there) if there.is_empty() => target.set_validator(validator).await,
        Some(_) => {
            let kind = Kind::OtherValidator {
                collection: server.collection().name().to_owned(),
                validator: validator.to_string(),
            };
            Err(target.error(kind))
        }
    }
}

async fn shard(server: &Server, key: Document) -> Result<()> {
    let Err(error) = server.target().shard(key.clone()).await else {
        return Ok(());
    };
    Err(match server.shard_key().await {
        Some(found) if found != key => error.known_as(Kind::ShardKey {
            found: Some(found.to_string()),
            wanted: key.to_string(),
        }),
        _ => error,
    })
}
