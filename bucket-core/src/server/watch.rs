//! Change streams.
//!
//! If the connection breaks, the driver sends the request of a stream again, with the position of
//! the last event. But if that request breaks as well, the driver repeats it as it was at the
//! beginning (seen in 3.9.1): the stream then starts where it started at first, or, without a
//! token, at that moment, and what happened in between is lost. So each stream starts with a token,
//! and one that goes back is opened again at its position. The server writes tokens as text that
//! sorts as the events do.

use mongodb::{bson::Document, change_stream::event::ResumeToken};

pub use crate::server::wire::{Event, Watched};
use crate::{
    Result,
    server::{
        call::Calls,
        target::{OwnedTarget, Target},
        wire::EventStream,
    },
    value::bytes,
};

/// Events of a change stream. It knows the target of its watch, which its errors name.
pub struct Events {
    stream: Box<dyn EventStream>,
    watched: Watched,
    /// The position that the stream has reached.
    reached: Option<ResumeToken>,
    /// Whether it has given an event since it was opened: then the server knew the position at
    /// which it was opened.
    has_given: bool,
    target: OwnedTarget,
    /// The call that watches, for which all further batches count.
    calls: Calls,
}

impl Events {
    /// The next event; `None` if there is none at the moment. At most one round trip, in which the
    /// server waits for up to a second, and one more if the driver went back.
    pub async fn next_event(&mut self) -> Result<Option<Event>> {
        loop {
            let next = self.calls.next_row(self.stream.next_if_any()).await;
            match next {
                Ok(Some(event)) if is_reached(&event.token, self.reached.as_ref()) => {}
                Ok(Some(event)) => {
                    self.reached = Some(event.token.clone());
                    self.has_given = true;
                    return Ok(Some(event));
                }
                Ok(None) => {
                    let now = self.stream.resume_token();
                    let further = now.filter(|now| !is_reached(now, self.reached.as_ref()));
                    self.reached = further.or(self.reached.take());
                    return Ok(None);
                }
                // If the driver went back, the server may have forgotten that position, and not the
                // one reached.
                Err(error) => {
                    let error = self.target.borrow().read_error(error);
                    if !error.is_history_lost() || !self.has_given {
                        return Err(error);
                    }
                }
            }
            self.reopen().await?;
        }
    }

    /// Opens the stream again at the position that it has reached. One round trip.
    pub async fn reopen(&mut self) -> Result<()> {
        crate::reached!("a watch opens its stream again");
        let target = self.target.borrow();
        self.stream = target.open(&self.watched, self.reached.clone()).await?;
        self.has_given = false;
        Ok(())
    }

    /// The target of the watch.
    pub fn target(&self) -> Target<'_> {
        self.target.borrow()
    }

    /// The position after the last event, or after everything that did not concern the stream.
    pub fn token(&self) -> Option<ResumeToken> {
        self.reached.clone()
    }

    /// Whether there may be further events.
    pub fn is_alive(&self) -> bool {
        self.stream.is_alive()
    }
}

/// Whether an event with this token comes no later than a position that was reached.
fn is_reached(token: &ResumeToken, reached: Option<&ResumeToken>) -> bool {
    let Some(reached) = reached else {
        return false;
    };
    match (text(token), text(reached)) {
        (Some(token), Some(reached)) if token != reached => token < reached,
        // Events that differ only in the types of numbers in their keys have the same text.
        _ => token == reached,
    }
}

/// The text in a token by which events sort.
fn text(token: &ResumeToken) -> Option<String> {
    let token: Document = bytes::read(&bytes::write(token).ok()?).ok()?;
    Some(token.get_str("_data").ok()?.to_owned())
}

impl Target<'_> {
    /// Events from now on, or after a token.
    pub async fn watch(self, watched: &Watched, after: Option<ResumeToken>) -> Result<Events> {
        let mut events = Events {
            stream: self.open(watched, after.clone()).await?,
            watched: watched.clone(),
            reached: after,
            has_given: false,
            target: self.into_owned(),
            calls: Calls::current(),
        };
        if events.reached.is_none() {
            events.reached = events.stream.resume_token();
            if events.reached.is_none() {
                // The server gives no token with a first batch that already has events. These
                // happened before the call returns, so a later read will find what they did.
                events.next_event().await?;
            }
            events.reopen().await?;
        }
        Ok(events)
    }

    async fn open(
        self,
        watched: &Watched,
        after: Option<ResumeToken>,
    ) -> Result<Box<dyn EventStream>> {
        let stream = self.server.open_events(watched, after).await;
        stream.map_err(|error| self.read_error(error))
    }
}
