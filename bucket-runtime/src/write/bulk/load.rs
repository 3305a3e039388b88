//! The state of one call: what is stored, what is not, and whether to go on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

use super::key_items::KeyItems;
use crate::{
    Error, Result,
    write::{
        appended::Appended,
        caller::Owner,
        engine::{Batch, Engine},
    },
};

/// How many items are turned into entries at once.
const ENTRIES_AT_ONCE: usize = 1000;

/// One call; each of its parts has a clone.
#[derive(Clone)]
pub(super) struct Load {
    pub(super) engine: Engine,
    /// How many items may fail before no further ones are taken.
    pub(super) max_failed: usize,
    pub(super) state: Arc<Mutex<LoadState>>,
    /// Receives the number of items stored so far.
    pub(super) reports: Option<UnboundedSender<u64>>,
}

#[derive(Default)]
pub(super) struct LoadState {
    pub(super) stored: u64,
    failed: usize,
    /// Why buffered items were not stored, by their indexes.
    pub(super) refused: HashMap<usize, Error>,
    /// An error that affects everything that is not sent yet.
    given_up: Option<Error>,
}

impl Load {
    pub(super) fn record_stored(&self, items: usize) {
        let mut state = self.lock();
        state.stored += items as u64;
        if let Some(reports) = &self.reports {
            // Nothing receives it if the call was dropped.
            let _ = reports.send(state.stored);
        }
    }

    /// Records that these items were not stored, for this reason.
    pub(super) fn record_refused(&self, items: impl IntoIterator<Item = usize>, error: &Error) {
        let mut state = self.lock();
        for index in items {
            state.refused.insert(index, error.clone());
            state.failed += 1;
        }
    }

    /// Whether to take no further items: nothing more is sent, or too many have failed.
    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        state.given_up.is_some() || state.failed > self.max_failed
    }

    /// Sends nothing more, after an error that affects more than single items.
    pub(super) fn give_up(&self, error: &Error) {
        self.lock().given_up = Some(error.clone().not_sent());
    }

    /// The error of everything that is not sent, if nothing more is sent.
    pub(super) fn given_up(&self) -> Option<Error> {
        self.lock().given_up.clone()
    }

    /// Appends items of one key with the append protocol, which finds the item that causes a
    /// refusal.
    pub(super) async fn append(&self, key_items: KeyItems) {
        for indexes in key_items.indexes.chunks(ENTRIES_AT_ONCE) {
            let mut entries = Vec::with_capacity(indexes.len());
            let owner = |at| Owner { at, caller: None };
            for index in indexes {
                match key_items.entry(&self.engine, *index) {
                    Ok(entry) => entries.push((owner(*index), entry)),
                    // It cannot be written as BSON.
                    Err(error) => self.record_refused([*index], &error),
                }
            }
            let mut batch = Batch::with_owners(key_items.scope.clone(), entries);
            if self.given_up().is_none() {
                let answer = |owner: Owner, result| {
                    self.record(owner.at, result);
                    self.given_up().is_none()
                };
                self.engine.append_each(&mut batch, answer).await;
            }
            if let Some(error) = self.given_up() {
                self.record_refused(batch.owners().map(|owner| owner.at), &error);
            }
        }
    }

    fn record(&self, index: usize, result: Result<Appended>) {
        match result {
            Ok(Appended::Stored) => self.record_stored(1),
            Ok(Appended::AlreadyThere) => {}
            Err(error) => {
                if error.is_fatal() {
                    self.give_up(&error);
                }
                self.record_refused([index], &error);
            }
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, LoadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
