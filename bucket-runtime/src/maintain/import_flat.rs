//! Import: writes a flat collection, with one document per item, into buckets.

mod flat;
mod pass;

use std::marker::PhantomData;

use bucket_core::{server::Server, value::unreadable::OnUnreadable};
use mongodb::{Collection, bson::Document};

use self::pass::ImportPass;
use crate::{
    Bucket, Buckets, Result, maintain::transfer::Resumptions, read::settings::unreadable_setting,
    write::engine::Engine,
};

impl<T: Bucket> Buckets<T> {
    /// Writes the documents of a flat collection, one per item, into buckets: by key, and in the
    /// order of the items' time. The flat collection does not change. A view or a time series will
    /// do as well.
    ///
    /// The flat documents have the struct's fields under their stored names; other fields are left
    /// out. The server sorts them, on its disk if there are many, so memory stays bounded on both
    /// sides. In a collection, an index on the key and the time saves the sort.
    ///
    /// The call continues where an earlier one with the same collections was dropped or killed.
    /// Each command is a transaction that also records the progress in the collection
    /// `bucket_progress` of the same database, until the import is complete. So it needs a replica
    /// set; a single member is enough. The flat documents have to stay as they are until then.
    ///
    /// When this returns `Ok`, each flat document that the call [found](ImportProgress::found) is
    /// stored once, left out because of `unique`, or was skipped.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](crate::Error::is_key_taken) if the buckets already hold one of the keys,
    /// before anything is written; [`is_deserialize`](crate::Error::is_deserialize) for a flat
    /// document that is not an item of the struct;
    /// [`is_import_overtaken`](crate::Error::is_import_overtaken). After each of them everything
    /// written so far stays, and the next call continues from there. After
    /// [`is_unverified`](crate::Error::is_unverified), since the flat collection did not stay as it
    /// was, it does not.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let import_flat = trades.import_flat(&flat).on_progress(|at| println!("{} of {}", at.stored, at.found));
    /// let done = import_flat.await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn import_flat<'s, C: Send + Sync>(&self, flat: &Collection<C>) -> ImportFlat<'s, T> {
        ImportFlat {
            engine: self.writer.engine.clone(),
            flat: flat.clone_with_type(),
            sort: None,
            is_dry: false,
            progress: Box::new(|_| ()),
            on_unreadable: None,
            item: PhantomData,
        }
    }
}

/// The progress of an [`import_flat`](crate::Buckets::import_flat).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProgress {
    /// How many items the flat collection held when the call began.
    pub found: u64,
    /// How many of them are in buckets so far, including those of earlier calls.
    pub stored: u64,
    /// How many were left out, since an item of the key had their
    /// [`unique`](macro@crate::Bucket#unique) value.
    pub left_out: u64,
    /// How many were [skipped](crate::action::ImportFlat::skip_unreadable), since they are not
    /// items of the struct.
    pub unreadable: u64,
}

/// Builder of an import of a flat collection: await it; see
/// [`Buckets::import_flat`](crate::Buckets::import_flat).
#[must_use = "nothing is imported until this is awaited"]
pub struct ImportFlat<'s, T> {
    engine: Engine,
    flat: Collection<Document>,
    sort: Option<Document>,
    is_dry: bool,
    progress: Box<dyn FnMut(ImportProgress) + Send + 's>,
    on_unreadable: Option<OnUnreadable<'s>>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> ImportFlat<'s, T> {
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

    unreadable_setting! {
        /// Leaves out the flat documents that are not items of the struct, or cannot be stored, and
        /// calls this for each, with an error that names its `_id` and the reason. Otherwise the
        /// first one ends the import.
        ///
        /// A call that continues an earlier one reports some of them again. Append those that you
        /// correct.
    }

    /// With `true` the call says what the import would do, and writes nothing: how many items the
    /// flat collection holds, how many of them an earlier call that was interrupted has stored, and
    /// how many cannot be read, each of which [`skip_unreadable`](Self::skip_unreadable) gets. It
    /// reads all of them; it does not say which ones `unique` would leave out.
    ///
    /// # Errors
    ///
    /// Those with which the import would not begin: [`is_key_taken`](crate::Error::is_key_taken),
    /// and [`is_unsupported`](crate::Error::is_unsupported) on a standalone server; without
    /// `skip_unreadable` also [`is_deserialize`](crate::Error::is_deserialize).
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let import = trades.import_flat(&flat).skip_unreadable(|error| eprintln!("{error}"));
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
            engine,
            is_dry,
            mut progress,
            mut on_unreadable,
            ..
        } = self;
        engine.server.name_call(None);
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
