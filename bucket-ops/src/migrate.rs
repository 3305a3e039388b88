//! Migration: moves the items of one struct into the buckets of another, while writers go on.
//!
//! `migrate/copy.rs` copies the old buckets in chunks, in the order of their ids; each
//! chunk is one transaction, which also writes the record (`transfer/record.rs`). An item
//! that is appended to a bucket already copied exists only as an event, and one that was there when
//! the chunk was read may be an event as well. So the change stream covers the record: the event of
//! the record's update tells which events came before the chunk was stored. These are compared with
//! the number of items that the chunk holds of each of its buckets; later ones bring only new
//! items. The next chunk is read when that event has been seen. Buckets behind the last chunk need
//! no look at their events, since they are still to be read.
//!
//! The items of a key stay in order, since a chunk is read as it was at one moment, and begins with
//! the last bucket of the chunk before: an item that was appended there is older than those of the
//! next bucket, but its event may come after these are stored.
//!
//! `import_flat` reads its chunks from the sorted flat documents (`import_flat/pass.rs`),
//! and for both calls `transfer/store.rs` is the transaction. Nobody else writes to these
//! keys, so one look at them is enough to plan what a chunk stores: one command that fills open
//! buckets, and one with whole buckets (`transfer/commands.rs`). Of a key that an import begins
//! nothing is there, so it is not looked at; the transaction checks that. If the server refuses the
//! commands after all, or an item has no place in a whole bucket, the append protocol stores the
//! items. The step in the record lets one of several calls advance; the others resume from what it
//! has stored.

mod copy;
mod event;
mod state;
mod verify;

use bucket_core::server::Server;
use bucket_runtime::{__ops::open, Bucket, Result};
use futures_util::future::BoxFuture;
use mongodb::options::{ReadConcern, ReadPreference};

use self::copy::Migration;
use crate::transfer::Resumptions;

/// The progress of a [`migrate_from`](crate::Ops::migrate_from).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MigrateProgress {
    /// How many items the old collection held when the call began.
    pub found: u64,
    /// How many items are in the new collection so far, including those of earlier calls.
    pub stored: u64,
    /// Whether all that was there is copied, so that the call follows the writers.
    pub is_following: bool,
}

/// Builder of a migration: await it; see [`Ops::migrate_from`](crate::Ops::migrate_from). The
/// output is the number of items in the new collection.
#[must_use = "nothing is migrated until this is awaited"]
pub struct Migrate<'f, O, T> {
    server: Server,
    convert: Convert<'f, O, T>,
    until: Option<BoxFuture<'f, ()>>,
    progress: ReportMigration<'f>,
}

type Convert<'f, O, T> = Box<dyn FnMut(O) -> T + Send + 'f>;
type ReportMigration<'f> = Box<dyn FnMut(MigrateProgress) + Send + 'f>;

impl<'f, O: Bucket, T: Bucket> Migrate<'f, O, T> {
    pub(crate) fn new(server: Server, convert: impl FnMut(O) -> T + Send + 'f) -> Self {
        Self {
            server,
            convert: Box::new(convert),
            until: None,
            progress: Box::new(|_| ()),
        }
    }

    /// Follows the writers of the old collection until this future is done. It is first polled when
    /// everything that was there is copied, and should be done when no program writes to the old
    /// collection any more. What they append until then is stored as it happens, so this last step
    /// takes no longer than the writers need to stop.
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<OldTrade: Bucket, Trade: Bucket + From<OldTrade>>(db: Database) -> bucket_runtime::Result<()> {
    /// # async fn deploy_the_new_writers() {}
    /// Ops::<Trade>::of(&db).migrate_from::<OldTrade>(Trade::from)
    ///     .until(deploy_the_new_writers())
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn until(mut self, stopped: impl Future<Output = ()> + Send + 'f) -> Self {
        self.until = Some(Box::pin(stopped));
        self
    }

    /// Calls this at the beginning and after each transaction.
    pub fn on_progress(mut self, progress: impl FnMut(MigrateProgress) + Send + 'f) -> Self {
        self.progress = Box::new(progress);
        self
    }

    pub(crate) async fn execute(self) -> Result<u64> {
        let engine = open::<T>(self.server, false).await?;
        engine.server.needs_replica_set("migrate_from").await?;
        let old = engine.server.database().collection(O::SPEC.collection);
        let mut old = engine.server.with_collection(old);
        // A change stream shows only what a majority has, so the copy reads only that, too.
        let (primary, majority) = (ReadPreference::Primary, ReadConcern::majority());
        old.read_with(Some(&primary), Some(&majority));
        let begun = Migration::begin(&engine, old, self.convert, self.progress);
        let mut migration = match begun.await? {
            Ok(migration) => migration,
            Err(items) => return Ok(items),
        };
        let mut resumptions = Resumptions::default();
        while let Err(error) = migration.copy_all().await {
            resumptions.count(error)?;
            migration.begin_again().await?;
        }
        if let Some(until) = self.until {
            migration.follow(until).await?;
        }
        migration.end().await
    }
}
