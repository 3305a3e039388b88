//! The list of a parent's items that a read goes through, and its sections. A token belongs to one list.

use mongodb::{
    ClientSession,
    bson::{RawBsonRef, RawDocument, RawDocumentBuf, doc},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use crate::{
    Result,
    error::Kind,
    outlier::{command::OwnItems, parent_handle::ParentHandle},
    protocol::query::{ItemPosition, Query, QueryStart},
    read::items::ItemToken,
    server::{cursor::DocumentCursor, target::Target},
    value::{
        bytes,
        fingerprint::{fingerprint, of_elements},
        unreadable::read_value,
    },
};

/// The items of a parent that match a query.
pub(super) struct ParentList {
    pub(super) parent: ParentHandle,
    pub(super) query: Query,
}

/// A section of a parent's items, read by a command of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// The parent's own array.
    Own,
    /// The parent's own array, unless the parent is flagged.
    OwnUnlessFlagged,
    Extras,
}

/// A row: one item of a section.
pub(super) struct ParentRow {
    pub(super) section: Section,
    /// The number of elements before the item in its array.
    pub(super) number: u32,
    pub(super) bytes: RawDocumentBuf,
}

impl Section {
    /// The sections in the order of a read.
    ///
    /// Newest first, the parent comes last if it is flagged. So its array is asked for in the first command
    /// only if there are no others.
    pub(super) fn all(newest_first: bool) -> &'static [Self] {
        match newest_first {
            false => &[Self::Own, Self::Extras],
            true => &[Self::OwnUnlessFlagged, Self::Extras, Self::Own],
        }
    }

    pub(super) fn is_own(self) -> bool {
        self != Self::Extras
    }
}

impl ParentList {
    /// The target of requests to a section.
    pub(super) fn target(&self, section: Section) -> Target<'_> {
        match section.is_own() {
            true => self.parent.parent(),
            false => self.parent.extras(),
        }
    }

    /// The items of a section that a query gives, from a start on, each in a row of its own.
    pub(super) async fn rows<'s>(
        &self,
        section: Section,
        query: &Query,
        start: Option<&QueryStart>,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, RawDocumentBuf>> {
        let (target, scope) = (self.target(section), &self.parent.scope);
        let (spec, at) = (scope.extras.spec, start.and_then(|start| start.at));
        let asked = match section {
            Section::Extras => {
                let key = Some(&scope.extras.key);
                let unwound = || query.pipeline(spec, key, start);
                let whole = query.whole_buckets(spec, key, start);
                return target.items(whole, unwound, session).await;
            }
            Section::OwnUnlessFlagged => OwnItems::UnlessFlagged,
            Section::Own => at.map_or(OwnItems::All, OwnItems::From),
        };
        let unwound = || scope.own_items(query, asked);
        let whole = scope.whole_parent(query, asked);
        target.items(whole, unwound, session).await
    }

    /// Where a query for single items starts, to go on at a position.
    pub(super) fn start(&self, section: Section, position: &ItemPosition) -> QueryStart {
        let start = position.start(self.query.newest_first);
        match section {
            Section::Extras => QueryStart {
                id: self.parent.scope.extras.id(&start.id),
                ..start
            },
            _ => start,
        }
    }

    /// The items of a position's document that match: the number of elements before each, and its fingerprint.
    pub(super) async fn elements(
        &self,
        section: Section,
        position: &ItemPosition,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<(u32, u32)>> {
        let scope = &self.parent.scope;
        let query = self.query.of_all_matches();
        let pipeline = match section.is_own() {
            true => scope.own_items(&query, OwnItems::All),
            false => {
                let document = scope.extras.bucket(&scope.extras.id(&position.bucket));
                query.items_of(scope.extras.spec, document)
            }
        };
        let rows = self.target(section).pipeline(pipeline);
        let mut rows = rows.cursor::<RawDocumentBuf>(session).await?;
        let mut elements = Vec::new();
        while let Some(row) = rows.next_row().await? {
            elements.extend(self.numbered_element(&row));
        }
        Ok(elements)
    }

    /// Counts the items of the extras that match.
    pub(super) async fn count_extras(&self, session: Option<&mut ClientSession>) -> Result<u64> {
        let extras = &self.parent.scope.extras;
        let count = self.query.count(extras.spec, Some(extras));
        self.parent.extras().pipeline(count).sum(session).await
    }

    /// The only element of a row: the number of elements before it, and its fingerprint.
    pub(super) fn numbered_element(&self, row: &RawDocument) -> Option<(u32, u32)> {
        let number = self.parent.scope.number_in(row)?;
        let names = self.query.telling_names(self.parent.scope.spec.unique);
        let items = self.parent.scope.extras.spec.items;
        let element = of_elements(row, items, names.as_deref(), 0..1);
        Some((number, *element.first()?))
    }

    /// Reads the item of a row.
    pub(super) fn item<I: DeserializeOwned>(&self, row: &ParentRow) -> Result<I> {
        let spec = self.parent.scope.spec;
        let target = self.target(row.section);
        let item = match self.element(&row.bytes) {
            Some(RawBsonRef::Document(item)) => bytes::read(item.as_bytes()),
            Some(item) => read_value(item),
            None => Err(DriverError::custom("it is missing")),
        };
        item.map_err(|error| {
            let items = match row.section.is_own() {
                true => spec.items,
                false => spec.extra_items,
            };
            let error = format!("{items}.{}: {}", row.number, bytes::reason(&error));
            let error = DriverError::custom(error);
            match row.section.is_own() {
                true => target.unreadable_parent(&row.bytes, error),
                false => target.unreadable(&row.bytes, error),
            }
        })
    }

    /// The only element of a row.
    fn element<'r>(&self, row: &'r RawDocument) -> Option<RawBsonRef<'r>> {
        let elements = row.get_array(self.parent.scope.extras.spec.items).ok()?;
        elements.get(0).ok()?
    }
}

/// Tokens, and the documents that positions are in. A position has such a document as text: nothing for the
/// parent, and the number of an extras document.
impl ParentList {
    /// The section and the position of a token, if the token belongs to this list.
    pub(super) fn position(&self, token: &ItemToken) -> Result<(Section, ItemPosition)> {
        if token.list != self.fingerprint() {
            return Err(self.parent.error(Kind::TokenMismatch));
        }
        let position = token.position.clone();
        let section = match position.bucket.is_empty() {
            true => Section::Own,
            false => Section::Extras,
        };
        Ok((section, position))
    }

    /// The token of a position.
    pub(super) fn token(&self, position: ItemPosition) -> ItemToken {
        ItemToken {
            list: self.fingerprint(),
            position,
        }
    }

    /// The document of a row as text.
    pub(super) fn document_of(&self, section: Section, row: &RawDocument) -> Option<String> {
        match section {
            Section::Own | Section::OwnUnlessFlagged => Some(String::new()),
            Section::Extras => {
                let prefix = self.parent.scope.extras.prefix.as_str();
                Some(row.get_str("_id").ok()?.strip_prefix(prefix)?.to_owned())
            }
        }
    }

    /// Identifies this list.
    fn fingerprint(&self) -> u64 {
        let Self { parent, query } = self;
        fingerprint(&doc! {
            "collection": parent.collections.parents.name(),
            "items": parent.scope.spec.items,
            "parent": &parent.scope.extras.prefix,
            "filter": query.filter.flat(""),
            "names": query.names.clone(),
        })
    }
}
