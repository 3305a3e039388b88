//! A read of single items of a parent, section after section: with a filter, a limit, a skip or a
//! token.
//!
//! The sections are the parent's array and the extras, each read by a command of its own. The first
//! command must show at once the items and whether the parent is flagged, or pushes between two
//! reads would go unseen; so a row behind the items bears the flag, even where a filter leaves no
//! item (`outlier/command/items.rs`). Newest first, the parent's array comes last if it is flagged,
//! and then the first command sends none of it.

use std::collections::VecDeque;

use bucket_core::{
    error::Kind,
    protocol::query::Query,
    server::{call::Calls, read::cursor::DocumentCursor},
    value::unreadable::OnUnreadable,
};
use mongodb::{
    ClientSession,
    bson::{RawDocument, RawDocumentBuf},
};
use serde::de::DeserializeOwned;

use super::list::{ParentList, ParentRow, Section, SectionRows};
use crate::{
    Result,
    read::items::{ItemToken, ReadPlace, resume, rows},
};

/// The rows of a read, in the order of the list.
pub(super) struct ParentRows<'s> {
    pub(super) list: ParentList,
    /// The sections that are still to be read.
    sections: VecDeque<Section>,
    /// The section that is being read.
    section: Section,
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
        list: ParentList,
        session: Option<&'s mut ClientSession>,
        on_unreadable: Option<OnUnreadable<'s>>,
        after: Option<&ItemToken>,
    ) -> Result<Self> {
        let start = after.map(|token| list.items.position_of(token)).transpose();
        let start = start.map_err(|_| list.parent.error(Kind::TokenMismatch))?;
        let query = &list.items.query;
        let mut rows = Self {
            sections: Section::all(query.newest_first).iter().copied().collect(),
            section: Section::Own,
            cursor: None,
            session,
            on_unreadable,
            skip: query.skip,
            skips_own: false,
            left: query.limit,
            is_flagged: false,
            place: ReadPlace::default(),
            calls: Calls::current(),
            list,
        };
        let Some(position) = start else {
            return Ok(rows);
        };
        let section = rows.list.section_of(&position);
        while rows.sections.front().is_some_and(|first| *first != section) {
            rows.sections.pop_front();
        }
        rows.sections.pop_front();
        rows.section = section;
        let mut neighbour = None;
        if rows.left != Some(0) {
            let (source, session) = (SectionRows(&rows.list, section), rows.session.take());
            let (cursor, given) = resume(&source, position.clone(), session).await?;
            let scope = &rows.list.parent.scope;
            rows.is_flagged = given.iter().any(|row| scope.is_flagged_in(row));
            (rows.cursor, neighbour) = (Some(cursor), given);
        }
        rows.place = ReadPlace::new(Some(position), neighbour);
        Ok(rows)
    }

    /// The next row. Whoever gives it notes that in `place`.
    pub(super) async fn next(&mut self) -> Result<Option<ParentRow>> {
        loop {
            let is_open = self.cursor.is_some();
            if self.left == Some(0) || !(is_open || self.open_next().await?) {
                return Ok(None);
            }
            let Some(cursor) = &mut self.cursor else {
                return Ok(None);
            };
            let Some(bytes) = cursor.next_decoded::<RawDocumentBuf>().await? else {
                self.end_section();
                continue;
            };
            self.check_document(&bytes)?;
            let scope = &self.list.parent.scope;
            self.is_flagged |= scope.is_flagged_in(&bytes);
            let number = scope.number_in(&bytes);
            if std::mem::take(&mut self.skips_own) {
                let waits = self.section == Section::OwnUnlessFlagged && self.is_flagged;
                let length = scope.own_length_in(&bytes);
                let skipped = if waits { 0 } else { length };
                self.skip = number.map_or(self.skip.saturating_sub(skipped), |_| 0);
            }
            // The row behind the parent's own items is not an item.
            let Some(number) = number else {
                continue;
            };
            let section = self.section;
            let row = ParentRow {
                section,
                number,
                bytes,
            };
            if self.skip > 0 {
                self.skip -= 1;
                self.place.note_given(row.bytes);
                continue;
            }
            self.left = self.left.map(|left| left - 1);
            return Ok(Some(row));
        }
    }

    /// The next item that can be read.
    pub(super) async fn next_item<I: DeserializeOwned>(&mut self) -> Result<Option<I>> {
        while let Some(row) = self.next().await? {
            let item = self.read(&row)?;
            if item.is_some() {
                return Ok(item);
            }
        }
        Ok(None)
    }

    /// Reads the item of a row. An unreadable one is an error, unless a callback takes it.
    pub(super) fn read<I: DeserializeOwned>(&mut self, row: &ParentRow) -> Result<Option<I>> {
        match (self.list.item(row), &mut self.on_unreadable) {
            (Ok(item), _) => Ok(Some(item)),
            (Err(error), Some(report)) => {
                report(error);
                Ok(None)
            }
            (Err(error), None) => Err(error),
        }
    }

    /// An error if the row's document is not one of this section.
    fn check_document(&self, row: &RawDocument) -> Result<()> {
        match self.section.is_own() {
            true => Ok(()),
            false => self.list.parent.check_extras_document(row),
        }
    }

    /// Takes the session back, and skips the extras of a parent that has none.
    fn end_section(&mut self) {
        self.session = self.cursor.take().and_then(DocumentCursor::into_session);
        if self.section.is_own() && !self.is_flagged {
            self.sections.clear();
        }
    }

    /// Opens the next section that the read does not skip as a whole, if there is one.
    async fn open_next(&mut self) -> Result<bool> {
        let calls = self.calls.clone();
        calls.carry(self.open_unskipped()).await
    }

    async fn open_unskipped(&mut self) -> Result<bool> {
        while let Some(section) = self.sections.pop_front() {
            self.section = section;
            let mut query = Query {
                skip: 0,
                ..self.list.items.query.clone()
            };
            // Up to a document's items are cheaper to leave out here.
            let capacity = u64::from(self.list.items.spec.capacity);
            if section.is_own() {
                self.skips_own = self.skip > 0 && query.filter.is_everything();
                query.skip = if self.skips_own { self.skip } else { 0 };
            } else if self.skip >= capacity {
                if self.skip_section().await? {
                    continue;
                }
                query.skip = std::mem::take(&mut self.skip);
            }
            query.limit = match self.skips_own {
                true => self.left,
                false => self.left.map(|left| left.saturating_add(self.skip)),
            };
            let session = self.session.take();
            let source = SectionRows(&self.list, section);
            self.cursor = Some(rows(&source, &query, None, session).await?);
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether all matching extras are skipped, which takes a count of them where the parent's own
    /// items follow.
    async fn skip_section(&mut self) -> Result<bool> {
        if self.sections.is_empty() {
            return Ok(false);
        }
        let extras = &self.list.parent.scope.extras;
        let count = self.list.items.query.count(extras.spec, Some(extras));
        let count = self.list.parent.extras().pipeline(count);
        let count = count.sum(self.session.as_deref_mut()).await?;
        let is_skipped = count <= self.skip;
        if is_skipped {
            self.skip -= count;
        }
        Ok(is_skipped)
    }
}
