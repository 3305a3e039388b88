//! Import: writes a flat collection, with one document per item, into buckets.

mod flat;
mod pass;

use mongodb::{Collection, bson::Document};

use self::pass::ImportPass;
use crate::{
    Bucket, Buckets, Result, maintain::transfer::Resumptions, server::Server, write::engine::Engine,
};

impl<T: Bucket> Buckets<T> {
    /// Writes the documents of a flat collection, one per item, into buckets: by key, and in the order
    /// of the items' time. The flat collection does not change.
    ///
    /// The flat documents have the struct's fields under their stored names; other fields are left out.
    /// The server sorts them, on its disk if there are many, so memory stays bounded on both sides; an
    /// index on the key and the time saves the sort.
    ///
    /// The call continues where an earlier one with the same collections was dropped or killed. Each command
    /// is a transaction that also records the progress in the collection `bucket_progress` of the same
    /// database, until the import is complete. So it needs a replica set; a single member is enough.
    /// Flat documents that are added or removed between the two calls may be missed.
    ///
    /// # Errors
    ///
    /// [`is_key_taken`](crate::Error::is_key_taken) if the buckets already hold one of the keys, before
    /// anything is written; [`is_deserialize`](crate::Error::is_deserialize) for a flat document that
    /// the struct cannot read; [`is_import_overtaken`](crate::Error::is_import_overtaken). After each of
    /// them everything written so far stays, and the next call continues from there.
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
    pub fn import_flat<C: Send + Sync>(&self, flat: &Collection<C>) -> ImportFlat<'static, T> {
        ImportFlat::new(self.writer.engine.clone(), flat.clone_with_type())
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
}

/// Builder of an import of a flat collection: await it; see
/// [`Buckets::import_flat`](crate::Buckets::import_flat).
#[must_use = "nothing is imported until this is awaited"]
pub struct ImportFlat<'p, T> {
    engine: Engine,
    flat: Collection<Document>,
    sort: Option<Document>,
    is_dry: bool,
    progress: Box<dyn FnMut(ImportProgress) + Send + 'p>,
    item: std::marker::PhantomData<fn() -> T>,
}

impl<'p, T: Bucket> ImportFlat<'p, T> {
    pub(crate) fn new(engine: Engine, flat: Collection<Document>) -> Self {
        Self {
            engine,
            flat,
            sort: None,
            is_dry: false,
            progress: Box::new(|_| ()),
            item: std::marker::PhantomData,
        }
    }

    /// Sorts the items of a key by these fields of the flat documents, as `doc! { "date": 1 }`, instead
    /// of by their time; with `{#}` the default is by their `_id`. With time windows the time always
    /// comes first, and these fields order items of the same time.
    ///
    /// An import that continues an earlier one needs the same order.
    pub fn sort(mut self, fields: Document) -> Self {
        self.sort = Some(fields);
        self
    }

    /// Calls this at the beginning and after each command.
    pub fn on_progress<'q>(
        self,
        progress: impl FnMut(ImportProgress) + Send + 'q,
    ) -> ImportFlat<'q, T> {
        ImportFlat {
            engine: self.engine,
            flat: self.flat,
            sort: self.sort,
            is_dry: self.is_dry,
            progress: Box::new(progress),
            item: self.item,
        }
    }

    /// With `true` the call says what the import would begin with, and writes nothing: how many items the flat
    /// collection holds, and how many of them an earlier call that was interrupted has stored. The server counts the
    /// documents, and reads all keys unless the buckets are empty or there was such a call.
    ///
    /// # Errors
    ///
    /// Those with which the import would not begin: [`is_key_taken`](crate::Error::is_key_taken), and
    /// [`is_unsupported`](crate::Error::is_unsupported) on a standalone server.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, mongodb::Database};
    /// # async fn example<Trade: Bucket>(db: Database, trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// let flat = db.collection::<Trade>("flat_trades");
    /// let before = trades.import_flat(&flat).dry_run(true).await?;
    /// println!("{} items, of which {} are stored", before.found, before.stored);
    /// # Ok(())
    /// # }
    /// ```
    pub fn dry_run(mut self, dry: bool) -> Self {
        self.is_dry = dry;
        self
    }

    pub(crate) async fn execute(mut self) -> Result<ImportProgress> {
        self.engine.server.called_for(None);
        let flat = Server::new(self.flat);
        let order = flat::order(&T::SPEC, self.sort);
        let mut resumptions = Resumptions::default();
        loop {
            let mut pass = ImportPass::<T>::find(&self.engine, &flat, &order).await?;
            if self.is_dry {
                return Ok(pass.progress());
            }
            match pass.run(&order, &mut self.progress).await {
                Ok(()) => return Ok(pass.progress()),
                Err(error) => resumptions.count(error)?,
            }
        }
    }
}
