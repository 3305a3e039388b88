//! Watches keys or parents: new items as any program appends them.

pub(crate) mod event;
mod token;

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    vec::IntoIter,
};

use bucket_core::{
    error::{Code, Kind, is_code},
    server::{
        target::{OwnedTarget, Target},
        watch::{Event, Events, Watched},
    },
};
use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::{bson::Document, change_stream::event::ResumeToken, error::Error as DriverError};

pub use self::token::WatchToken;
use crate::{Bucket, Buckets, KeyRef, Result};

impl<T: Bucket> Buckets<T> {
    /// Watches a key: awaiting it gives a [`WatchStream`] of the items that any program appends
    /// from then on, in the order in which the server stored them.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, WatchToken, bson::DateTime};
    /// # #[derive(Debug, Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, quantity: i32 }
    /// # async fn example(trades: Buckets<Trade>, stored: Option<String>) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut watch = trades.watch(&123);
    /// if let Some(token) = stored {
    ///     watch = watch.resume_after(&token.parse()?);
    /// }
    /// let mut new = watch.await?;
    /// while let Some(trade) = new.try_next().await? {
    ///     println!("{trade:?}, to go on from {}", new.token());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// To get the existing items as well, read [`items`](Self::items) after awaiting this: items
    /// appended in between are then in both.
    ///
    /// Edits, removals and deletions give no items. Items that move into a new bucket count as new:
    /// by
    /// [`import_flat`](https://docs.rs/bucket-ops/latest/bucket_ops/struct.Ops.html#method.import_flat),
    /// by `append_many`, or by a transaction of your own that moves them. The first item that a
    /// command of your own appends to an empty bucket, which no call leaves open, does not come:
    /// its event could as well be that of a removal.
    ///
    /// It uses the server's change streams, so it needs a replica set or a sharded cluster, and it
    /// gives what a majority has. The server sends only this key's events. Events are documents: an
    /// event about an inserted bucket of almost 16 MB is an error of the server.
    ///
    /// Two round trips, or one from a token; then one per batch of events or, without events, per
    /// second. Dropping the stream closes the server's cursor; nothing is left behind.
    ///
    /// # Errors
    ///
    /// The driver's, and [`is_history_lost`](crate::Error::is_history_lost).
    #[doc(alias = "change stream")]
    pub fn watch(&self, key: KeyRef<'_, T>) -> Watch<T> {
        let ids = self.scope(key).ids();
        Watch::new(
            self.target(key),
            Ok(Watched::collection(ids)),
            event::appended_items,
        )
    }

    /// Watches all keys, those that begin later as well: awaiting it gives a [`WatchStream`] of the
    /// items that any program appends from then on, in the order in which the server stored them.
    /// Each item has its key fields.
    ///
    /// ```no_run
    /// # use bucket_runtime::{Bucket, Buckets, bson::DateTime};
    /// # #[derive(Debug, Bucket)]
    /// # #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10)]
    /// # struct Trade { customer_id: i64, date: DateTime, quantity: i32 }
    /// # async fn example(trades: Buckets<Trade>) -> bucket_runtime::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let mut new = trades.watch_all().await?;
    /// while let Some(trade) = new.try_next().await? {
    ///     println!("customer {}: {trade:?}", trade.customer_id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The server sends all events of the collection. In all else it is like
    /// [`watch`](Self::watch).
    ///
    /// # Errors
    ///
    /// Those of [`watch`](Self::watch); and [`is_deserialize`](crate::Error::is_deserialize) if an
    /// append shows a bucket from whose `_id` the key cannot be read: a document that is not a
    /// bucket, or one with a key type of your own without
    /// [`from_id_text`](crate::KeyField::from_id_text).
    pub fn watch_all(&self) -> Watch<T> {
        Watch::new(
            self.target_of_all(),
            Ok(Watched::collection(Document::new())),
            event::appended_items,
        )
    }
}

/// Reads the new items that an event shows.
type ReadNew<I> = Box<dyn Fn(Target<'_>, &Event) -> Result<Vec<I>> + Send + Sync>;

/// Builder of a watch: await it; see [`Buckets::watch`](crate::Buckets::watch) and
/// [`Outliers::watch`](crate::Outliers::watch).
#[must_use = "nothing is watched until this is awaited"]
pub struct Watch<I> {
    target: OwnedTarget,
    watched: Result<Watched>,
    read_new: ReadNew<I>,
    after: Option<WatchToken>,
}

impl<I: Send + 'static> Watch<I> {
    pub(crate) fn new(
        target: OwnedTarget,
        watched: Result<Watched>,
        read_new: impl Fn(Target<'_>, &Event) -> Result<Vec<I>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            target,
            watched,
            read_new: Box::new(read_new),
            after: None,
        }
    }

    /// Continues where a stream of the same watch was when it gave this token: no item is lost, and
    /// none is given twice.
    ///
    /// The server remembers as much as its oplog holds. If that is not enough,
    /// [`is_history_lost`](crate::Error::is_history_lost) says so, now or with the first item.
    pub fn resume_after(mut self, token: &WatchToken) -> Self {
        self.after = Some(token.clone());
        self
    }

    pub(crate) async fn execute(self) -> Result<WatchStream<I>> {
        let Self { target, after, .. } = self;
        target.server.needs_replica_set("watch").await?;
        let watched = self.watched?;
        let resume = after.as_ref().and_then(WatchToken::resume_token);
        let events = target.borrow().watch(&watched, resume).await?;
        let token = match after {
            Some(token) => token,
            None => known_token(&events, events.token())?,
        };
        let follower = Follower {
            events,
            read_new: self.read_new,
            items: Vec::new().into_iter(),
            token: token.clone(),
            end: token.clone(),
        };
        let steps = try_unfold(follower, async |mut follower| {
            let item = follower.advance().await?;
            Ok(Some(((item, follower.token.clone()), follower)))
        });
        Ok(WatchStream {
            steps: steps.boxed(),
            token,
        })
    }
}

/// A watch that has begun.
struct Follower<I> {
    events: Events,
    read_new: ReadNew<I>,
    /// The items of the last event that are still to be given.
    items: IntoIter<I>,
    /// The position after the last item that was given.
    token: WatchToken,
    /// The position after all of these items.
    end: WatchToken,
}

impl<I> Follower<I> {
    /// Gives the next item; `None` if there is none yet, and the position may have advanced.
    async fn advance(&mut self) -> Result<Option<I>> {
        if self.items.as_slice().is_empty() {
            let (mut items, end) = self.receive().await?;
            if items.is_empty() && self.token.given > 0 {
                // The event that was resumed in the middle comes later.
                return Ok(None);
            }
            items.drain(..self.token.given.min(items.len()));
            (self.items, self.end) = (items.into_iter(), end);
        }
        let item = self.items.next();
        self.token.given += usize::from(item.is_some());
        if self.items.as_slice().is_empty() {
            self.token.clone_from(&self.end);
        }
        Ok(item)
    }

    /// The new items of the next event, and the position after it.
    async fn receive(&mut self) -> Result<(Vec<I>, WatchToken)> {
        let event = match self.events.next_event().await {
            // The driver resumes after the errors that the server labels so. From 9.0 on an
            // election may also end with this one.
            Err(error) if error.driver().is_some_and(is_election) => {
                self.events.reopen().await?;
                self.events.next_event().await?
            }
            event => event?,
        };
        let dropped = || self.events.target().error(Kind::Dropped);
        let Some(event) = event else {
            if !self.events.is_alive() {
                return Err(dropped());
            }
            // The position advances with time even if nothing happens to the key. Otherwise it
            // would fall behind everything that the oplog holds.
            return Ok((Vec::new(), known_token(&self.events, self.events.token())?));
        };
        match event.operation() {
            "invalidate" | "drop" | "rename" | "dropDatabase" => Err(dropped()),
            _ => {
                let end = known_token(&self.events, Some(event.token.clone()))?;
                Ok(((self.read_new)(self.events.target(), &event)?, end))
            }
        }
    }
}

/// The server's token as ours; an error if this library does not know its form.
fn known_token(events: &Events, token: Option<ResumeToken>) -> Result<WatchToken> {
    let token = token.as_ref().and_then(WatchToken::after);
    token.ok_or_else(|| events.target().error(Kind::Driver))
}

fn is_election(error: &DriverError) -> bool {
    is_code(error, Code::InterruptedDueToReplStateChange)
}

/// New items, as [`Buckets::watch`] and [`Outliers::watch`](crate::Outliers::watch) give them. It
/// does not end by itself: it waits for the next item.
///
/// If the connection breaks, it goes on after the last event. After an error the stream ends:
/// [`is_collection_dropped`](crate::Error::is_collection_dropped) if the collection was dropped or
/// renamed, [`is_history_lost`](crate::Error::is_history_lost),
/// [`is_deserialize`](crate::Error::is_deserialize), or the driver's.
pub struct WatchStream<T> {
    /// Items, or nothing where only the position advances, each with the position after it.
    steps: BoxStream<'static, Result<(Option<T>, WatchToken)>>,
    token: WatchToken,
}

impl<T> WatchStream<T> {
    /// The position after the last item that was given, for
    /// [`resume_after`](crate::action::Watch::resume_after). It also advances while nothing
    /// happens.
    pub fn token(&self) -> &WatchToken {
        &self.token
    }
}

impl<T> Stream for WatchStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.steps.poll_next_unpin(cx)).transpose() {
                Ok(Some((item, token))) => {
                    self.token = token;
                    if let Some(item) = item {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                Ok(None) => return Poll::Ready(None),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}
