//! New items as they are appended, by anybody.

mod event;
mod token;

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
    vec::IntoIter,
};

use futures_util::stream::{BoxStream, Stream, StreamExt, try_unfold};
use mongodb::{
    bson::{Bson, Document},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, OperationType, ResumeToken},
    },
};

pub use self::token::WatchToken;
use crate::{
    Bucket, Buckets, KeyRef, Result,
    error::Kind,
    read::{page::Page, reader::Reader},
    value::{bytes, stored_bucket::StoredBucket},
};

impl<T: Bucket> Buckets<T> {
    /// Watches a key: awaiting it gives a [`WatchStream`] of the items that are appended to it from
    /// then on, by whichever program, in the order in which the server stored them.
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
    /// To have the items that are there already as well, read [`items`](Self::items) once this is
    /// awaited: what is appended in between is then in both.
    ///
    /// Edits and removals give nothing, nor do deletions. What is moved into a new bucket comes as new
    /// items do: by [`import_flat`](Self::import_flat), by `append_many`, or by a transaction of your own that
    /// packs buckets anew. A removal by a command of your own, which leaves some items, must set
    /// `count` to a number of 32 bits, as `$size` is one, or it is taken for an append where the
    /// bucket had been emptied once.
    ///
    /// It stands on the server's change streams, so it needs a replica set or a sharded cluster, and
    /// gives what a majority has. The server sends the events of this key alone. Events are documents:
    /// one about a bucket of almost 16 MB, inserted whole, is an error of the server's.
    ///
    /// One round trip, and then one per batch of events or, if there are none, per second. Dropping
    /// the stream closes the server's cursor; nothing is left behind.
    ///
    /// # Errors
    ///
    /// The driver's, and [`is_history_lost`](crate::Error::is_history_lost).
    pub fn watch(&self, key: KeyRef<'_, T>) -> Watch<T> {
        Watch {
            reader: self.reader(key),
            after: None,
            item: PhantomData,
        }
    }
}

/// A watch, which waits to be awaited; see [`Buckets::watch`](crate::Buckets::watch).
#[must_use = "nothing is watched until this is awaited"]
pub struct Watch<T> {
    reader: Reader,
    after: Option<WatchToken>,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> Watch<T> {
    /// Goes on where a stream of the same key was when it gave this token: no item is lost, and none
    /// is given again.
    ///
    /// The server remembers as much as its oplog holds. If that is less,
    /// [`is_history_lost`](crate::Error::is_history_lost) says so, now or with the first item.
    pub fn resume_after(mut self, token: &WatchToken) -> Self {
        self.after = Some(token.clone());
        self
    }
}

impl<T: Bucket> Watch<T> {
    pub(crate) async fn execute(self) -> Result<WatchStream<T>> {
        let Self { reader, after, .. } = self;
        let Reader { server, scope } = &reader;
        server.needs_replica_set("watch").await?;
        let resume = after.as_ref().and_then(WatchToken::resume_token);
        let events = server.watch(scope.ids(), resume).await;
        let mut events = events.map_err(|error| reader.failed(error))?;
        let token = match after {
            Some(token) => token,
            None => beginning(&reader, &mut events).await?,
        };
        let events = try_unfold((reader, events), async |(reader, mut events)| {
            let news = News::next(&reader, &mut events).await?;
            Ok(Some((news, (reader, events))))
        });
        Ok(WatchStream {
            events: events.boxed(),
            items: Vec::new().into_iter(),
            token,
            next: None,
        })
    }
}

type Events = ChangeStream<ChangeStreamEvent<Document>>;

/// Where a new stream begins.
async fn beginning(reader: &Reader, events: &mut Events) -> Result<WatchToken> {
    let mut token = events.resume_token();
    if token.is_none() {
        // The server tells no token beside a first batch that has events already. They stem from
        // before this call returns, and so belong to what a read will find.
        let first = events.next_if_any().await;
        let first = first.map_err(|error| reader.failed(error))?;
        token = first.map(|event| event.id);
    }
    place(reader, token)
}

fn place(reader: &Reader, token: Option<ResumeToken>) -> Result<WatchToken> {
    let place = token.as_ref().and_then(WatchToken::after);
    place.ok_or_else(|| reader.fail(Kind::Driver))
}

/// What the server told: the items that are new, and the place after that.
struct News<T> {
    items: Vec<T>,
    after: WatchToken,
}

impl<T: Bucket> News<T> {
    async fn next(reader: &Reader, events: &mut Events) -> Result<Self> {
        let event = events.next_if_any().await;
        let Some(event) = event.map_err(|error| reader.failed(error))? else {
            if !events.is_alive() {
                return Err(reader.fail(Kind::Dropped));
            }
            // As time goes by, the place moves on although nothing happens to the key. Else it
            // would come to lie before all that the server remembers.
            return Ok(Self {
                items: Vec::new(),
                after: place(reader, events.resume_token())?,
            });
        };
        if event.operation_type == OperationType::Invalidate {
            return Err(reader.fail(Kind::Dropped));
        }
        Ok(Self {
            after: place(reader, Some(event.id.clone()))?,
            items: Self::items(reader, event)?,
        })
    }

    /// The new items, read as those of a bucket that holds no others.
    fn items(reader: &Reader, event: ChangeStreamEvent<Document>) -> Result<Vec<T>> {
        let mut bucket = match &event.full_document {
            Some(bucket) => bucket.clone(),
            None => reader
                .scope
                .fields()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        };
        let id = event
            .document_key
            .as_ref()
            .and_then(|key| key.get("_id"))
            .cloned();
        let id = id.unwrap_or(Bson::Null);
        let elements = event::appended(&T::SPEC, event);
        if elements.is_empty() {
            return Ok(Vec::new());
        }
        let label = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        bucket.insert("_id", id);
        bucket.insert(T::SPEC.items, elements);
        let unreadable = || reader.fail(Kind::Deserialize(label.clone()));
        let bucket = bytes::write(&bucket).map_err(|error| unreadable().with_source(error))?;
        let bucket = bytes::read::<StoredBucket<T>>(&bucket);
        let bucket = bucket.map_err(|error| unreadable().with_driver(error))?;
        let page = Page::of(bucket, &reader.scope);
        let page = page.map_err(|id| reader.fail(Kind::ForeignId(id)))?;
        Ok(page.items)
    }
}

/// The items that are appended to a key, as [`Buckets::watch`] gives them. It does not end by itself:
/// it waits for what comes next.
///
/// If the connection breaks, the driver goes on behind the last event. After an error the stream
/// ends: [`is_collection_dropped`](crate::Error::is_collection_dropped) if the collection was dropped or renamed,
/// [`is_history_lost`](crate::Error::is_history_lost), [`is_deserialize`](crate::Error::is_deserialize),
/// or the driver's.
pub struct WatchStream<T> {
    events: BoxStream<'static, Result<News<T>>>,
    items: IntoIter<T>,
    token: WatchToken,
    /// The place once all of the items are given.
    next: Option<WatchToken>,
}

impl<T> WatchStream<T> {
    /// The place behind the last item that was given, for
    /// [`resume_after`](crate::action::Watch::resume_after). It moves on also while nothing happens.
    pub fn token(&self) -> &WatchToken {
        &self.token
    }

    fn receive(&mut self, news: News<T>) {
        let News { mut items, after } = news;
        if items.is_empty() && self.token.given > 0 {
            // What was resumed in the middle of comes later.
            return;
        }
        items.drain(..self.token.given.min(items.len()));
        if items.is_empty() {
            self.token = after;
        } else {
            self.items = items.into_iter();
            self.next = Some(after);
        }
    }

    fn hand_out(&mut self) -> Option<T> {
        let item = self.items.next()?;
        self.token.given += 1;
        if self.items.as_slice().is_empty()
            && let Some(next) = self.next.take()
        {
            self.token = next;
        }
        Some(item)
    }
}

// Items are moved out of what holds them; nothing is ever pinned in place.
impl<T> Unpin for WatchStream<T> {}

impl<T> Stream for WatchStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.hand_out() {
                return Poll::Ready(Some(Ok(item)));
            }
            match ready!(self.events.poll_next_unpin(cx)) {
                Some(Ok(news)) => self.receive(news),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}
