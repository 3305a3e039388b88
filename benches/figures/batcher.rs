//! What anybody writes to share commands between callers that wait: the peers at their best.

use std::sync::Arc;

use bucket_benches::Result;
use bucket_runtime::mongodb::Collection;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::trade::Flat;

/// How many commands of inserts are under way at the same time.
const IN_FLIGHT: usize = 4;

/// The most items in a command.
const MOST: usize = 1000;

/// A queue of items, each with the caller that waits for it. Clones share it.
pub(crate) struct Batcher<T>(mpsc::UnboundedSender<(T, oneshot::Sender<Answer>)>);

/// An error of a command is that of each of its callers.
type Answer = std::result::Result<(), String>;

impl<T> Clone for Batcher<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Send + 'static> Batcher<T> {
    /// A queue whose waiting items are sent by one command, as soon as fewer than `in_flight` are under way.
    pub(crate) fn new<F>(
        in_flight: usize,
        send: impl Fn(Vec<T>) -> F + Clone + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let free = Arc::new(Semaphore::new(in_flight));
            while let Ok(permit) = Arc::clone(&free).acquire_owned().await {
                let mut batch = Vec::new();
                if waiting.recv_many(&mut batch, MOST).await == 0 {
                    break;
                }
                let send = send.clone();
                tokio::spawn(async move {
                    let (items, callers): (Vec<T>, Vec<oneshot::Sender<_>>) =
                        batch.into_iter().unzip();
                    let sent = send(items).await.map_err(|error| error.to_string());
                    drop(permit);
                    for caller in callers {
                        // A caller that has gone away needs no answer.
                        let _ = caller.send(sent.clone());
                    }
                });
            }
        });
        Self(queue)
    }

    /// Queues an item, and waits until the server has acknowledged the command that carried it.
    pub(crate) async fn put(&self, item: T) -> Result<()> {
        let (caller, answer) = oneshot::channel();
        let queued = self.0.send((item, caller));
        queued.map_err(|_| "the queue is closed")?;
        Ok(answer.await??)
    }
}

/// Inserts into a flat or a time series collection.
pub(crate) fn inserts(collection: &Collection<Flat>) -> Batcher<Flat> {
    let collection = collection.clone();
    Batcher::new(IN_FLIGHT, move |trades: Vec<Flat>| {
        let collection = collection.clone();
        async move {
            collection.insert_many(&trades).ordered(false).await?;
            Ok(())
        }
    })
}
