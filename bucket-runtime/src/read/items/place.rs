//! How a read of single items goes on at the place of a token, and which token it gives.

use std::collections::VecDeque;

use bucket_core::{
    protocol::query::{ItemPosition, MAX_NEIGHBOURS, NeighbourSide, Query, QueryStart},
    server::read::cursor::DocumentCursor,
};
use mongodb::{
    ClientSession,
    bson::{RawDocument, RawDocumentBuf},
};

use super::{list::ItemList, token::ItemToken};
use crate::Result;

/// The maximum number of times that a read looks for its position again when others change that
/// bucket meanwhile. After that it takes the place that it found last.
const MAX_SEARCHES: u32 = 10;

/// Where a read is in its list.
#[derive(Default)]
pub(crate) struct ReadPlace {
    /// The position where the read started, if it went on from a token.
    pub(super) started: Option<ItemPosition>,
    /// The rows that were given last, from which a token is made.
    given: VecDeque<RawDocumentBuf>,
}

impl ReadPlace {
    /// A place at a token's position, with the row of the item next to it if the read before gave
    /// that item.
    pub(crate) fn new(started: Option<ItemPosition>, neighbour: Option<RawDocumentBuf>) -> Self {
        Self {
            started,
            given: neighbour.into_iter().collect(),
        }
    }

    /// Notes that this row was given.
    pub(crate) fn note_given(&mut self, row: RawDocumentBuf) {
        if self.given.len() == MAX_NEIGHBOURS {
            self.given.pop_front();
        }
        self.given.push_back(row);
    }

    /// The token of the position after the last given item.
    pub(crate) fn token(&self, list: &ItemList) -> Option<ItemToken> {
        let mut rows = self.given.iter().rev();
        let Some(last) = rows.next() else {
            return list.token(self.started.clone()?);
        };
        let bucket = last.get_str("_id").ok()?;
        let newest_first = list.query.newest_first;
        let (number, nearest) = list.numbered_element(last)?;
        let of_bucket = rows.take_while(|row| is_of(row, bucket));
        let farther = of_bucket.filter_map(|row| Some(list.numbered_element(row)?.1));
        let position = ItemPosition {
            bucket: bucket.to_owned(),
            before: number.checked_add(u32::from(!newest_first))?,
            side: NeighbourSide::of_given(newest_first),
            neighbours: std::iter::once(nearest).chain(farther).collect(),
        };
        list.token(position.with_farther_of(self.started.as_ref()))
    }
}

/// Where the rows of a list come from.
pub(crate) trait RowSource: Sync {
    fn list(&self) -> &ItemList;

    /// The items that a query gives, from a start on, each in a row of its own.
    fn rows<'s>(
        &self,
        query: &Query,
        start: Option<&QueryStart>,
        session: Option<&'s mut ClientSession>,
    ) -> impl Future<Output = Result<DocumentCursor<'s>>> + Send;
}

/// The rows from a position on, and the row of the item next to it, if the read before gave that
/// item.
///
/// The first command assumes that no item before the position was removed, and asks for the item
/// next to it as well. If another item is there now, the position is searched in its bucket.
pub(crate) async fn resume<'s>(
    source: &impl RowSource,
    mut position: ItemPosition,
    mut session: Option<&'s mut ClientSession>,
) -> Result<(DocumentCursor<'s>, Option<RawDocumentBuf>)> {
    let list = source.list();
    let newest_first = list.query.newest_first;
    let mut searches = 0;
    loop {
        let start = position.start(newest_first);
        let query = list.query.resumed_at(&position);
        let mut found = source.rows(&query, Some(&start), session).await?;
        let Some(neighbour) = position.neighbour() else {
            return Ok((found, None));
        };
        let first = found.peek().await?;
        let is_beside = first.is_some_and(|row| {
            is_of(row, &position.bucket) && list.numbered_element(row) == Some(neighbour)
        });
        if is_beside {
            let is_given = position.is_given(newest_first);
            let neighbour = is_given.then(|| found.take_peeked()).flatten();
            return Ok((found, neighbour));
        }
        session = found.into_session();
        let elements = elements_of_bucket(source, &position.bucket, session.as_deref_mut());
        position = position.find_among(&elements.await?, newest_first);
        searches += 1;
        if searches == MAX_SEARCHES {
            position.neighbours.clear();
        }
    }
}

/// The items of a bucket that the query would give.
async fn elements_of_bucket(
    source: &impl RowSource,
    bucket: &str,
    session: Option<&mut ClientSession>,
) -> Result<Vec<(u32, u32)>> {
    let start = QueryStart {
        buckets: Some(1),
        ..QueryStart::of_bucket(bucket.to_owned())
    };
    let list = source.list();
    let query = list.query.of_all_matches();
    let mut found = source.rows(&query, Some(&start), session).await?;
    let found: Vec<RawDocumentBuf> = found.rest().await?;
    // The rows of another bucket, which come first if the bucket is gone, do not count.
    let found = found.iter().filter(|row| is_of(row, bucket));
    Ok(found.filter_map(|row| list.numbered_element(row)).collect())
}

/// Whether a row is an item of the bucket with this id.
fn is_of(row: &RawDocument, bucket: &str) -> bool {
    row.get_str("_id").ok() == Some(bucket)
}
