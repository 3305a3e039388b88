//! Where the items of a read come from: the buckets of one key, or of all keys.

use std::sync::Arc;

use futures_util::stream::{empty, try_unfold};
use mongodb::ClientSession;

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
        current_index::{CurrentIndex, IndexDeadline},
        cursor::DocumentCursor,
        target::Target,
    },
    value::{stored_bucket::StoredBucket, unreadable::Tell},
};

/// The buckets whose items are read.
pub(super) enum Source {
    /// The buckets of one key, with the current open index.
    Key(Reader, CurrentIndex),
    All(Server),
}

/// The rows of a read.
pub(super) type Rows<'s, E> =
    DocumentCursor<'s, StoredBucket<<E as Element>::Of, <E as Element>::Stored>>;

impl Source {
    pub(super) async fn read<'s, E: Element>(
        mut self,
        spec: &'static BucketSpec,
        query: Query,
        after: Option<ItemToken>,
        mut session: Option<&'s mut ClientSession>,
        tell: Option<Tell<'s>>,
    ) -> Result<ItemStream<'s, E::Item>> {
        let list = List::new(spec, query, self.server().name(), self.scope());
        let list = Arc::new(list);
        let query = &list.query;
        let position = after.map(|token| {
            let position = list.position(&token);
            position.ok_or_else(|| self.target().error(Kind::TokenMismatch))
        });
        let position = position.transpose()?;
        self.server().called_for(self.scope());
        let trail = |whole| Trail::new(Arc::clone(&list), whole, position.clone());
        if query.limit == Some(0) {
            return Ok(ItemStream::new(empty(), trail(true)));
        }
        let mut start = position.as_ref().map(|position| Start {
            skip: query.skip,
            ..Start::of_bucket(position.bucket.clone())
        });
        if let Self::Key(reader, index) = &mut self
            && position.is_none()
            && query.skips_whole_buckets(spec)
        {
            start = seek_by(reader, index, query, session.as_deref_mut()).await?;
            if start.is_none() {
                return Ok(ItemStream::new(empty(), trail(true)));
            }
        }
        let skip = start.as_ref().map_or(query.skip, |start| start.skip);
        // After unreadable items are left out, the first items could no longer be counted.
        let counts_here = skip > 0 && tell.is_some();
        let whole = query.takes_whole_buckets(spec, skip) && !counts_here;
        let mut trail = trail(whole);
        let rows: Rows<'s, E> = match (whole, &position) {
            (true, _) => {
                let filter = query.buckets(spec, self.scope(), start.as_ref());
                let rows = self.server().find(filter, query.range(spec), session).await;
                rows.map_err(|error| self.target().read_error(error))?
            }
            (false, Some(position)) => {
                let resumed = self.resume::<E>(&list, position.clone(), session);
                let (rows, passed) = resumed.await?;
                passed.into_iter().for_each(|passed| trail.push(passed));
                rows
            }
            (false, None) => {
                let pipeline = query.pipeline(spec, self.scope(), start.as_ref());
                let rows = self.server().stream(pipeline, None, session).await;
                rows.map_err(|error| self.target().read_error(error))?
            }
        };
        let rest = Rest {
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

    /// The next row.
    async fn next<E: Element>(
        &self,
        rows: &mut Rows<'_, E>,
        tell: Option<&mut Tell<'_>>,
    ) -> Result<Option<Row<E::Item>>> {
        let row = next_bucket_and(self.target(), rows, tell, |bytes| bytes.into_owned()).await?;
        let Some((bucket, bytes)) = row else {
            return Ok(None);
        };
        if self.scope().is_some_and(|scope| !scope.holds(&bucket)) {
            return Err(self.target().error(Kind::ForeignId(bucket.id)));
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

    pub(super) fn server(&self) -> &Server {
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

    pub(super) fn scope(&self) -> Option<&KeyScope> {
        match self {
            Self::Key(reader, _) => Some(&reader.scope),
            Self::All(_) => None,
        }
    }

    pub(super) fn target(&self) -> Target<'_> {
        self.server().target_of_any(self.scope())
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
        match found.map_err(|error| reader.target().read_error(error)) {
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

/// The parts of a query that the client applies to rows: the skip, and the cut of a resumed read.
struct Rest {
    /// Whether rows are whole buckets; otherwise they are single items.
    whole: bool,
    skip: u64,
    /// The position in a whole bucket at which a resumed read goes on.
    cut: Option<Position>,
    list: Arc<List>,
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
        let newest_first = self.list.query.newest_first;
        let mut from = 0;
        if let Some(position) = self.cut.take()
            && row
                .passed
                .bytes
                .get_str("_id")
                .is_ok_and(|id| id == position.bucket)
        {
            let elements = self.list.elements(&row.passed.bytes);
            let position = position.among(&elements, newest_first);
            from = row.passed.readable_before(position.before);
            if newest_first {
                from = row.passed.readable - from;
            }
        }
        if newest_first {
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
