//! How a read of a parent's items goes on at the place of a token, and which token it gives.

use mongodb::bson::RawDocument;

use super::{ParentRow, ParentRows};
use crate::{
    Result,
    protocol::query::{ItemPosition, NeighbourSide},
    read::items::ItemToken,
    schema::names::SEALED,
};

/// The maximum number of times that a read looks for its position again when others change that document
/// meanwhile. After that it takes the place that it found last.
const MAX_SEARCHES: u32 = 10;

impl ParentRows<'_> {
    /// Opens the section of a position, from there on.
    ///
    /// The first command assumes that no item before the position was removed, and asks for the item next to it
    /// as well. If another item is there now, the position is searched in its document.
    pub(super) async fn resume(&mut self, mut position: ItemPosition) -> Result<()> {
        let newest_first = self.list.query.newest_first;
        let mut searches = 0;
        loop {
            let (list, section) = (&self.list, self.section);
            let start = list.start(section, &position);
            let query = list.query.resumed_at(&position);
            let rows = list.rows(section, &query, Some(&start), self.session.take());
            let mut cursor = rows.await?;
            let Some(neighbour) = position.neighbour() else {
                self.cursor = Some(cursor);
                return Ok(());
            };
            let first = cursor.peek().await?;
            first.map_or(Ok(()), |row| self.check_document(row))?;
            if first.is_some_and(|row| self.is_at(row, &position, neighbour)) {
                let given = position.is_given(newest_first);
                if let Some(bytes) = given.then(|| cursor.take_peeked()).flatten() {
                    self.is_flagged |= bytes.get_bool(SEALED).unwrap_or(false);
                    let number = neighbour.0;
                    self.note_given(ParentRow {
                        section,
                        number,
                        bytes,
                    });
                }
                self.cursor = Some(cursor);
                return Ok(());
            }
            self.session = cursor.into_session();
            let session = self.session.as_deref_mut();
            let elements = self.list.elements(section, &position, session).await?;
            position = position.find_among(&elements, newest_first);
            searches += 1;
            if searches == MAX_SEARCHES {
                position.neighbours.clear();
            }
        }
    }

    /// Whether a row is this element of the position's document.
    fn is_at(&self, row: &RawDocument, position: &ItemPosition, element: (u32, u32)) -> bool {
        let document = self.list.document_of(self.section, row);
        document.as_ref() == Some(&position.bucket)
            && self.list.numbered_element(row) == Some(element)
    }

    /// The token of the position after the last given item.
    pub(in crate::outlier::read) fn token(&self) -> Option<ItemToken> {
        let position = match self.given.is_empty() {
            true => self.started.clone()?,
            false => self.position()?,
        };
        Some(self.list.token(position))
    }

    /// The position after the last given item.
    fn position(&self) -> Option<ItemPosition> {
        let mut rows = self.given.iter().rev();
        let last = rows.next()?;
        let document_of = |row: &ParentRow| self.list.document_of(row.section, &row.bytes);
        let document = document_of(last)?;
        let newest_first = self.list.query.newest_first;
        let (number, nearest) = self.list.numbered_element(&last.bytes)?;
        let of_document = rows.take_while(|row| document_of(row).as_ref() == Some(&document));
        let farther = of_document.filter_map(|row| Some(self.list.numbered_element(&row.bytes)?.1));
        let neighbours = std::iter::once(nearest).chain(farther).collect();
        let position = ItemPosition {
            before: number.checked_add(u32::from(!newest_first))?,
            side: NeighbourSide::of_given(newest_first),
            neighbours,
            bucket: document,
        };
        Some(position.with_farther_of(self.started.as_ref()))
    }
}
