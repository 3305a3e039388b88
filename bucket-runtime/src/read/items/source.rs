//! Where the items of a read come from: the buckets of one key, or of all keys.

use futures_util::stream::{empty, try_unfold};
use mongodb::{ClientSession, bson::Document};

use super::{
    parts::Element,
    stream::{ItemStream, Row},
    token::ItemToken,
    trail::{List, Passed, Trail},
};
use crate::{
    Result,
    error::Kind,
    protocol::{
        command::KeyScope,
        query::{Position, Query, Start},
    },
    read::{
        offset::seek,
        reader::{Reader, next_bucket_and},
    },
    schema::spec::BucketSpec,
    server::{
        Server,
        context::ErrorContext,
        current_index::{CurrentIndex, IndexDeadline},
        cursor::DocumentCursor,
    },
    value::{stored_bucket::StoredBucket, unreadable::Tell},
};

/// How often a read looks for its position again when others change that bucket meanwhile. After that it
/// takes the place that it found last.
const TRIES: u32 = 10;

/// The buckets whose items are read.
pub(super) enum Source {
    /// The buckets of one key, with the current open index.
    Key(Reader, CurrentIndex),
    All(Server),
}

/// The rows of a read.
type Rows<'s, E> = DocumentCursor<'s, StoredBucket<<E as Element>::Of, <E as Element>::Stored>>;

impl Source {
    pub(super) async fn read<'s, E: Element>(
        mut self,
        spec: &'static BucketSpec,
        query: Query,
        after: Option<ItemToken>,
        mut session: Option<&'s mut ClientSession>,
        tell: Option<Tell<'s>>,
    ) -> Result<ItemStream<'s, E::Item>> {
        let list = List::new(spec, &self.server().name(), self.scope(), &query);
        let position = after.map(|token| {
            let position = list.position(&token);
            position.ok_or_else(|| self.context().kind(Kind::TokenMismatch))
        });
        let position = position.transpose()?;
        let nothing = Trail::new(list.clone(), &query, true, position.clone());
        if query.limit == Some(0) {
            return Ok(ItemStream::new(empty(), nothing));
        }
        let mut start = position
            .as_ref()
            .map(|position| Start::of_bucket(position.bucket.clone()));
        if let Self::Key(reader, index) = &mut self
            && position.is_none()
            && query.skips_whole_buckets(spec)
        {
            start = seek_by(reader, index, &query, session.as_deref_mut()).await?;
            if start.is_none() {
                return Ok(ItemStream::new(empty(), nothing));
            }
        }
        let skip = match (&start, &position) {
            (Some(start), None) => start.skip,
            _ => query.skip,
        };
        // After unreadable items are left out, the first items could no longer be counted.
        let counts_here = skip > 0 && tell.is_some();
        let whole = query.takes_whole_buckets(spec, skip) && !counts_here;
        let mut trail = Trail::new(list.clone(), &query, whole, position.clone());
        let rows: Rows<'s, E> = match (whole, &position) {
            (true, _) => {
                let filter = query.buckets(spec, self.scope(), start.as_ref());
                let rows = self.server().find(filter, query.range(spec), session).await;
                rows.map_err(|error| self.context().read(error))?
            }
            (false, Some(position)) => {
                let found = self.go_on::<E>(spec, &query, &list, position.clone(), session);
                let (rows, passed) = found.await?;
                passed.into_iter().for_each(|passed| trail.push(passed));
                rows
            }
            (false, None) => {
                let pipeline = query.pipeline(spec, self.scope(), start.as_ref());
                let rows = self.server().stream(pipeline, None, session).await;
                rows.map_err(|error| self.context().read(error))?
            }
        };
        let rest = Rest {
            reversed: query.newest_first,
            whole,
            skip: match whole || position.is_some() {
                true => skip,
                false => 0,
            },
            cut: position.filter(|_| whole),
            list,
        };
        let state = (self, rows, rest, tell);
        let rows = try_unfold(state, async |(source, mut rows, mut rest, mut tell)| {
            let row = source.next::<E>(&mut rows, tell.as_mut()).await?;
            Ok(row.map(|row| (rest.of(row), (source, rows, rest, tell))))
        });
        Ok(ItemStream::new(rows, trail))
    }

    /// The rows of single items from a position on, and the passed item next to it.
    ///
    /// The first command assumes that no item before the position was removed, and asks for the item next
    /// to it as well. If that is another one now, the position is looked for in its bucket.
    async fn go_on<'s, E: Element>(
        &self,
        spec: &'static BucketSpec,
        query: &Query,
        list: &List,
        mut position: Position,
        mut session: Option<&'s mut ClientSession>,
    ) -> Result<(Rows<'s, E>, Option<Passed>)> {
        let fail = |error| self.context().read(error);
        let mut tries = 0;
        loop {
            let start = position.start(query.newest_first);
            let from = query.resumed_at(&position);
            let pipeline = from.pipeline(spec, self.scope(), Some(&start));
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
            let elements = self.elements(spec, query, list, &position, session.as_deref_mut());
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
        spec: &'static BucketSpec,
        query: &Query,
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
            ..query.clone()
        };
        let pipeline = query.pipeline(spec, self.scope(), Some(&start));
        let found = self.server().aggregate::<Document>(pipeline, session).await;
        let found = found.map_err(|error| self.context().read(error))?;
        // If the bucket is gone, these are of the next one.
        let of_bucket = found
            .iter()
            .filter(|row| row.get_str("_id").is_ok_and(|id| id == position.bucket));
        Ok(of_bucket.filter_map(|row| list.single(row)).collect())
    }

    /// The next row.
    async fn next<E: Element>(
        &self,
        rows: &mut Rows<'_, E>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Row<E::Item>>> {
        let row = next_bucket_and(self.context(), rows, tell, |bytes| bytes.into_owned()).await?;
        let Some((bucket, bytes)) = row else {
            return Ok(None);
        };
        if self.scope().is_some_and(|scope| !scope.holds(&bucket)) {
            return Err(self.context().kind(Kind::ForeignId(bucket.id)));
        }
        let StoredBucket {
            key,
            elements,
            left_out,
            ..
        } = bucket;
        let passed = Passed {
            bytes,
            readable: elements.len(),
            left_out,
        };
        let items = elements.into_iter().map(|stored| E::item(&key, stored));
        let items = Vec::from_iter(items).into_iter();
        Ok(Some(Row { items, passed }))
    }

    fn server(&self) -> &Server {
        match self {
            Self::Key(reader, _) => &reader.server,
            Self::All(server) => server,
        }
    }

    pub(super) fn server_mut(&mut self) -> &mut Server {
        match self {
            Self::Key(reader, _) => &mut reader.server,
            Self::All(server) => server,
        }
    }

    fn scope(&self) -> Option<&KeyScope> {
        match self {
            Self::Key(reader, _) => Some(&reader.scope),
            Self::All(_) => None,
        }
    }

    fn context(&self) -> ErrorContext<'_> {
        self.server().context_of_any(self.scope())
    }
}

/// Finds where the items of a query start, with the collection's current open index.
async fn seek_by(
    reader: &mut Reader,
    index: &CurrentIndex,
    query: &Query,
    mut session: Option<&mut ClientSession>,
) -> Result<Option<Start>> {
    let mut deadline = IndexDeadline::default();
    loop {
        // Another handle may have changed the capacity since this read was created.
        reader.scope.open = index.get();
        let found = seek(&reader.server, &reader.scope, query, session.as_deref_mut()).await;
        match found.map_err(|error| reader.context().read(error)) {
            Err(error) if error.is(&Kind::MissingIndex) => {
                let spec = reader.scope.spec;
                let is_in_session = session.is_some();
                index
                    .wait_unless_in_session(spec, &mut deadline, error, is_in_session)
                    .await?;
            }
            found => return found,
        }
    }
}

/// What remains to be applied to the rows of a read.
struct Rest {
    reversed: bool,
    /// Whether rows are whole buckets; otherwise they are single items.
    whole: bool,
    skip: u64,
    /// The position in a whole bucket from which the read goes on.
    cut: Option<Position>,
    list: List,
}

impl Rest {
    fn of<T>(&mut self, mut row: Row<T>) -> Row<T> {
        if !self.whole {
            if self.skip > 0 {
                self.skip -= 1;
                row.items = Vec::new().into_iter();
            }
            return row;
        }
        let mut from = 0;
        if let Some(position) = self.cut.take()
            && row
                .passed
                .bytes
                .get_str("_id")
                .is_ok_and(|id| id == position.bucket)
        {
            let elements = self.list.elements(&row.passed.bytes);
            let position = position.among(&elements, self.reversed);
            from = row.passed.readable_before(position.before);
            if self.reversed {
                from = row.passed.readable - from;
            }
        }
        if self.reversed {
            let mut items = row.items.collect::<Vec<_>>();
            items.reverse();
            row.items = items.into_iter();
        }
        row.items.by_ref().take(from).for_each(drop);
        let left = row.items.len() as u64;
        let skipped = self.skip.min(left);
        self.skip -= skipped;
        row.items.by_ref().take(skipped as usize).for_each(drop);
        row
    }
}
