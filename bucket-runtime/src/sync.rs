//! All calls for programs without tokio: they block the thread until they are done.
//!
//! With the feature `sync`, every builder has [`run`](crate::action::Write::run), as the driver's
//! builders have: `….await` elsewhere is `….run()` here, with the same output and the same errors.
//! Streams become an [`Iter`]. A `.session(…)` also takes the driver's blocking session.
//!
//! ```no_run
//! use bucket_runtime::{Bucket, bson::DateTime, mongodb::sync::Client, sync};
//!
//! #[derive(Debug, Bucket)]
//! #[bucket(collection = "trades", id = "{customer_id}_{date}", capacity = 10, items = "history")]
//! struct Trade {
//!     customer_id: i64,
//!     date: DateTime,
//!     ticker: String,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::with_uri_str("mongodb://localhost")?;
//!     let db = sync::client(&client)?.database("shop");
//!     let trades = Trade::buckets(&db).run()?;
//!
//!     let trade = Trade { customer_id: 123, date: DateTime::now(), ticker: "MDB".into() };
//!     trades.append(&trade).run()?;
//!
//!     let mut session = client.start_session().run()?;
//!     session.start_transaction().run()?;
//!     trades.append(&trade).session(&mut session).run()?;
//!     session.commit_transaction().run()?;
//!
//!     for trade in trades.items(&123).run()? {
//!         println!("{:?}", trade?);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Appends of several threads are combined like those of several tasks.
//!
//! Do not call any of this from asynchronous code: blocking there would stop everything else on the
//! thread, so tokio panics. Await the same builders there.

use std::{pin::Pin, sync::LazyLock};

use futures_util::{Stream, StreamExt};
use mongodb::{Client, ClientSession, error::Result};
use tokio::runtime::Runtime;

use crate::read::{
    items::{ItemStream, ItemToken},
    watch::{WatchStream, WatchToken},
};

/// Runs the tasks of the calls. Like the driver's own runtime it never shuts down, so a handle
/// works as long as the program runs.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Runtime::new().expect("the threads that carry out blocking calls"));

#[doc(hidden)]
pub fn block_on<F: Future>(call: F) -> F::Output {
    RUNTIME.block_on(call)
}

/// The driver's asynchronous handle of a blocking one, to open collections with: both share their
/// connections. Nothing is sent.
///
/// # Errors
///
/// The driver's, if it cannot create a session, from which the handle is taken.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, Buckets, mongodb::sync::Client, sync};
/// # fn example<Trade: Bucket>(client: Client) -> Result<Buckets<Trade>, Box<dyn std::error::Error>> {
/// let db = sync::client(&client)?.database("shop");
/// let trades = Trade::buckets(&db).run()?;
/// # Ok(trades)
/// # }
/// ```
pub fn client(blocking: &mongodb::sync::Client) -> Result<Client> {
    let mut session = blocking.start_session().run()?;
    let session: &mut ClientSession = (&mut session).into();
    Ok(session.client())
}

/// The values of a stream as an iterator: each step blocks the thread until the next value arrives.
///
/// It holds what the stream holds, one batch of the driver at a time. Dropping it closes the
/// server's cursor.
///
/// ```no_run
/// # use bucket_runtime::{Bucket, Buckets, KeyRef};
/// # fn example<Trade: Bucket>(trades: Buckets<Trade>, alice: KeyRef<'_, Trade>) -> bucket_runtime::Result<()> {
/// let newest = trades.items(alice).newest_first().limit(10).run()?;
/// let newest: Vec<Trade> = newest.collect::<Result<_, _>>()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "an iterator does nothing until it is asked for its values"]
pub struct Iter<S>(Pin<Box<S>>);

impl<S> Iter<S> {
    #[doc(hidden)]
    pub fn new(stream: S) -> Self {
        Self(Box::pin(stream))
    }
}

impl<T> Iter<WatchStream<T>> {
    /// The position after the last item that was given; see [`WatchStream::token`].
    pub fn token(&self) -> &WatchToken {
        self.0.token()
    }
}

impl<T> Iter<ItemStream<'_, T>> {
    /// The position after the last item that was given; see [`ItemStream::token`].
    pub fn token(&self) -> Option<ItemToken> {
        self.0.token()
    }
}

impl<S: Stream> Iterator for Iter<S> {
    type Item = S::Item;

    fn next(&mut self) -> Option<Self::Item> {
        RUNTIME.block_on(self.0.next())
    }
}
