//! The progress of a migration, from which a later call resumes.

use bucket_core::{
    error::Kind,
    server::{
        Server,
        watch::{Events, Watched},
    },
};
use bucket_runtime::{__ops::Engine, Result, WatchToken};
use mongodb::bson::{Document, doc};
use serde::{Deserialize, Serialize};

use super::event::AppendedElements;
use crate::transfer::{RECORDS, Record, Transfer};

/// The progress of a migration, as its record stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct MigrationState {
    /// The number of the last chunk of buckets.
    pub(super) chunk: i64,
    /// Whether all buckets are copied, so that only events are left to follow.
    pub(super) is_copied: bool,
    /// The last chunk's buckets, each with the number of its items that are stored; before any are
    /// read, the last bucket of the chunk before.
    pub(super) copied: Vec<(String, usize)>,
    /// Whether every event from before the last chunk was processed.
    pub(super) is_drained: bool,
    /// The last event that was processed.
    pub(super) token: WatchToken,
    /// How many items are stored.
    pub(super) items: u64,
    /// The sum of the stored items' [fingerprints](super::verify::entry_fingerprint).
    pub(super) sum: i64,
}

impl MigrationState {
    fn new(token: WatchToken) -> Self {
        Self {
            chunk: 0,
            is_copied: false,
            copied: Vec::new(),
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
            copied: Vec::from_iter(self.copied.last().cloned()),
            is_drained: false,
            ..self.clone()
        }
    }

    /// The id of the last copied bucket; empty if none is copied.
    pub(super) fn upto(&self) -> &str {
        self.copied.last().map_or("", |(last, _)| last)
    }

    /// Whether the bucket with this id is copied. Any other one is still to be read.
    pub(super) fn has_copied(&self, bucket: &str) -> bool {
        self.is_copied || bucket <= self.upto()
    }

    /// Takes those out of these elements that are stored already; the others are stored next. An
    /// event from after the last chunk was stored brings only new ones.
    pub(super) fn leave_out_stored(&mut self, appended: &mut AppendedElements) {
        let mut copied = self.copied.iter_mut();
        let Some((_, stored)) = copied.find(|(id, _)| *id == appended.bucket) else {
            return;
        };
        let all = appended.first + appended.elements.len();
        let known = stored.saturating_sub(appended.first);
        appended
            .elements
            .drain(..known.min(appended.elements.len()));
        *stored = all.max(*stored);
    }
}

/// Continues a migration, or begins one, and follows the old collection's events from its state on.
pub(super) async fn begin(
    engine: &Engine,
    old: &Server,
) -> Result<(Transfer<MigrationState>, Events)> {
    let (new, target) = (&engine.server, old.target());
    let id = doc! { "from": old.name(), "to": new.name() };
    let (record, state, bucket) = Record::find::<MigrationState>(new, id.clone()).await?;
    if let (None, Some(id)) = (&state, bucket) {
        return Err(new.target().error(Kind::KeyTaken(id)));
    }
    let after = state.as_ref().and_then(|state| state.token.resume_token());
    let watched = Watched::database([
        (old.collection().name(), Document::new()),
        (RECORDS, doc! { "_id": &id }),
    ]);
    let events = target.watch(&watched, after).await?;
    let is_begun = state.is_some();
    bucket_core::reached!("a migration, begun before: {is_begun}");
    let state = state.map_or_else(
        || {
            let token = events.token();
            let token = token.as_ref().and_then(WatchToken::after);
            (token.map(MigrationState::new)).ok_or_else(|| target.error(Kind::Driver))
        },
        Ok,
    );
    let mut transfer = Transfer {
        engine: engine.clone(),
        record,
        state: state?,
        leave_out: None,
    };
    if !is_begun {
        transfer.record.begin(&transfer.state).await?;
    }
    Ok((transfer, events))
}
