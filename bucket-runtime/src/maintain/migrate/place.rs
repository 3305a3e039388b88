//! The progress of a migration, from which a later call resumes.

use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

use super::{
    event::Appended,
    store::{Store, by_key},
};
use crate::{
    Bucket, Error, Result,
    error::Kind,
    maintain::record::{RECORDS, Record},
    read::watch::WatchToken,
    server::{Server, transaction, watch::Events},
    value::bytes,
    write::engine::Engine,
};

/// A migration's record, and its state as of the last commit and the events since.
pub(super) struct Place {
    record: Record,
    pub(super) state: State,
}

/// The progress of a migration, as its record stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// The number of the last chunk, which is the buckets that one transaction copied.
    pub(super) chunk: i64,
    /// The id of the last copied bucket; empty if none is copied.
    pub(super) upto: String,
    /// Whether all buckets are copied, so that only events are left to follow.
    pub(super) is_copied: bool,
    /// The last chunk's buckets, each with the number of items copied from it.
    pub(super) taken: Vec<(String, usize)>,
    /// Whether every event from before the last chunk was processed.
    pub(super) is_drained: bool,
    /// The last event that was processed.
    pub(super) token: WatchToken,
    /// How many items are stored.
    pub(super) items: u64,
    /// The sum of the stored items' [fingerprints](super::verify::fingerprint).
    pub(super) sum: i64,
}

impl State {
    fn new(token: WatchToken) -> Self {
        Self {
            chunk: 0,
            upto: String::new(),
            is_copied: false,
            taken: Vec::new(),
            is_drained: true,
            token,
            items: 0,
            sum: 0,
        }
    }

    /// The state with a further chunk, which is still empty.
    pub(super) fn next_chunk(&self) -> Self {
        Self {
            chunk: self.chunk + 1,
            taken: Vec::new(),
            is_drained: false,
            ..self.clone()
        }
    }

    /// Whether the bucket with this id is copied. Any other one is still to be read.
    pub(super) fn holds(&self, bucket: &str) -> bool {
        self.is_copied || bucket <= &*self.upto
    }

    /// How many of these items the last chunk holds already. An event from after that chunk was stored
    /// brings only new items.
    pub(super) fn taken_before(&self, appended: &Appended) -> usize {
        match self.is_drained {
            true => 0,
            false => {
                let taken = self.taken.iter().find(|(id, _)| *id == appended.bucket);
                taken.map_or(0, |(_, taken)| taken.saturating_sub(appended.first))
            }
        }
    }
}

impl Place {
    /// Continues a migration, or begins one, and follows the old collection's events from its state on.
    pub(super) async fn begin(new: &Server, old: &Server) -> Result<(Self, Events)> {
        let id = doc! { "from": old.name(), "to": new.name() };
        let (mut record, found) = Record::find(new, id.clone()).await?;
        let state = found.map(|found| read(&found));
        let state = state
            .transpose()
            .map_err(|error| new.target().error(Kind::Driver).with_driver(error))?;
        let any = new.find_one(Document::new(), None).await;
        let any = any.map_err(|error| new.target().read_error(error))?;
        let target = old.target();
        let state = match (state, any) {
            // Somebody dropped the new collection, so the migration starts from the beginning.
            (Some(state), None) if state.items > 0 => {
                record.end().await?;
                record.begins_anew();
                None
            }
            (None, Some(bucket)) => {
                let id = bucket.get("_id").map(ToString::to_string);
                return Err(new.target().error(Kind::KeyTaken(id.unwrap_or_default())));
            }
            (state, _) => state,
        };
        let after = state.as_ref().and_then(|state| state.token.resume_token());
        let events = old.watch_beside(RECORDS, &id, after).await;
        let mut events = events.map_err(|error| target.read_error(error))?;
        let state = match state {
            Some(state) => state,
            None => {
                let token = events.beginning().await;
                let token = token.map_err(|error| target.read_error(error))?;
                let token = token.as_ref().and_then(WatchToken::after);
                let state = State::new(token.ok_or_else(|| target.error(Kind::Driver))?);
                record.begin(document(&state, old)?).await?;
                state
            }
        };
        Ok((Self { record, state }, events))
    }

    /// Stores items in a transaction, together with the next state.
    pub(super) async fn store<T: Bucket>(
        &mut self,
        engine: &Engine,
        next: &mut State,
        items: impl Iterator<Item = T>,
    ) -> Result<()> {
        let keys = by_key(engine, items, next)?;
        let next_document = document(next, &engine.server)?;
        let store = Store::of(engine, &self.record, next_document, keys).await?;
        transaction::run(&engine.server, store).await?;
        self.record.has_advanced();
        self.state = next.clone();
        Ok(())
    }

    /// Deletes the record of the finished migration.
    pub(super) async fn end(&self) -> Result<()> {
        self.record.end().await
    }
}

fn document(state: &State, server: &Server) -> Result<Document> {
    let document = bytes::write(state).map_err(|error| refusal(server).with_source(error))?;
    bytes::read(&document).map_err(|error| refusal(server).with_driver(error))
}

fn refusal(server: &Server) -> Error {
    server.target().error(Kind::Serialize)
}

fn read(document: &Document) -> Result<State, mongodb::error::Error> {
    let document = bytes::write(document).map_err(mongodb::error::Error::custom)?;
    bytes::read(&document)
}
