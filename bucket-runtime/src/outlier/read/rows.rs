//! A read of single items of a parent, section after section: with a filter, a limit, a skip or a
//! token.
//!
//! The sections are the parent's array and the extras, each read by a command of its own. The first
//! command must show at once the items and whether the parent is flagged, or pushes between two
//! reads would go unseen; so a row behind the items bears the flag, even where a filter leaves no
//! item (`outlier/command/items.rs`). Newest first, the parent's array comes last if it is flagged,
//! and then the first command sends none of it.

use std::slice;

use bucket_core::{
    error::Kind,
    protocol::query::Query,
    server::{call::Calls, read::cursor::DocumentCursor},
    value::{
        bytes,
        unreadable::{OnUnreadable, read_value},
    },
};
use mongodb::{
    ClientSession,
    bson::{RawBsonRef, RawDocument, RawDocumentBuf},
    error::Error as DriverError,
};
use serde::de::DeserializeOwned;

use super::section::{Section, SectionRows};
use crate::{
    Error, Result,
    outlier::parent_handle::ParentHandle,
    read::items::{ItemList, ItemToken, ReadPlace, RowSource, resume},
};

/// The rows of a read, in the order of the list.
pub(super) struct ParentRows<'s> {
    parent: ParentHandle,
    pub(super) list: ItemList,
    /// The sections that are still to be read.
    sections: slice::Iter<'static, Section>,
    /// The section that is being read.
    pub(super) section: Section,
    cursor: Option<DocumentCursor<'s>>,
    /// The session, while no cursor has it.
    session: Option<&'s mut ClientSession>,
    on_unreadable: Option<OnUnreadable<'s>>,
    /// The number of items that are still to be skipped.
    skip: u64,
    /// Whether the server skips them in the parent's own array.
    skips_own: bool,
    /// The number of items that are still to be given, if there is a limit.
    left: Option<u64>,
    /// Whether the parent is flagged, as far as its rows have shown.
    is_flagged: bool,
    pub(super) place: ReadPlace,
    /// The call that reads.
    calls: Calls,
}

impl<'s> ParentRows<'s> {
    /// Starts a read, after a token if there is one.
    pub(super) async fn start(
        parent: ParentHandle,
        query: Query,
        session: Option<&'s mut ClientSession>,
        on_unreadable: Option<OnUnreadable<'s>>,
        after: Option<&ItemToken>,
    ) -> Result<Self> {
        let list = ItemList {
            spec: parent.scope.extras.spec,
            target: parent.extras().into_owned(),
            query,
        };
        let start = after.map(|token| list.position_of(token)).transpose();
        let start = start.map_err(|_| parent.error(Kind::TokenMismatch))?;
        let mut rows = Self {
            sections: Section::all(list.query.newest_first).iter(),
            section: Section::Own,
            cursor: None,
            session,
            on_unreadable,
            skip: list.query.skip,
            skips_own: false,
            left: list.query.limit,
            is_flagged: false,
            place: ReadPlace::default(),
            calls: Calls::current(),
            parent,
            list,
        };
        let Some(position) = start else {
            return Ok(rows);
        };
        let section = match position.bucket == rows.list.prefix() {
            true => Section::Own,
            false => Section::Extras,
        };
        rows.sections.find(|first| **first == section);
        rows.section = section;
        let mut neighbour = None;
        if rows.left != Some(0) {
            let source = SectionRows(&rows.parent, &rows.list, section);
            let (cursor, given) = resume(&source, position.clone(), rows.session.take()).await?;
            let scope = &rows.parent.scope;
            rows.is_flagged = given.iter().any(|row| scope.is_flagged_in(row));
            (rows.cursor, neighbour) = (Some(cursor), given);
        }
        rows.place = ReadPlace::new(Some(position), neighbour);
        Ok(rows)
    }

    /// The next row. Whoever gives it notes that in `place`.
    pub(super) async fn next(&mut self) -> Result<Option<RawDocumentBuf>> {
        while self.left != Some(0) {
            let Some(cursor) = &mut self.cursor else {
                let calls = self.calls.clone();
                match calls.carry(self.open_next()).await? {
                    true => continue,
                    false => break,
                }
            };
            let Some(row) = cursor.next_decoded::<RawDocumentBuf>().await? else {
                self.session = self.cursor.take().and_then(DocumentCursor::into_session);
                // A parent that is not flagged has no extras.
                if self.section.is_own() && !self.is_flagged {
                    self.sections = [].iter();
                }
                continue;
            };
            if !self.section.is_own() {
                self.parent.check_extras_document(&row)?;
            }
            let scope = &self.parent.scope;
            self.is_flagged |= scope.is_flagged_in(&row);
            let number = scope.number_in(&row);
            if std::mem::take(&mut self.skips_own) {
                let waits = self.section == Section::OwnUnlessFlagged && self.is_flagged;
                let length = scope.own_length_in(&row);
                let skipped = if waits { 0 } else { length };
                self.skip = number.map_or(self.skip.saturating_sub(skipped), |_| 0);
            }
            // The row behind the parent's own items is not an item.
            if number.is_none() {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                self.place.note_given(row);
                continue;
            }
            self.left = self.left.map(|left| left - 1);
            return Ok(Some(row));
        }
        Ok(None)
    }

    /// Reads the item of the last row. An unreadable one is an error, unless a callback takes it.
    pub(super) fn read<I: DeserializeOwned>(&mut self, row: &RawDocument) -> Result<Option<I>> {
        let item = match self.parent.scope.element_in(row) {
            Some(RawBsonRef::Document(item)) => bytes::read(item.as_bytes()),
            Some(item) => read_value(item),
            None => Err(DriverError::custom("it is missing")),
        };
        let item = item.map_err(|error| self.unreadable(row, &error));
        match (item, &mut self.on_unreadable) {
            (Err(error), Some(report)) => {
                report(error);
                Ok(None)
            }
            (item, _) => item.map(Some),
        }
    }

    /// The number of elements before the item of a row in its array.
    pub(super) fn number_of(&self, row: &RawDocument) -> u32 {
        self.parent.scope.number_in(row).unwrap_or_default()
    }

    /// The error of an item that cannot be read.
    fn unreadable(&self, row: &RawDocument, error: &DriverError) -> Error {
        let (parent, is_own) = (&self.parent, self.section.is_own());
        let spec = parent.scope.spec;
        let items = if is_own { spec.items } else { spec.extra_items };
        let error = format!("{items}.{}: {}", self.number_of(row), bytes::reason(error));
        let error = DriverError::custom(error);
        match is_own {
            true => parent.error(parent.unreadable_kind()).with_driver(error),
            false => parent.extras().unreadable(row, error),
        }
    }

    /// Opens the next section that the read does not skip as a whole, if there is one.
    async fn open_next(&mut self) -> Result<bool> {
        while let Some(section) = self.sections.next() {
            self.section = *section;
            let mut query = Query {
                skip: 0,
                ..self.list.query.clone()
            };
            // Up to a document's items are cheaper to leave out here.
            let capacity = u64::from(self.list.spec.capacity);
            if section.is_own() {
                self.skips_own = self.skip > 0 && query.filter.is_everything();
                query.skip = if self.skips_own { self.skip } else { 0 };
            } else if self.skip >= capacity {
                // Where the parent's own items follow, a count tells whether all are skipped.
                if !self.sections.as_slice().is_empty() {
                    let extras = &self.parent.scope.extras;
                    let count = query.count(extras.spec, Some(extras));
                    let count = self.parent.extras().pipeline(count);
                    let count = count.sum(self.session.as_deref_mut()).await?;
                    if count <= self.skip {
                        self.skip -= count;
                        continue;
                    }
                }
                query.skip = std::mem::take(&mut self.skip);
            }
            query.limit = match self.skips_own {
                true => self.left,
                false => self.left.map(|left| left.saturating_add(self.skip)),
            };
            let session = self.session.take();
            let source = SectionRows(&self.parent, &self.list, *section);
            self.cursor = Some(source.rows(&query, None, session).await?);
            return Ok(true);
        }
        Ok(false)
    }
}
