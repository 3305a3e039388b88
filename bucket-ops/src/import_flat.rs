//! Import: writes a flat collection, with one document per item, into buckets.

mod flat;
mod pass;

use std::marker::PhantomData;

use bucket_core::{server::Server, value::unreadable::OnUnreadable};
use bucket_runtime::{__ops::open, Bucket, Error, Result};
use mongodb::{Collection, bson::Document};

use self::pass::ImportPass;
use crate::transfer::Resumptions;

/// The progress of an [`import_flat`](crate::Ops::import_flat).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProgress {
    /// How many items the flat collection held when the call began.
    pub found: u64,
    /// How many of them are in buckets so far, including those of earlier calls.
    pub stored: u64,
    /// How many were left out, since an item of the key had their
    /// [`unique`](macro@bucket_runtime::Bucket#unique) value.
    pub left_out: u64,
    /// How many were [skipped](crate::action::ImportFlat::skip_unreadable), since they are not
    /// items of the struct.
    pub unreadable: u64,
}

/// Builder of an import of a flat collection: await it; see
/// [`Ops::import_flat`](crate::Ops::import_flat)(crate::Ops::import_flat).
#[must_use = "nothing is imported until this is awaited"]
pub struct ImportFlat<'s, T> {
    server: Server,
    flat: Collection<Document>,
    sort: Option<Document>,
    is_dry: bool,
    progress: Box<dyn FnMut(ImportProgress) + Send + 's>,
    on_unreadable: Option<OnUnreadable<'s>>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> ImportFlat<'s, T> {
    pub(crate) fn new(server: Server, flat: Collection<Document>) -> Self {
        Self {
            server,
            flat,
            sort: None,
            is_dry: false,
            progress: Box::new(|_| ()),
            on_unreadable: None,
            item: PhantomData,
        }
    }

    /// Sorts the items of a key by these fields of the flat documents, as `doc! { "date": 1 }`,
    /// instead of by their time; with `{#}` the default is by their `_id`. With time windows the
    /// time always comes first, and these fields order items of the same time.
    ///
    /// An import that continues an earlier one needs the same order.
    pub fn sort(mut self, fields: Document) -> Self {
        self.sort = Some(fields);
        self
    }

    /// Calls this at the beginning and after each command.
    pub fn on_progress(mut self, progress: impl FnMut(ImportProgress) + Send + 's) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Leaves out the flat documents that are not items of the struct, or cannot be stored, and
    /// calls this for each, with an error that names its `_id` and the reason. Otherwise the
    /// first one ends the import.
    ///
    /// A call that continues an earlier one reports some of them again. Append those that you
    /// correct.
    pub fn skip_unreadable(mut self, on_unreadable: impl FnMut(Error) + Send + 's) -> Self {
        self.on_unreadable = Some(Box::new(on_unreadable));
        self
    }

    /// With `true` the call says what the import would do, and writes nothing: how many items the
    /// flat collection holds, how many of them an earlier call that was interrupted has stored, and
    /// how many cannot be read, each of which [`skip_unreadable`](Self::skip_unreadable) gets. It
    /// reads all of them; it does not say which ones `unique` would leave out.
    ///
    /// # Errors
    ///
    /// Those with which the import would not begin:
    /// [`is_key_taken`](bucket_runtime::Error::is_key_taken), and
    /// [`is_unsupported`](bucket_runtime::Error::is_unsupported) on a standalone server; without
    /// `skip_unreadable` also [`is_deserialize`](bucket_runtime::Error::is_deserialize).
    ///
    /// ```no_run
    /// # use bucket_ops::Ops;
    /// # use bucket_runtime::{Bucket, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, ops: Ops<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let import = ops.import_flat(&flat).skip_unreadable(|error| eprintln!("{error}"));
    /// let before = import.dry_run(true).await?;
    /// println!("{} items, of which {} cannot be read", before.found, before.unreadable);
    /// # Ok(())
    /// # }
    /// ```
    pub fn dry_run(mut self, dry: bool) -> Self {
        self.is_dry = dry;
        self
    }

    pub(crate) async fn execute(self) -> Result<ImportProgress> {
        let Self {
            server,
            is_dry,
            mut progress,
            mut on_unreadable,
            ..
        } = self;
        server.needs_replica_set("import_flat").await?;
        let engine = open::<T>(server, is_dry).await?;
        let (flat, order) = (Server::new(self.flat), flat::order(&T::SPEC, self.sort));
        let mut resumptions = Resumptions::default();
        loop {
            let mut pass = ImportPass::<T>::find(&engine, &flat, &order).await?;
            if is_dry {
                return pass.look(&order, &mut on_unreadable).await;
            }
            match pass.run(&order, &mut progress, &mut on_unreadable).await {
                Ok(()) => return Ok(pass.progress()),
                Err(error) => resumptions.count(error)?,
            }
        }
    }
}
