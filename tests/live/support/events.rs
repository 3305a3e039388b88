//! Calls that stop between two commands, or in the middle of one.

use std::{
    fmt::Debug,
    future::{Future, IntoFuture, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use bucket_runtime::mongodb::{
    Client, Database,
    event::{EventHandler, command::CommandEvent},
    options::ClientOptions,
};

use rand::Rng;

use crate::support::{database::server, scale::scaled};

/// A database through a client that counts the events of its commands: two each, the sending and the
/// answer.
pub(crate) async fn counted(name: &str) -> (Database, Events) {
    let events = Events::default();
    let mut options = ClientOptions::parse(server().await.uri()).await.unwrap();
    let seen = events.clone();
    options.app_name = Some(name.to_owned());
    options.command_event_handler = Some(EventHandler::callback(move |event| seen.saw(&event)));
    (
        Client::with_options(options).unwrap().database(name),
        events,
    )
}

/// The numbers of events after which a call is stopped, one run each: all, or every fourth from a random one on.
pub(crate) fn stops() -> impl Iterator<Item = usize> {
    let every = 4 / scaled(4);
    (rand::rng().random_range(1..=every)..).step_by(every)
}

/// The events of a client since the last reset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    seen: Arc<AtomicUsize>,
    abort_at: Arc<AtomicUsize>,
}

impl Events {
    fn saw(&self, event: &CommandEvent) {
        let started = matches!(event, CommandEvent::Started(_));
        let nth = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
        if started && nth == self.abort_at.load(Ordering::SeqCst) {
            std::process::abort();
        }
    }

    pub(crate) fn reset(&self) {
        self.seen.store(0, Ordering::SeqCst);
    }

    /// Ends the process when the `nth` command after now is about to be sent.
    pub(crate) fn abort_before(&self, nth: usize) {
        self.reset();
        self.abort_at.store(nth * 2 - 1, Ordering::SeqCst);
    }

    /// Runs the call until this many events were seen. Returns its outcome, or else the call.
    pub(crate) async fn run_until<F: Future + Unpin>(
        &self,
        events: usize,
        mut call: F,
    ) -> Result<F::Output, F> {
        let outcome = poll_fn(|context| {
            if self.seen.load(Ordering::SeqCst) >= events {
                return Poll::Ready(None);
            }
            Pin::new(&mut call).poll(context).map(Some)
        });
        outcome.await.ok_or(call)
    }

    /// Runs a call until this many events were seen, then drops it. Returns whether it completed
    /// before.
    pub(crate) async fn cut<C: IntoFuture<Output: Debug>>(&self, events: usize, call: C) -> bool
    where
        C::IntoFuture: Unpin,
    {
        self.reset();
        self.run_until(events, call.into_future()).await.is_ok()
    }
}
