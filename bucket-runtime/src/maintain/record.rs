//! The stored progress of a long call, from which a later call resumes.

use mongodb::{
    ClientSession,
    bson::{Document, doc},
};

use crate::{
    Result, error::Kind, protocol::command::Update, server::Server, value::element::whole,
};

/// The collection that holds one document for each unfinished call.
pub(super) const RECORDS: &str = "bucket_regroup";

/// How often a call may find that another one has advanced the same work before it gives up. A call that
/// was dropped may have left one transaction behind.
pub(super) const OVERTAKEN: u32 = 3;

/// The record of an unfinished call.
#[derive(Debug, Clone)]
pub(super) struct Record {
    server: Server,
    id: Document,
    /// How often the call has advanced.
    step: i64,
}

impl Record {
    /// The record of a call that works on this collection, and its state if the call is unfinished.
    pub(super) async fn find(target: &Server, id: Document) -> Result<(Self, Option<Document>)> {
        let collection = target.collection();
        let db = collection.client().database(&collection.namespace().db);
        let server = target.with_collection(db.collection(RECORDS));
        let found = server.find_one(doc! { "_id": &id }, None).await;
        let found = found.map_err(|error| server.target().write_error(error))?;
        let step = found.as_ref().and_then(|found| whole(found.get("step")?));
        let record = Self {
            server,
            id,
            step: step.unwrap_or(0),
        };
        Ok((record, found))
    }

    /// Records that the call has begun, in this state.
    pub(super) async fn begin(&self, mut state: Document) -> Result<()> {
        state.insert("step", self.step);
        let begin = || Update {
            filter: doc! { "_id": &self.id },
            update: doc! { "$setOnInsert": state.clone() },
            upsert: true,
            hint: None,
        };
        let begun = (self.server).update(begin(), || Some(begin()), None).await;
        begun
            .map(drop)
            .map_err(|error| self.server.target().write_error(error))
    }

    /// Records the next state, in the transaction that writes what the state says; an error if another
    /// call has advanced the record.
    pub(super) async fn advance(
        &self,
        mut state: Document,
        session: &mut ClientSession,
    ) -> Result<()> {
        state.insert("step", self.step + 1);
        let unchanged = doc! { "_id": &self.id, "step": self.step };
        let next = Update::new(unchanged, doc! { "$set": state });
        match self.server.update_once(next, Some(session)).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.server.target().error(Kind::Overtaken)),
            Err(error) => Err(self.server.target().read_error(error)),
        }
    }

    /// Resets the count of steps, since the record was deleted.
    pub(super) fn begins_anew(&mut self) {
        self.step = 0;
    }

    /// Counts a step, since the transaction that advanced the record has committed.
    pub(super) fn has_advanced(&mut self) {
        self.step += 1;
    }

    /// Deletes the record of a call that has finished, or that starts from the beginning again.
    pub(super) async fn end(&self) -> Result<()> {
        let ended = self.server.delete_one(doc! { "_id": &self.id }, None).await;
        ended
            .map(drop)
            .map_err(|error| self.server.target().write_error(error))
    }
}
