//! One parent, as calls about it see it: where their requests go, and how full the parent is.

use bucket_core::{
    error::Kind,
    protocol::{
        command::{IndexedScope, identity, twins},
        range::Range,
    },
    server::target::Target,
    value::{
        bytes,
        element::{Element, Refusal},
        number::whole,
        raw_field::RawField,
        read_back,
        shell::{id_of, shell},
    },
};
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocument, doc},
};

use super::{Outlier, collections::OutlierCollections, command::ParentScope};
use crate::{Error, Result};

/// One parent with its extras.
#[derive(Clone)]
pub struct ParentHandle {
    /// The collections that hold it.
    pub collections: OutlierCollections,
    /// The parent, as commands name it.
    pub scope: ParentScope,
}

/// The room that a parent has taken, and whether it is flagged.
#[derive(Default)]
pub struct ParentState {
    pub(crate) length: usize,
    pub(crate) flagged: bool,
    /// The parent's size in bytes.
    pub(crate) bytes: usize,
    /// Whether it has no total although the struct keeps one.
    pub(crate) lacks_total: bool,
    /// Those of the identities asked for that its array holds.
    pub held: Vec<Bson>,
}

impl OutlierCollections {
    pub(crate) fn parent(&self, extras: IndexedScope) -> ParentHandle {
        ParentHandle {
            collections: self.clone(),
            scope: self.scope(extras),
        }
    }

    /// The parent with these extras.
    pub(crate) fn scope(&self, extras: IndexedScope) -> ParentScope {
        let spec = self.spec;
        ParentScope { spec, extras }
    }
}

impl ParentHandle {
    /// The target of requests to the parents' collection.
    pub fn parent(&self) -> Target<'_> {
        self.collections.parents.target_of(&self.scope.extras)
    }

    /// The target of requests to the extras' collection.
    pub fn extras(&self) -> Target<'_> {
        // Spans name the parents' collection.
        self.collections.parents.name_call(Some(&self.scope.extras));
        self.collections.extras.target_of(&self.scope.extras)
    }

    /// An error if this document of the extras' collection was stored by another program.
    pub fn check_extras_document(&self, row: &RawDocument) -> Result<()> {
        let extras = &self.scope.extras;
        match row.get_str("_id").is_ok_and(|id| extras.owns(id)) {
            true => Ok(()),
            false => Err(self.extras().error(extras.foreign(&id_of(row)))),
        }
    }

    /// An error if other programs stored extras of the parent, where items have an identity: the
    /// unique index does not see items of documents without a count. A parent that is known has no
    /// such extras.
    pub(crate) async fn check_extras(&self, session: Option<&mut ClientSession>) -> Result<()> {
        if self.scope.spec.unique.is_none() || self.is_known() {
            return Ok(());
        }
        let id = Range::unordered().project(doc! { "_id": 1 });
        let foreign = self.extras().find(self.scope.foreign_extras(), id);
        if let Some(foreign) = foreign.read_primary().first(session).await? {
            let id = foreign.get("_id").unwrap_or(&Bson::Null);
            return Err(self.extras().error(self.scope.extras.foreign(id)));
        }
        self.remember();
        Ok(())
    }

    /// An error of this crate that concerns the parent.
    pub fn error(&self, kind: Kind) -> Error {
        self.parent().error(kind)
    }

    /// The error of an item in the parent's array that cannot be read.
    pub(crate) fn unreadable_kind(&self) -> Kind {
        Kind::UnreadableParent(shell(self.scope.id()))
    }

    /// A parent as it is stored; an error if it may not be, or would not be read as it is. A
    /// flattened field may hold the name `known`.
    pub(crate) fn stored_parent<T: Outlier>(
        &self,
        parent: &T,
        known: Option<&str>,
    ) -> Result<Document> {
        if let Some(field) = parent.too_long() {
            return Err(self.error(Kind::TooLong(field)));
        }
        let read = |written: RawField<'_>| Element::of(&bytes::read::<T>(written.value)?);
        let names = T::FLATTENED.map_or(Ok(()), |flattened| flattened.check(parent, known));
        let is_flat = const { T::FLATTENED.is_some() };
        match names.and_then(|()| read_back::stored(parent, is_flat, read)) {
            Ok(Bson::Document(parent)) => Ok(parent),
            Ok(_) => Err(self.error(Kind::Serialize)),
            Err(refusal) => Err(self.unwritten(refusal)),
        }
    }

    /// An error of a value that cannot be stored.
    pub(crate) fn unwritten(&self, refusal: Refusal) -> Error {
        self.error(Kind::of_unwritten(&*refusal))
            .with_source(refusal)
    }

    /// An error if two of these items have the same identity, or none, which the unique index takes
    /// for the same one.
    pub fn check_twins(&self, elements: &[Bson]) -> Result<()> {
        let Some(field) = self.scope.spec.unique else {
            return Ok(());
        };
        let mut without = elements
            .iter()
            .filter(|item| identity(field, item).is_none());
        let twin = twins(field, elements).next();
        match twin.or_else(|| without.nth(1).map(|_| &Bson::Null)) {
            Some(twin) => Err(self.error(Kind::Twins(shell(twin)))),
            None => Ok(()),
        }
    }

    /// Adds a number of extras to the parent's total, if it has one, in the transaction that stores
    /// or removes them; returns whether the parent is there, with its flag.
    pub(crate) async fn count_extras(
        &self,
        items: i64,
        session: &mut ClientSession,
    ) -> Result<bool> {
        let is_counted = match self.scope.add_to_total(items) {
            Some(count) => self.parent().modify(count, &mut *session).await?,
            None => false,
        };
        Ok(is_counted || self.is_flagged(Some(session)).await?)
    }

    /// Whether the handle knows the parent to be an outlier.
    pub(crate) fn is_known(&self) -> bool {
        self.collections.known.contains(&self.scope.extras.prefix)
    }

    /// Remembers that the parent is an outlier.
    pub fn remember(&self) {
        self.collections.known.remember(&self.scope.extras.prefix);
    }

    /// Forgets that the parent is an outlier.
    pub(crate) fn forget(&self) {
        self.collections.known.forget(&self.scope.extras.prefix);
    }

    /// Reads whether the parent is there, with its flag.
    pub(crate) async fn is_flagged(&self, session: Option<&mut ClientSession>) -> Result<bool> {
        let id = Range::unordered().project(doc! { "_id": 1 });
        let flagged = self.parent().find(self.scope.flagged(), id);
        Ok(flagged.read_latest().first(session).await?.is_some())
    }

    /// Reads how full the parent is, if it exists, and which of these items' identities its array
    /// holds; for a write, as the primary has it.
    pub async fn read_state(
        &self,
        elements: &[Bson],
        for_a_write: bool,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<ParentState>> {
        let fields = Range::unordered().project(self.scope.state_fields(elements));
        let read = self.parent().find(self.scope.parent(), fields);
        let read = match for_a_write {
            true => read.read_primary(),
            false => read,
        };
        let fields = read.first(session).await?;
        Ok(fields.map(|fields| ParentState {
            length: number(&fields, "length") as usize,
            flagged: fields.get_bool("flag").unwrap_or(false),
            bytes: number(&fields, "bytes") as usize,
            lacks_total: fields.get_bool("lacksTotal").unwrap_or(false),
            held: held(&fields),
        }))
    }
}

/// The identities in a result of the server's.
pub fn held(fields: &Document) -> Vec<Bson> {
    let held = fields.get_array("held");
    held.map_or_else(|_| Vec::new(), Clone::clone)
}

/// A number in a result of the server's; 0 if there is none.
pub fn number(fields: &Document, name: &str) -> u64 {
    let number = fields.get(name).and_then(whole);
    number.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}
