//! The state of one call: what is stored, what is not, and whether to go on.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::mpsc::UnboundedSender;

use super::{
    failed::{AppendManyError, FailedItem},
    key_items::{BufferedItem, KeyItems},
};
use crate::{
    Bucket, Error, Result,
    protocol::command::IndexedScope,
    server::call,
    write::{
        appended::Appended,
        engine::{Batch, Engine},
        item::Entry,
    },
};

/// How many items are turned into entries at once.
const ENTRIES_AT_ONCE: usize = 1000;

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
    given_up: Option<Error>,
}

/// The owner of an entry: a buffered item, which records its result. In a box, so that the engine is compiled
/// once for all structs.
type Recorder<'l> = Box<dyn FnOnce(Result<Appended>) + Send + Sync + 'l>;

impl<T: Bucket> Load<T> {
    pub(super) fn new(engine: Engine) -> Self {
        let state = LoadState {
            stored: 0,
            failed: Vec::new(),
            given_up: None,
        };
        Self {
            engine,
            state: Arc::new(Mutex::new(state)),
            reports: None,
        }
    }

    /// A handle for one of the call's parallel parts, which shares its state and reports its progress.
    pub(super) fn new_part(&self, reports: UnboundedSender<u64>) -> Self {
        Self {
            engine: self.engine.clone(),
            state: Arc::clone(&self.state),
            reports: Some(reports),
        }
    }

    pub(super) fn record_stored(&self, items: usize) {
        call::items(items);
        let mut state = self.lock();
        state.stored += items as u64;
        if let Some(reports) = &self.reports {
            // Nothing receives it if the call was dropped.
            let _ = reports.send(state.stored);
        }
    }

    /// Records that these items were not stored, for this reason.
    pub(super) fn record_refused(
        &self,
        items: impl IntoIterator<Item = BufferedItem<T>>,
        error: &Error,
    ) {
        let failed = |BufferedItem { index, item }| FailedItem {
            index,
            item,
            error: error.clone(),
        };
        self.lock().failed.extend(items.into_iter().map(failed));
    }

    /// Sends nothing more, after an error that affects more than single items.
    pub(super) fn give_up(&self, error: &Error) {
        self.lock().given_up = Some(error.clone().not_sent());
    }

    /// The error of everything that is not sent, if nothing more is sent.
    pub(super) fn given_up(&self) -> Option<Error> {
        self.lock().given_up.clone()
    }

    /// Whether to take no further items: nothing more is sent, or the failed items would exceed the
    /// buffer.
    pub(super) fn is_over(&self, buffer: usize) -> bool {
        let state = self.lock();
        state.given_up.is_some() || state.failed.len() * mem::size_of::<FailedItem<T>>() > buffer
    }

    pub(super) fn finish(self) -> Result<u64, AppendManyError<T>> {
        let mut state = self.lock();
        match AppendManyError::new(state.stored, mem::take(&mut state.failed)) {
            Some(error) => Err(error),
            None => Ok(state.stored),
        }
    }

    /// Appends items of one key with the append protocol, which finds the item that causes a refusal.
    pub(super) async fn append(&self, key_items: KeyItems<T>) {
        let KeyItems { scope, items, .. } = key_items;
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let some = items.by_ref().take(ENTRIES_AT_ONCE);
            let entries = some.filter_map(|item| self.entry(&scope, item));
            let mut batch = Batch::with_owners(scope.clone(), entries);
            if self.given_up().is_none() {
                let answer = |recorder: Recorder<'_>, result| {
                    recorder(result);
                    self.given_up().is_none()
                };
                self.engine.append_each(&mut batch, answer).await;
            }
            if let Some(error) = self.given_up() {
                for recorder in batch.take_owners() {
                    recorder(Err(error.clone()));
                }
            }
        }
    }

    /// The item's entry, unless the item cannot be written as BSON.
    fn entry(&self, scope: &IndexedScope, item: BufferedItem<T>) -> Option<(Recorder<'_>, Entry)> {
        match item.entry(&self.engine, scope) {
            Ok(entry) => Some((Box::new(|result| self.record(item, result)), entry)),
            Err(error) => {
                self.record_refused([item], &error);
                None
            }
        }
    }

    fn record(&self, item: BufferedItem<T>, result: Result<Appended>) {
        match result {
            Ok(Appended::Stored) => self.record_stored(1),
            Ok(Appended::AlreadyThere) => {}
            Err(error) => {
                if error.is_fatal() {
                    self.give_up(&error);
                }
                self.record_refused([item], &error);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, LoadState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
