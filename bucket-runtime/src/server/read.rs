//! Reads: a find or a pipeline, with its settings.

use mongodb::{
    ClientSession,
    bson::Document,
    error::Error as DriverError,
    options::{Hint, ReadConcern},
};
use serde::de::DeserializeOwned;

use super::{cursor::DocumentCursor, primary, target::Target};
use crate::{Result, protocol::range::Range};

/// A read of a collection, to be sent once by [`cursor`](Self::cursor), [`rows`](Self::rows) or
/// [`first`](Self::first).
#[must_use]
pub(crate) struct Read<'t> {
    target: Target<'t>,
    request: Request,
    hint: Option<&'static str>,
    state: ReadState,
    allow_disk_use: bool,
}

pub(super) enum Request {
    Find(Document, Range),
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
}

/// The action of the driver with the settings that finds and pipelines share.
macro_rules! with_settings {
    ($read:expr, $action:expr) => {{
        let mut action = $action;
        if let Some(hint) = $read.hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        if $read.state != ReadState::Preferred {
            action = action.selection_criteria(primary());
        }
        action
    }};
}

/// Sends the action that this closure builds, in the session if there is one.
macro_rules! open {
    ($read:expr, $action:expr, $session:expr) => {
        match $session {
            Some(session) => {
                let cursor = $read.target.server.ask($action().session(&mut *session));
                DocumentCursor::from((cursor.await?, session))
            }
            None => DocumentCursor::from(send_alone!($read, $action)?),
        }
    };
}

/// Sends the action that this closure builds, without a session.
macro_rules! send_alone {
    ($read:expr, $action:expr) => {{
        let action = || match $read.state {
            ReadState::Latest => $action().read_concern(ReadConcern::local()),
            ReadState::Preferred | ReadState::Primary => $action(),
        };
        $read.target.server.read(action).await
    }};
}

impl<'t> Read<'t> {
    pub(super) fn new(target: Target<'t>, request: Request) -> Self {
        Self {
            target,
            request,
            hint: None,
            state: ReadState::Preferred,
            allow_disk_use: false,
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

    /// Lets a pipeline sort on disk.
    pub(crate) fn allow_disk_use(mut self) -> Self {
        self.allow_disk_use = true;
        self
    }

    /// The documents, as they arrive.
    pub(crate) async fn cursor<'s, R: DeserializeOwned>(
        self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>> {
        let target = self.target;
        let cursor = self.send(session).await;
        cursor.map_err(|error| target.read_error(error))
    }

    /// All documents, for reads of few.
    pub(crate) async fn rows<R: DeserializeOwned>(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>> {
        let target = self.target;
        let rows = self.send_for_rows(session).await;
        rows.map_err(|error| target.read_error(error))
    }

    /// The first document of a find, or the first result of a pipeline.
    pub(crate) async fn first(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>> {
        let target = self.target;
        let first = self.send_for_first(session).await;
        first.map_err(|error| target.read_error(error))
    }

    /// Like [`cursor`](Self::cursor), with the driver's error.
    pub(super) async fn send<'s, R: DeserializeOwned>(
        self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, R>, DriverError> {
        Ok(self.open(session).await?.with_type())
    }

    /// Like [`rows`](Self::rows), with the driver's error.
    pub(super) async fn send_for_rows<R: DeserializeOwned>(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Vec<R>, DriverError> {
        self.send(session).await?.rest().await
    }

    /// Like [`first`](Self::first), with the driver's error.
    pub(super) async fn send_for_first(
        self,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<Document>, DriverError> {
        let collection = self.target.server.collection();
        let Request::Find(filter, range) = &self.request else {
            return Ok(self.send_for_rows(session).await?.into_iter().next());
        };
        let action = || {
            let mut action = collection.find_one(filter.clone());
            if let Some(sort) = &range.sort {
                action = action.sort(sort.clone());
            }
            if let Some(projection) = &range.projection {
                action = action.projection(projection.clone());
            }
            with_settings!(self, action)
        };
        match session {
            Some(session) => self.target.server.ask(action().session(session)).await,
            None => send_alone!(self, action),
        }
    }

    /// Opens the cursor: once for all types of rows, since it is most of the code.
    async fn open<'s>(
        &self,
        session: Option<&'s mut ClientSession>,
    ) -> Result<DocumentCursor<'s, Document>, DriverError> {
        let collection = self.target.server.collection();
        Ok(match &self.request {
            Request::Find(filter, range) => {
                let action = || {
                    let mut action = collection.find(filter.clone());
                    if let Some(sort) = &range.sort {
                        action = action.sort(sort.clone());
                    }
                    if let Some(projection) = &range.projection {
                        action = action.projection(projection.clone());
                    }
                    if range.skip > 0 {
                        action = action.skip(range.skip);
                    }
                    if let Some(size) = range.batch_size {
                        action = action.batch_size(size);
                    }
                    if let Some(limit) = range.limit {
                        action = action.limit(limit);
                    }
                    with_settings!(self, action)
                };
                open!(self, action, session)
            }
            Request::Pipeline(pipeline) => {
                let action = || {
                    let action = collection.aggregate(pipeline.clone());
                    let action = match self.allow_disk_use {
                        true => action.allow_disk_use(true),
                        false => action,
                    };
                    with_settings!(self, action)
                };
                open!(self, action, session)
            }
        })
    }
}
