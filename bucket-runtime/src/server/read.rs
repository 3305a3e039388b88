//! Reads: a find or a pipeline, with its settings.

use mongodb::{
    ClientSession,
    bson::Document,
    error::Error as DriverError,
    options::{
        AggregateOptions, Collation, FindOptions, Hint, ReadConcern, ReadPreference,
        SelectionCriteria,
    },
};
use serde::de::DeserializeOwned;

use super::{
    Server, call,
    cursor::{AnyCursor, DocumentCursor},
    simulated,
    target::Target,
};
use crate::{
    Result,
    error::{Kind, is_killed},
    protocol::{filter::is_readable, range::Range},
    value::element::whole,
};

/// The maximum number of times that a read is sent again because the server ended its plan.
const MAX_KILLED_PLANS: u32 = 3;

/// A read of a collection, to be sent once by [`cursor`](Self::cursor), [`rows`](Self::rows),
/// [`first`](Self::first) or [`sum`](Self::sum).
#[must_use]
pub(crate) struct Read<'t> {
    pub(super) target: Target<'t>,
    request: Request,
    hint: Option<&'static str>,
    state: ReadState,
    allow_disk_use: bool,
    /// Whether text is compared by its bytes, whatever the collation of the collection.
    compares_bytes: bool,
}

enum Request {
    Find(Document, Box<Range>),
    Pipeline(Vec<Document>),
}

/// Which state of the collection a read sees.
#[derive(Clone, Copy, PartialEq)]
enum ReadState {
    /// A state that the handle's read preference and read concern allow.
    Preferred,
    /// A state of the primary.
    Primary,
    /// The latest state of the primary, whatever the handle's read concern. A transaction has a read
    /// concern of its own.
    Latest,
    /// One state of the primary that a majority has, for all batches, whatever the handle's read concern.
    Snapshot,
}

impl<'t> Target<'t> {
    /// Documents that match a filter.
    pub(crate) fn find(self, filter: Document, range: Range) -> Read<'t> {
        Read::new(self, Request::Find(filter, Box::new(range)))
    }

    /// The results of a pipeline.
    pub(crate) fn pipeline(self, pipeline: impl IntoIterator<Item = Document>) -> Read<'t> {
        Read::new(self, Request::Pipeline(Vec::from_iter(pipeline)))
    }

    /// The number of matching documents, counted on the index alone if the filter is a range of ids.
    pub(crate) async fn count_documents(
        self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64> {
        simulated!(
            self.server,
            session,
            true,
            self.server.count_command(&filter),
            |answer| simulated::counted(answer).map_err(|error| self.read_error(error))
        );
        let action = || self.server.collection.count_documents(filter.clone());
        let count = match session {
            Some(session) => self.server.ask(action().session(session)).await,
            None => self.server.read(action).await,
        };
        count.map_err(|error| self.read_error(error))
    }
}

/// Sends the read that this expression builds, in the session if there is one; without, as often as the
/// server ends its plan.
macro_rules! open {
    ($read:expr, $action:expr, $session:expr) => {{
        let server = $read.target.server;
        match $session {
            Some(session) => {
                let cursor = server.ask($action.session(&mut *session)).await?;
                AnyCursor::Session(cursor, session)
            }
            None => AnyCursor::Plain(server.read(|| $action).await?),
        }
    }};
}

impl<'t> Read<'t> {
    fn new(target: Target<'t>, request: Request) -> Self {
        Self {
            target,
            request,
            hint: None,
            state: ReadState::Preferred,
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
    pub(crate) fn read_primary(mut self) -> Self {
        self.state = ReadState::Primary;
        self
    }

    /// Reads the latest state of the primary, for a write that is about to change it.
    pub(crate) fn read_latest(mut self) -> Self {
        self.state = ReadState::Latest;
        self
    }

    /// Reads one state that a majority of the replica set has, from all shards and for all batches (since server 5.0).
    pub(crate) fn read_snapshot(mut self) -> Self {
        self.state = ReadState::Snapshot;
        self
    }

    /// Lets a pipeline sort on disk.
    pub(crate) fn allow_disk_use(mut self) -> Self {
        self.allow_disk_use = true;
        self
    }

    /// Lets a pipeline compare text by its bytes, whatever the collation of the collection.
    pub(crate) fn compare_bytes(mut self) -> Self {
        self.compares_bytes = true;
        self
    }

    /// The documents, as they arrive.
    pub(crate) async fn cursor<'s, R: DeserializeOwned>(
        self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>> {
        self.check_size()?;
        let cursor = self.open(session).await;
        let cursor = cursor.map_err(|error| self.target.read_error(error))?;
        Ok(DocumentCursor::new(self.target, cursor))
    }

    /// All documents, for reads of few.
    pub(crate) async fn rows<R: DeserializeOwned>(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>> {
        self.cursor(session).await?.rest().await
    }

    /// The first document of a find, or the first result of a pipeline.
    pub(crate) async fn first(
        mut self,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        if let Request::Find(_, range) = &mut self.request {
            // The server sends one document, and keeps no cursor.
            range.limit = Some(-1);
        }
        self.check_size()?;
        let first = async {
            let mut cursor = self.open(session).await?;
            match cursor.advance().await? {
                true => cursor.decode().map(Some),
                false => Ok(None),
            }
        };
        first.await.map_err(|error| self.target.read_error(error))
    }

    /// The field `items` of a pipeline's only result; 0 if there is no result.
    pub(crate) async fn sum(self, session: Option<&mut ClientSession>) -> Result<u64> {
        let row = self.first(session).await?;
        let items = row.and_then(|row| whole(row.get("items")?));
        Ok(items.and_then(|items| items.try_into().ok()).unwrap_or(0))
    }

    /// An error if the server would not read the request.
    fn check_size(&self) -> Result<()> {
        let documents = match &self.request {
            Request::Find(filter, _) => std::slice::from_ref(filter),
            Request::Pipeline(pipeline) => pipeline,
        };
        match is_readable(documents) {
            true => Ok(()),
            false => Err(self.target.error(Kind::FilterTooLarge)),
        }
    }

    /// The read concern, if it is another one than the handle's.
    fn read_concern(&self, is_in_session: bool) -> Option<ReadConcern> {
        match self.state {
            ReadState::Latest if !is_in_session => Some(ReadConcern::local()),
            ReadState::Snapshot => Some(ReadConcern::snapshot()),
            _ => None,
        }
    }

    /// The read as a command.
    #[cfg(feature = "__simulated")]
    fn command(&self) -> Document {
        let name = self.target.server.collection().name();
        let mut command = match &self.request {
            Request::Find(filter, range) => {
                let mut find = mongodb::bson::doc! { "find": name, "filter": filter.clone() };
                find.extend(
                    range
                        .sort
                        .clone()
                        .map(|sort| ("sort".to_owned(), sort.into())),
                );
                let projection = range.projection.clone();
                find.extend(projection.map(|fields| ("projection".to_owned(), fields.into())));
                find.extend(
                    (range.skip > 0).then(|| ("skip".to_owned(), (range.skip as i64).into())),
                );
                find.extend(range.limit.map(|limit| ("limit".to_owned(), limit.into())));
                find
            }
            Request::Pipeline(pipeline) => {
                mongodb::bson::doc! { "aggregate": name, "pipeline": pipeline.clone(), "cursor": {} }
            }
        };
        command.extend(self.hint.map(|hint| ("hint".to_owned(), hint.into())));
        let concern = self.read_concern(false);
        let concern = (concern.as_ref()).or(self.target.server.collection().read_concern());
        for (level, of_majority) in [
            ("majority", ReadConcern::majority()),
            ("snapshot", ReadConcern::snapshot()),
        ] {
            if concern == Some(&of_majority) {
                command.insert("readConcern", mongodb::bson::doc! { "level": level });
            }
        }
        command
    }

    /// Opens the cursor: once for all types of rows, since it is most of the code.
    pub(super) async fn open<'s>(
        &self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<AnyCursor<'s>, DriverError> {
        #[cfg(feature = "__simulated")]
        if simulated::is_on() {
            let (server, id) = (
                self.target.server,
                session.as_ref().map(|it| it.id().clone()),
            );
            let find = || server.simulate(id.clone(), true, self.command());
            let rows = simulated::rows(server.read(find).await)?;
            return Ok(AnyCursor::of_rows(rows, session));
        }
        let collection = self.target.server.collection();
        let hint = self.hint.map(|index| Hint::Name(index.to_owned()));
        let criteria = (self.state != ReadState::Preferred).then(primary);
        let concern = self.read_concern(session.is_some());
        Ok(match &self.request {
            Request::Find(filter, range) => {
                let mut options = FindOptions::default();
                options.sort.clone_from(&range.sort);
                options.projection.clone_from(&range.projection);
                options.skip = (range.skip > 0).then_some(range.skip);
                options.limit = range.limit;
                options.batch_size = range.batch_size;
                options.hint = hint;
                options.selection_criteria = criteria;
                options.read_concern = concern;
                let find = || {
                    collection
                        .find(filter.clone())
                        .with_options(options.clone())
                };
                open!(self, find(), session)
            }
            Request::Pipeline(pipeline) => {
                let mut options = AggregateOptions::default();
                options.allow_disk_use = self.allow_disk_use.then_some(true);
                let simple = || Collation::builder().locale("simple").build();
                options.collation = self.compares_bytes.then(simple);
                options.hint = hint;
                options.selection_criteria = criteria;
                options.read_concern = concern;
                let aggregate =
                    || (collection.aggregate(pipeline.clone())).with_options(options.clone());
                open!(self, aggregate(), session)
            }
        })
    }
}

impl Server {
    /// Sends the read that this closure builds; again, if the server ends its plan because an index was
    /// dropped, or changed by the first array in it (QueryPlanKilled).
    pub(super) async fn read<T, A>(&self, action: impl Fn() -> A) -> Result<T, DriverError>
    where
        A: IntoFuture<Output = Result<T, DriverError>, IntoFuture: Unpin>,
    {
        for _ in 0..MAX_KILLED_PLANS {
            match self.ask(action()).await {
                Err(error) if is_killed(&error) => {
                    call::again();
                }
                answer => return answer,
            }
        }
        self.ask(action()).await
    }
}

/// The primary, for reads that belong to a write, whatever the handle's read preference.
fn primary() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}
