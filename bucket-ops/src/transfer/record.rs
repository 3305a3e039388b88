//! The stored progress of a long call, from which a later call resumes.

use std::mem;

use bucket_core::{
    error::Kind,
    protocol::{command::Update, range::Range},
    server::Server,
    value::{bytes, number::whole},
};
use bucket_runtime::{Error, Result};
use mongodb::{
    ClientSession,
    bson::{Document, doc},
    error::Error as DriverError,
};
use serde::{Serialize, de::DeserializeOwned};

use super::store::find_any;

/// The collection that holds one document for each unfinished call.
pub(crate) const RECORDS: &str = "bucket_progress";

/// How often a call resumes before it gives up. A call that was dropped may have left one
/// transaction behind.
const RESUMED_TIMES: u32 = 3;

/// The record of an unfinished call.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    server: Server,
    id: Document,
    /// How often the call has advanced.
    step: i64,
    /// Whether the items that the stored record speaks of are gone, with all buckets.
    is_void: bool,
}

impl Record {
    /// The record of a call that fills this collection; its state if the call is unfinished; and
    /// the `_id` of some bucket. If there is none although items were stored, the collection was
    /// emptied, and the call begins again.
    pub(crate) async fn find<S: DeserializeOwned>(
        target: &Server,
        id: Document,
    ) -> Result<(Self, Option<S>, Option<String>)> {
        let collection = target.collection();
        let db = collection.client().database(&collection.namespace().db);
        let server = target.with_collection(db.collection(RECORDS));
        let read = server
            .target()
            .find(doc! { "_id": &id }, Range::unordered());
        let found = read.read_primary().first(None).await?;
        let number = |name| found.as_ref().and_then(|found| whole(found.get(name)?));
        let (step, items) = (number("step"), number("items"));
        let bucket = find_any(target, None).await?;
        let is_void = items > Some(0) && bucket.is_none();
        let state = found.as_ref().filter(|_| !is_void).map(read_state);
        let state = state.transpose();
        let state =
            state.map_err(|error| server.target().error(Kind::Driver).with_driver(error))?;
        let record = Self {
            server,
            id,
            step: step.unwrap_or(0),
            is_void,
        };
        Ok((record, state, bucket))
    }

    /// Records that the call has begun, in this state.
    pub(crate) async fn begin(&mut self, state: &impl Serialize) -> Result<()> {
        if mem::take(&mut self.is_void) {
            self.end().await?;
            self.step = 0;
        }
        let mut state = document(&self.server, state)?;
        state.insert("step", self.step);
        let begin = || Update {
            filter: doc! { "_id": &self.id },
            update: doc! { "$setOnInsert": state.clone() },
            upsert: true,
            hint: None,
        };
        self.server.target().update(begin, None).await.map(drop)
    }

    /// Records the next state, in the transaction that writes what the state says; an error if
    /// another call has advanced the record.
    pub(super) async fn advance(
        &self,
        mut state: Document,
        session: &mut ClientSession,
    ) -> Result<()> {
        state.insert("step", self.step + 1);
        let unchanged = doc! { "_id": &self.id, "step": self.step };
        let next = || Update::new(unchanged.clone(), doc! { "$set": state.clone() });
        let target = self.server.target().store_no_items();
        match target.update(next, Some(session)).await? {
            true => Ok(()),
            false => Err(target.error(Kind::Overtaken)),
        }
    }

    /// Counts a step, since the transaction that advanced the record has committed.
    pub(super) fn count_step(&mut self) {
        self.step += 1;
    }

    /// Deletes the record of a call that has finished, unless another call has advanced it.
    pub(crate) async fn end(&self) -> Result<()> {
        let this = doc! { "_id": &self.id, "step": self.step };
        self.server.target().delete_one(this, None).await.map(drop)
    }
}

/// A state as it is stored.
pub(super) fn document(server: &Server, state: &impl Serialize) -> Result<Document> {
    let fail = || server.target().error(Kind::Serialize);
    let document = bytes::write(state).map_err(|error| fail().with_source(error))?;
    bytes::read(&document).map_err(|error| fail().with_driver(error))
}

fn read_state<S: DeserializeOwned>(record: &Document) -> Result<S, DriverError> {
    let record = bytes::write(record).map_err(DriverError::custom)?;
    bytes::read(&record)
}

/// Counts how often a call resumes its work from the record.
#[derive(Debug, Default)]
pub(crate) struct Resumptions(u32);

impl Resumptions {
    /// The error, unless the call resumes after it: another call has advanced the work, or the
    /// capacity has changed, and the index of the former one is gone.
    pub(crate) fn count(&mut self, error: Error) -> Result<()> {
        let resumes = error.is(&Kind::Overtaken) || error.is(&Kind::MissingIndex);
        if !resumes || self.0 == RESUMED_TIMES {
            return Err(error);
        }
        self.0 += 1;
        Ok(())
    }
}
