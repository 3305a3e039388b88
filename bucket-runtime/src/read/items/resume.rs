//! Single items from a position on.

use mongodb::{ClientSession, bson::Document};

use super::{
    parts::Element,
    source::{Rows, Source},
    trail::{List, Passed},
};
use crate::{
    Result,
    protocol::query::{Position, Query, Start},
};

/// How often a read looks for its position again when others change that bucket meanwhile. After that it
/// takes the place that it found last.
const TRIES: u32 = 10;

impl Source {
    /// The rows of single items from a position on, and the passed item next to it.
    ///
    /// The first command assumes that no item before the position was removed, and asks for the item next
    /// to it as well. If another item is there now, the position is searched in its bucket.
    pub(super) async fn resume<'s, E: Element>(
        &self,
        list: &List,
        mut position: Position,
        mut session: Option<&'s mut ClientSession>,
    ) -> Result<(Rows<'s, E>, Option<Passed>)> {
        let query = &list.query;
        let fail = |error| self.target().read_error(error);
        let mut tries = 0;
        loop {
            let start = position.start(query.newest_first);
            let from = query.resumed_at(&position);
            let pipeline = from.pipeline(list.spec, self.scope(), Some(&start));
            let rows = self.server().stream(pipeline, None, session).await;
            let mut rows: Rows<'s, E> = rows.map_err(fail)?;
            let Some(neighbour) = position.neighbour() else {
                return Ok((rows, None));
            };
            let first = rows.peek().await.map_err(fail)?;
            let first = first.and_then(|row| Document::try_from(row).ok());
            let is_beside = first.is_some_and(|row| {
                row.get_str("_id").is_ok_and(|id| id == position.bucket)
                    && list.single(&row) == Some(neighbour)
            });
            if is_beside {
                let is_passed = position.is_passed(query.newest_first);
                let passed = is_passed.then(|| rows.take_peeked()).flatten();
                return Ok((rows, passed.map(Passed::over)));
            }
            session = rows.into_session();
            let elements = self.elements(list, &position, session.as_deref_mut());
            position = position.among(&elements.await?, query.newest_first);
            tries += 1;
            if tries == TRIES {
                position.neighbours.clear();
            }
        }
    }

    /// The items of a position's bucket that the query would give.
    async fn elements(
        &self,
        list: &List,
        position: &Position,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<(u32, u32)>> {
        let start = Start {
            buckets: Some(1),
            ..Start::of_bucket(position.bucket.clone())
        };
        let query = Query {
            newest_first: false,
            skip: 0,
            limit: None,
            ..list.query.clone()
        };
        let pipeline = query.pipeline(list.spec, self.scope(), Some(&start));
        let found = self.server().aggregate::<Document>(pipeline, session).await;
        let found = found.map_err(|error| self.target().read_error(error))?;
        // The rows of another bucket, which come first if the bucket is gone, do not count.
        let of_bucket = found
            .iter()
            .filter(|row| row.get_str("_id").is_ok_and(|id| id == position.bucket));
        Ok(of_bucket.filter_map(|row| list.single(row)).collect())
    }
}
