//! The one place that talks to the server.

use mongodb::{
    ClientSession, Collection, Cursor, IndexModel, SessionCursor,
    bson::{Document, doc},
    error::{Error as DriverError, ErrorKind},
    options::{Hint, IndexOptions, ReadConcern, ReadPreference, SelectionCriteria},
};
use serde::de::DeserializeOwned;

use crate::{
    BucketSpec,
    command::{self, OPEN_INDEX, Update},
};

/// A collection, and what the runtime asks of it.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    collection: Collection<Document>,
}

/// What a find is asked besides its filter.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Range {
    pub(crate) newest_first: bool,
    pub(crate) skip: u64,
    pub(crate) limit: Option<i64>,
}

impl Server {
    pub(crate) fn new(collection: Collection<Document>) -> Self {
        Self { collection }
    }

    pub(crate) fn collection(&self) -> &Collection<Document> {
        &self.collection
    }

    /// The collection as `database.collection`.
    pub(crate) fn name(&self) -> String {
        self.collection.namespace().to_string()
    }

    /// Carries out one update; tells whether it stored anything. One round trip, which the driver
    /// repeats once if the connection breaks and the deployment is a replica set.
    pub(crate) async fn update(
        &self,
        update: Update,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        let mut action = (self.collection)
            .update_one(update.filter, update.update)
            .upsert(update.upsert);
        if let Some(hint) = update.hint {
            action = action.hint(Hint::Name(hint.to_owned()));
        }
        if let Some(session) = session {
            action = action.session(session);
        }
        let result = action.await?;
        Ok(result.matched_count > 0 || result.upserted_id.is_some())
    }

    /// The greatest id that matches, for a write that is about to take the next one. It asks the
    /// primary for its latest state, whatever the handle prefers: an older state would only give
    /// an id that is taken.
    pub(crate) async fn last_id(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Option<String>, DriverError> {
        let mut action = (self.collection)
            .find_one(filter)
            .projection(doc! { "_id": 1 })
            .sort(doc! { "_id": -1 })
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        let found = if let Some(session) = session {
            action.session(session).await?
        } else {
            // A transaction has a read concern of its own; elsewhere this one is the latest state.
            action = action.read_concern(ReadConcern::local());
            action.await?
        };
        Ok(found.and_then(|document| document.get_str("_id").ok().map(str::to_owned)))
    }

    /// Finds documents in the order of their ids.
    pub(crate) async fn find<'s, R>(
        &self,
        filter: Document,
        range: Range,
        session: Option<&'s mut ClientSession>,
    ) -> Result<Rows<'s, R>, DriverError>
    where
        R: DeserializeOwned,
    {
        let mut action = (self.collection)
            .find(filter)
            .sort(doc! { "_id": if range.newest_first { -1 } else { 1 } });
        if range.skip > 0 {
            action = action.skip(range.skip);
        }
        if let Some(limit) = range.limit {
            action = action.limit(limit);
        }
        Ok(match session {
            None => Rows::Plain(action.await?.with_type()),
            Some(session) => {
                let cursor = action.session(&mut *session).await?;
                Rows::Session(cursor.with_type(), session)
            }
        })
    }

    /// How many documents match, counted on the index alone where the filter is a range of ids.
    pub(crate) async fn count_documents(
        &self,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = self.collection.count_documents(filter);
        match session {
            None => action.await,
            Some(session) => action.session(session).await,
        }
    }

    /// How many items the matching buckets hold, added up by the server.
    pub(crate) async fn count_items(
        &self,
        spec: &BucketSpec,
        filter: Document,
        session: Option<&mut ClientSession>,
    ) -> Result<u64, DriverError> {
        let action = (self.collection).aggregate(command::count_items(spec, filter));
        let sum = match session {
            None => {
                let mut cursor = action.await?;
                match cursor.advance().await? {
                    true => Some(cursor.deserialize_current()?),
                    false => None,
                }
            }
            Some(session) => {
                let mut cursor = action.session(&mut *session).await?;
                match cursor.advance(session).await? {
                    true => Some(cursor.deserialize_current()?),
                    false => None,
                }
            }
        };
        // The sum is of whichever numeric type the counts have.
        Ok(sum
            .as_ref()
            .and_then(|sum: &Document| sum.get("items"))
            .map_or(0, |items| {
                let wide = items.as_i64().or_else(|| items.as_i32().map(i64::from));
                wide.or_else(|| items.as_f64().map(|float| float as i64))
                    .and_then(|items| u64::try_from(items).ok())
                    .unwrap_or(0)
            }))
    }

    /// The indexes of the collection; none if it does not exist.
    pub(crate) async fn indexes(&self) -> Result<Vec<IndexModel>, DriverError> {
        let mut cursor = match self.collection.list_indexes().await {
            Ok(cursor) => cursor,
            Err(error) if is_missing_collection(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut indexes = Vec::new();
        while cursor.advance().await? {
            indexes.push(cursor.deserialize_current()?);
        }
        Ok(indexes)
    }

    /// Makes the open index, and with it the collection if it does not exist.
    pub(crate) async fn create_open_index(&self, spec: &BucketSpec) -> Result<(), DriverError> {
        let options = IndexOptions::builder()
            .name(OPEN_INDEX.to_owned())
            .unique(true)
            .partial_filter_expression(command::open_index_filter(spec))
            .build();
        let model = IndexModel::builder()
            .keys(command::open_index_keys(spec))
            .options(options)
            .build();
        self.collection.create_index(model).await.map(drop)
    }
}

/// NamespaceNotFound, which `listIndexes` answers for a collection that nobody has made yet.
fn is_missing_collection(error: &DriverError) -> bool {
    matches!(&*error.kind, ErrorKind::Command(command) if command.code == 26)
}

/// Rows as they come from the server, with or without a session.
pub(crate) enum Rows<'s, R> {
    Plain(Cursor<R>),
    Session(SessionCursor<R>, &'s mut ClientSession),
}

/// Why the next row could not be had.
pub(crate) enum RowError {
    /// The server failed.
    Driver(DriverError),
    /// The row could not be decoded: its `_id`.
    Decode(String, DriverError),
}

impl<R: DeserializeOwned> Rows<'_, R> {
    /// The next row, decoded straight from the batch that the server sent.
    pub(crate) async fn next(&mut self) -> Result<Option<R>, RowError> {
        let more = match self {
            Self::Plain(cursor) => cursor.advance().await,
            Self::Session(cursor, session) => cursor.advance(session).await,
        };
        if !more.map_err(RowError::Driver)? {
            return Ok(None);
        }
        let (row, raw) = match self {
            Self::Plain(cursor) => (cursor.deserialize_current(), cursor.current()),
            Self::Session(cursor, _) => (cursor.deserialize_current(), cursor.current()),
        };
        row.map(Some).map_err(|error| {
            let id = raw.get("_id").ok().flatten();
            let id = match id.and_then(|id| id.as_str()) {
                Some(text) => text.to_owned(),
                None => format!("{id:?}"),
            };
            RowError::Decode(id, error)
        })
    }
}
