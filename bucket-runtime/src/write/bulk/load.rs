//! The state of one call: what is stored, what is not, and whether to go on.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

use super::{
    failed::{AppendManyError, FailedItem},
    key_items::{Held, KeyItems},
};
use crate::{
    Bucket, Error,
    protocol::command::IndexedScope,
    server::call,
    write::{
        appended::Appended,
        engine::{Batch, Engine},
        item::Entry,
    },
};

/// One call; each of its parts has a clone.
pub(super) struct Load<T> {
    pub(super) engine: Engine,
    state: Arc<Mutex<LoadState<T>>>,
    /// Receives the number of items stored so far.
    reports: Option<UnboundedSender<u64>>,
}

struct LoadState<T> {
    stored: u64,
    failed: Vec<FailedItem<T>>,
    /// An error that affects everything that is not sent yet.
    over: Option<Error>,
}

impl<T: Bucket> Load<T> {
    pub(super) fn new(engine: Engine) -> Self {
        let state = LoadState {
            stored: 0,
            failed: Vec::new(),
            over: None,
        };
        Self {
            engine,
            state: Arc::new(Mutex::new(state)),
            reports: None,
        }
    }

    /// A handle for one of the call's parallel parts, which shares its state and reports its progress.
    pub(super) fn part(&self, reports: UnboundedSender<u64>) -> Self {
        Self {
            engine: self.engine.clone(),
            state: Arc::clone(&self.state),
            reports: Some(reports),
        }
    }

    pub(super) fn stored(&self, items: usize) {
        call::items(items);
        let mut state = self.state();
        state.stored += items as u64;
        if let Some(reports) = &self.reports {
            // Nothing receives it if the call was dropped.
            let _ = reports.send(state.stored);
        }
    }

    pub(super) fn fail(&self, failed: impl IntoIterator<Item = FailedItem<T>>) {
        self.state().failed.extend(failed);
    }

    /// Records that these items were not stored, for this reason.
    pub(super) fn refused(&self, held: impl IntoIterator<Item = Held<T>>, error: &Error) {
        self.fail(held.into_iter().map(|held| held.failed(error.clone())));
    }

    /// Sends nothing more, after an error that affects more than single items.
    pub(super) fn give_up(&self, error: &Error) {
        self.state().over = Some(error.clone().not_sent());
    }

    pub(super) fn over(&self) -> Option<Error> {
        self.state().over.clone()
    }

    /// Whether to take no further items: nothing more is sent, or the failed items would exceed the
    /// buffer.
    pub(super) fn is_over(&self, buffer: usize) -> bool {
        let state = self.state();
        state.over.is_some() || state.failed.len() * mem::size_of::<FailedItem<T>>() > buffer
    }

    pub(super) fn finish(self) -> Result<u64, AppendManyError<T>> {
        let mut state = self.state();
        match AppendManyError::new(state.stored, mem::take(&mut state.failed)) {
            Some(error) => Err(error),
            None => Ok(state.stored),
        }
    }

    /// Appends items of one key with the append protocol, which finds the item that causes a refusal.
    pub(super) async fn append(&self, key_items: KeyItems<T>) {
        /// How many items are turned into documents at once.
        const PART: usize = 1000;

        let KeyItems { scope, held, .. } = key_items;
        let mut held = held.into_iter().peekable();
        while held.peek().is_some() {
            let part: Vec<_> = held.by_ref().take(PART).collect();
            let (mut part, entries) = self.entries(&scope, part);
            if self.over().is_none() {
                let tell = |place: usize, result: Result<_, Error>| {
                    match (part[place].take(), result) {
                        (_, Ok(Appended::Stored)) => self.stored(1),
                        (_, Ok(Appended::AlreadyThere)) => {}
                        (Some(held), Err(error)) => {
                            if error.is_fatal() {
                                self.give_up(&error);
                            }
                            self.refused([held], &error);
                        }
                        (None, Err(_)) => {}
                    }
                    self.over().is_none()
                };
                let mut batch = Batch::new(scope.clone(), entries);
                self.engine.append_each(&mut batch, tell).await;
            }
            if let Some(error) = self.over() {
                self.refused(part.into_iter().flatten(), &error);
            }
        }
    }

    /// The items with their entries, except those that cannot be written as BSON.
    fn entries(
        &self,
        scope: &IndexedScope,
        held: Vec<Held<T>>,
    ) -> (Vec<Option<Held<T>>>, Vec<Entry>) {
        let entries = held.into_iter().filter_map(|held| {
            let entry = held.entry(&self.engine, scope);
            match entry {
                Ok(entry) => Some((Some(held), entry)),
                Err(error) => {
                    self.refused([held], &error);
                    None
                }
            }
        });
        entries.unzip()
    }

    fn state(&self) -> MutexGuard<'_, LoadState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
