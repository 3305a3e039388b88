//! Opens a collection: makes sure that the index behind the guarantees exists and is the right one.

pub(crate) mod create;
pub(crate) mod indexes;
pub(crate) mod stored;

use bucket_core::{
    error::Kind,
    protocol::range::Range,
    server::Server,
    value::{bytes, shell},
};
use mongodb::bson::{RawDocumentBuf, doc};

pub use self::indexes::check_indexes;
use self::indexes::check_indexes_of_any_capacity;
pub(crate) use self::indexes::{must_exist, open};
use self::stored::check_stored;
use crate::{
    Bucket, Buckets, Result,
    call::Call,
    read::stored_bucket::StoredBucket,
    write::{append::Writer, combine::Combiner, engine::Engine},
};

/// An opened collection of buckets: await it; see [`Bucket::buckets`].
pub type OpenBuckets<T> = Call<'static, Buckets<T>, OpenSettings>;

/// The settings of opening collections.
#[derive(Default)]
pub struct OpenSettings {
    pub(crate) sends_alone: bool,
    pub(crate) creates_nothing: bool,
    pub(crate) checks_items: bool,
    pub(crate) takes_capacity: bool,
    pub(crate) traces_keys: bool,
}

impl<T> Call<'_, T, OpenSettings> {
    /// Whether to create the indexes that are missing. The default is `true`. With `false` somebody
    /// else creates them (see [`Bucket::indexes`] and
    /// [`Outlier::indexes`](crate::Outlier::indexes)), and opening only checks; behind a `mongos`,
    /// those of one shard.
    ///
    /// # Errors
    ///
    /// [`is_index_missing`](crate::Error::is_index_missing), with the commands that create the
    /// missing ones.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let trades = Trade::buckets(&db).create_indexes(false).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_indexes(mut self, create: bool) -> Self {
        self.settings.creates_nothing = !create;
        self
    }

    /// Whether the spans of the handle's calls name the key (the field `bucket.key`). The default
    /// is `false`, since a key may be personal data. Needs the feature `tracing`, see
    /// [`guide::tracing`](crate::guide::tracing).
    #[cfg(feature = "tracing")]
    pub fn trace_keys(mut self, trace: bool) -> Self {
        self.settings.traces_keys = trace;
        self
    }
}

impl<T: Bucket> OpenBuckets<T> {
    /// Whether appends that wait at the same time share commands; see [`Buckets::append`]. The
    /// default is `true`.
    pub fn combine(mut self, combine: bool) -> Self {
        self.settings.sends_alone = !combine;
        self
    }

    /// Whether to read the bucket that was opened last, and to refuse the collection if the struct
    /// cannot read some item of it; on a cluster, the last one of some shard. One more round trip.
    ///
    /// The key fields and the capacity are in the collection's index, so opening notices another
    /// struct with others. One that has the same key and capacity, and other fields, is noticed
    /// only here: otherwise both store their items in the same buckets, and the reads of each fail
    /// at the items of the other. The default is `false`, since a struct whose fields have changed
    /// may append without reading older items.
    ///
    /// # Errors
    ///
    /// [`is_deserialize`](crate::Error::is_deserialize), with the bucket's id and the reason.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let trades = Trade::buckets(&db).check_items(true).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_items(mut self, check: bool) -> Self {
        self.settings.checks_items = check;
        self
    }

    /// Whether to take the capacity that the collection has, if it is another one than the
    /// struct's. So both versions of a program can start before and after a [change of the
    /// capacity](https://docs.rs/bucket-ops/latest/bucket_ops/struct.Ops.html#method.change_capacity).
    /// The default is `false`.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database) -> bucket_runtime::Result<()> {
    /// let trades = Trade::buckets(&db).stored_capacity(true).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stored_capacity(mut self, take: bool) -> Self {
        self.settings.takes_capacity = take;
        self
    }
}

/// Opens the collection of buckets.
pub(crate) async fn open_buckets<T: Bucket>(
    server: Server,
    settings: OpenSettings,
) -> Result<Buckets<T>> {
    let server = server.tracing_keys(settings.traces_keys);
    server.known_deployment().await?;
    let indexes = match settings.takes_capacity {
        true => check_indexes_of_any_capacity(&server, &T::SPEC).await?,
        false => check_indexes(&server, &T::SPEC).await?,
    };
    if settings.creates_nothing {
        must_exist(&[(&server, &indexes.lacking)])?;
    }
    // A collection that does not exist has no index.
    if !indexes.found.is_empty() {
        check_stored::<T>(&server).await?;
    }
    let index = open(&server, &T::SPEC, indexes, !settings.creates_nothing).await?;
    if settings.checks_items {
        check_items::<T>(&server).await?;
    }
    let engine = Engine::new(server, index);
    let combiner = (!settings.sends_alone).then(Combiner::default);
    Ok(Buckets::new(Writer { engine, combiner }))
}

/// An error if the newest bucket holds an item that cannot be read.
async fn check_items<T: Bucket>(server: &Server) -> Result<()> {
    let newest = Range {
        sort: Some(doc! { "$natural": -1 }),
        limit: Some(1),
        ..Range::unordered()
    };
    let filled = doc! { T::SPEC.count: { "$gt": 0 } };
    let target = server.target();
    let rows = target.find(filled, newest).rows::<RawDocumentBuf>(None);
    for row in rows.await? {
        if let Err(error) = bytes::read::<StoredBucket<T>>(row.as_bytes()) {
            let kind = Kind::OtherItems(shell::id(&row));
            return Err(target.error(kind).with_driver(error));
        }
    }
    Ok(())
}
