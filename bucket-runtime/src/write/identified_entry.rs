//! An item with an identity, as calls need it that also look for the one that is there.

use bucket_core::{protocol::command::IndexedScope, schema::names::WHOLE_ITEM};
use mongodb::ClientSession;

use super::{appended::Appended, engine::Engine, item::Entry};
use crate::{Buckets, Identified, Result, read::reader::Reader};

/// An item with an identity, and its key for reads and writes.
pub(super) struct IdentifiedEntry {
    pub(super) engine: Engine,
    pub(super) reader: Reader,
    pub(super) scope: IndexedScope,
    pub(super) entry: Entry,
    /// The field with the identity.
    pub(super) field: &'static str,
}

impl IdentifiedEntry {
    pub(super) fn new<T: Identified>(buckets: &Buckets<T>, item: &T) -> Result<Self> {
        let engine = buckets.engine();
        let (scope, entry) = engine.entry(item)?;
        Ok(Self {
            reader: buckets.reader(item.key()),
            engine,
            scope,
            entry,
            field: T::SPEC.unique.unwrap_or(WHOLE_ITEM),
        })
    }

    /// Appends the item, unless it is there.
    pub(super) async fn append(&self, session: Option<&mut ClientSession>) -> Result<Appended> {
        let (scope, entry) = (self.scope.clone(), self.entry.clone());
        self.engine.append_one(scope, entry, session).await
    }
}
