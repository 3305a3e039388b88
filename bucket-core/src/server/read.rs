//! Reads: a find or a pipeline, with its settings.

pub mod cursor;
mod fill;
mod last_buckets;

use mongodb::{
    ClientSession,
    bson::Document,
    error::Error as DriverError,
    options::{AggregateOptions, Collation, FindOptions, Hint, ReadConcern, ReadPreference},
};
use serde::de::DeserializeOwned;

use crate::{
    Result,
    error::{Kind, is_killed},
    protocol::{filter::is_readable, query::WholeRead, range::Range},
    server::{
        call,
        read::cursor::DocumentCursor,
        target::Target,
        wire::{AnyCursor, ReadRequest, Request},
    },
    value::number::whole,
};

/// The maximum number of times that a read is sent again because the server ended its plan.
const MAX_KILLED_PLANS: u32 = 3;

/// A read of a collection, to be sent once by [`cursor`](Self::cursor), [`rows`](Self::rows),
/// [`first`](Self::first) or [`sum`](Self::sum).
#[must_use]
pub struct Read<'t> {
    target: Target<'t>,
    source: ReadSource,
    hint: Option<&'static str>,
    /// Whether the primary answers, whatever the handle's read preference.
    from_primary: bool,
    /// The read concern, if it is another one than the handle's.
    concern: Option<ReadConcern>,
    allow_disk_use: bool,
    /// Whether text is compared by its bytes, whatever the collation of the collection.
    compares_bytes: bool,
}

enum ReadSource {
    Find(Document, Box<Range>),
    Pipeline(Vec<Document>),
}

impl<'t> Target<'t> {
    /// Documents that match a filter.
    pub fn find(self, filter: Document, range: Range) -> Read<'t> {
        Read::new(self, ReadSource::Find(filter, Box::new(range)))
    }

    /// The results of a pipeline.
    pub fn pipeline(self, pipeline: impl IntoIterator<Item = Document>) -> Read<'t> {
        Read::new(self, ReadSource::Pipeline(Vec::from_iter(pipeline)))
    }

    /// The rows of the whole documents, if there are such and they hold what is asked for;
    /// otherwise those of the pipeline.
    pub async fn items<'s>(
        self,
        whole: Option<WholeRead>,
        pipeline: impl FnOnce() -> Vec<Document>,
        mut session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s>> {
        if let Some(whole) = whole {
            let find = self.find(whole.filter.clone(), whole.range.clone());
            let mut found = find.cursor(session).await?;
            let documents = found.rest().await?;
            session = found.into_session();
            if let Some(rows) = whole.rows(documents) {
                return Ok(DocumentCursor::new(self, AnyCursor::of_rows(rows, session)));
            }
        }
        self.pipeline(pipeline()).cursor(session).await
    }

    /// The number of matching documents, counted on the index alone if the filter is a range of
    /// ids.
    pub async fn count_documents(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64> {
        let count = |session| self.server.send(Request::Count(filter.clone()), session);
        let response = match session {
            Some(_) => count(session).await,
            None => repeat_killed(|| count(None)).await,
        };
        Ok(response.map_err(|error| self.read_error(error))?.found)
    }
}

impl<'t> Read<'t> {
    fn new(target: Target<'t>, source: ReadSource) -> Self {
        Self {
            target,
            source,
            hint: None,
            from_primary: false,
            concern: None,
            allow_disk_use: false,
            compares_bytes: false,
        }
    }

    /// Reads by the index of this name.
    pub(crate) fn hint(mut self, index: impl Into<Option<&'static str>>) -> Self {
        self.hint = index.into();
        self
    }

    /// Reads from the primary, for a write, whatever the handle's read preference.
    pub fn read_primary(mut self) -> Self {
        self.from_primary = true;
        self
    }

    /// Reads the latest state of the primary, for a write that is about to change it. A session's
    /// transaction has a read concern of its own.
    pub fn read_latest(mut self) -> Self {
        self.concern = Some(ReadConcern::local());
        self.read_primary()
    }

    /// Reads one state that a majority of the replica set has, from all shards and for all batches
    /// (since server 5.0).
    pub fn read_snapshot(mut self) -> Self {
        self.concern = Some(ReadConcern::snapshot());
        self.read_primary()
    }

    /// Lets a pipeline sort on disk.
    pub fn allow_disk_use(mut self) -> Self {
        self.allow_disk_use = true;
        self
    }

    /// Lets a pipeline compare text by its bytes, whatever the collation of the collection.
    pub fn compare_bytes(mut self) -> Self {
        self.compares_bytes = true;
        self
    }

    /// The documents, as they arrive. Without a session the read is sent as often as the server
    /// ends its plan.
    pub async fn cursor<'s>(
        self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s>> {
        self.check_size()?;
        let server = self.target.server;
        let cursor = match session {
            Some(_) => server.open(self.request(true), session).await,
            None => repeat_killed(|| server.open(self.request(false), None)).await,
        };
        let cursor = cursor.map_err(|error| self.target.read_error(error))?;
        Ok(DocumentCursor::new(self.target, cursor))
    }

    /// All documents, for reads of few.
    pub async fn rows<R: DeserializeOwned>(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>> {
        self.cursor(session).await?.rest().await
    }

    /// The first document of a find, or the first result of a pipeline.
    pub async fn first(mut self, session: Option<&mut ClientSession>) -> Result<Option<Document>> {
        if let ReadSource::Find(_, range) = &mut self.source {
            // The server sends one document, and keeps no cursor.
            range.limit = Some(-1);
        }
        self.cursor(session).await?.next_decoded().await
    }

    /// The field `items` of a pipeline's only result; 0 if there is no result.
    pub async fn sum(self, session: Option<&mut ClientSession>) -> Result<u64> {
        let row = self.first(session).await?;
        let items = row.and_then(|row| whole(row.get("items")?));
        Ok(items.and_then(|items| items.try_into().ok()).unwrap_or(0))
    }

    /// An error if the server would not read the request.
    fn check_size(&self) -> Result<()> {
        let documents = match &self.source {
            ReadSource::Find(filter, _) => std::slice::from_ref(filter),
            ReadSource::Pipeline(pipeline) => pipeline,
        };
        match is_readable(documents) {
            true => Ok(()),
            false => Err(self.target.error(Kind::FilterTooLarge)),
        }
    }

    fn request(&self, is_in_session: bool) -> ReadRequest {
        let hint = self.hint.map(|index| Hint::Name(index.to_owned()));
        let criteria = self.from_primary.then(|| ReadPreference::Primary.into());
        let concern = self.concern.clone().filter(|_| !is_in_session);
        match &self.source {
            ReadSource::Find(filter, range) => {
                let mut options = FindOptions::default();
                options.sort.clone_from(&range.sort);
                options.projection.clone_from(&range.projection);
                options.skip = (range.skip > 0).then_some(range.skip);
                options.limit = range.limit;
                options.batch_size = range.batch_size;
                options.hint = hint;
                options.selection_criteria = criteria;
                options.read_concern = concern;
                ReadRequest::Find(filter.clone(), Box::new(options))
            }
            ReadSource::Pipeline(pipeline) => {
                let mut options = AggregateOptions::default();
                options.allow_disk_use = self.allow_disk_use.then_some(true);
                let simple = || Collation::builder().locale("simple").build();
                options.collation = self.compares_bytes.then(simple);
                options.hint = hint;
                options.selection_criteria = criteria;
                options.read_concern = concern;
                ReadRequest::Aggregate(pipeline.clone(), Box::new(options))
            }
        }
    }
}

/// Sends a read; again, if the server ends its plan because an index was dropped, or changed by the
/// first array in it (QueryPlanKilled).
async fn repeat_killed<T, F>(send: impl Fn() -> F) -> Result<T, DriverError>
where
    F: Future<Output = Result<T, DriverError>>,
{
    let mut killed = 0;
    loop {
        match send().await {
            Err(error) if is_killed(&error) && killed < MAX_KILLED_PLANS => killed += 1,
            answer => return answer,
        }
        call::again();
    }
}
