//! A struct that commands work on.

use std::error::Error;
use std::marker::PhantomData;
use std::path::Path;

use bucket_runtime::action::CreateCollections;
use bucket_runtime::mongodb::Database;
use bucket_runtime::{Bucket, Outlier, RequiredIndex};
use futures_util::future::BoxFuture;

use crate::arguments::Only;
use crate::buckets::BucketTarget;
use crate::outliers::OutlierTarget;
use crate::report::Report;

/// Why a command failed.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// A command on its way.
pub(crate) type Call<'c> = BoxFuture<'c, Result<Report, Failure>>;

/// How collections are distributed.
#[derive(Debug, Clone, Copy)]
pub enum Sharding {
    /// Sharded by ranges of the key.
    Ranged,
    /// Sharded by the hash of the first key field.
    Hashed,
    /// Sharded by the key and the time window.
    ByWindow,
}

impl Sharding {
    /// Shards the collections as they are created.
    pub(crate) fn apply(self, create: CreateCollections) -> CreateCollections {
        match self {
            Self::Ranged => create.sharded(),
            Self::Hashed => create.sharded_hashed(),
            Self::ByWindow => create.sharded_by_window(),
        }
    }
}

/// A struct that commands work on.
pub trait Target: Send + Sync {
    /// The struct's name.
    fn name(&self) -> &str;

    /// The collections' names.
    fn collections(&self) -> Vec<&'static str>;

    /// All indexes.
    fn indexes(&self) -> Vec<RequiredIndex>;

    /// Opens the collections, and creates missing indexes or not.
    fn open<'c>(
        &'c self,
        db: &'c Database,
        create: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<()>>;

    /// Reads everything, and lists the problems.
    fn verify<'c>(&'c self, db: &'c Database) -> BoxFuture<'c, bucket_runtime::Result<Report>>;

    /// Repairs what needs no guessing, and lists the remaining problems.
    fn repair<'c>(
        &'c self,
        db: &'c Database,
        delete_orphans: bool,
    ) -> BoxFuture<'c, bucket_runtime::Result<Report>>;

    /// Describes the collections.
    fn stats<'c>(&'c self, db: &'c Database) -> Call<'c>;

    /// Creates the collections.
    fn create(&self, db: &Database) -> CreateCollections;

    /// The shard key, as text.
    fn shard_key(&self, sharding: Sharding) -> String;

    /// Recommends a threshold.
    fn advise<'c>(&'c self, _: &'c Database) -> Call<'c> {
        self.cannot("advise")
    }

    /// Changes the capacity.
    fn change_capacity<'c>(&'c self, _: &'c Database, _repack: bool, _dry: bool) -> Call<'c> {
        self.cannot("change-capacity")
    }

    /// Imports a flat collection.
    fn import_flat<'c>(&'c self, _: &'c Database, _flat: &'c str, _dry: bool) -> Call<'c> {
        self.cannot("import-flat")
    }

    /// Writes buckets to a file.
    fn export<'c>(&'c self, _: &'c Database, _file: &'c Path, _only: &'c Only) -> Call<'c> {
        self.cannot("export")
    }

    /// Reads buckets from a file.
    fn import<'c>(&'c self, _: &'c Database, _file: &'c Path, _dry: bool) -> Call<'c> {
        self.cannot("import")
    }

    /// The failure of a command that the struct's pattern does not have.
    fn cannot(&self, command: &'static str) -> Call<'static> {
        let failure = format!("`{command}` does not work on {}", self.name());
        Box::pin(async move { Err(failure.into()) })
    }
}

/// Stands for a struct. By method resolution, `&Of<T>` has the `target` of the
/// pattern that `T` derives.
pub struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    /// Makes one.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "only the macro makes one")]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Makes the target of a struct that derives `Bucket`.
pub trait OfBucket {
    /// The target, with this name.
    fn target(&self, name: &str) -> Box<dyn Target>;
}

impl<T: Bucket> OfBucket for Of<T> {
    fn target(&self, name: &str) -> Box<dyn Target> {
        Box::new(BucketTarget::<T>::new(last_segment(name)))
    }
}

/// Makes the target of a struct that derives `Outlier`.
pub trait OfOutlier {
    /// The target, with this name.
    fn target(&self, name: &str) -> Box<dyn Target>;
}

impl<T: Outlier> OfOutlier for &Of<T> {
    fn target(&self, name: &str) -> Box<dyn Target> {
        Box::new(OutlierTarget::<T>::new(last_segment(name)))
    }
}

/// `my_app :: Trade` is `Trade`.
fn last_segment(path: &str) -> String {
    let last = path.rsplit("::").next();
    last.unwrap_or(path).trim().to_owned()
}
