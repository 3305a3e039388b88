//! Bulk: many items of many keys, in bounded memory.

mod failed;
mod fill;
mod lane;
mod load;
mod plan;
mod store;

use std::{future::IntoFuture, mem, pin::Pin};

use futures_util::{Stream, StreamExt, future::BoxFuture, future::join_all};

pub use self::failed::{AppendManyError, FailedItem};
pub(crate) use self::{
    lane::Held,
    plan::{Chunk, Ids, NewBucket},
};
use self::{lane::Lanes, load::Load};
use crate::{Bucket, Error, command::KeyScope, engine::Engine, error::Kind, id, item};

/// How many bytes of items are held back at most, unless the caller says otherwise.
const BUFFER: usize = 64 << 20;

/// How many commands are under way at most.
const CONCURRENCY: usize = 4;

/// An append of many items, which waits to be awaited; see
/// [`Buckets::append_many`](crate::Buckets::append_many).
///
/// Its output is the number of items, all of which are stored.
#[must_use = "items are appended when this is awaited"]
pub struct AppendMany<'i, T> {
    engine: Engine,
    items: Pin<Box<dyn Stream<Item = T> + Send + 'i>>,
    buffer: usize,
    progress: Progress<'i>,
}

type Progress<'p> = Box<dyn FnMut(u64) + Send + 'p>;

impl<'i, T: Bucket> AppendMany<'i, T> {
    pub(crate) fn new(engine: Engine, items: impl Stream<Item = T> + Send + 'i) -> Self {
        Self {
            engine,
            items: Box::pin(items),
            buffer: BUFFER,
            progress: Box::new(|_| ()),
        }
    }

    /// How many bytes of items are held back at most before they are sent; 64 MB unless this is
    /// called. The more, the fuller the buckets that are written at once.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes;
        self
    }

    /// Calls this after each command, with the number of items that are stored so far.
    pub fn on_progress(mut self, progress: impl FnMut(u64) + Send + 'i) -> Self {
        self.progress = Box::new(progress);
        self
    }
}

impl<'i, T: Bucket> IntoFuture for AppendMany<'i, T> {
    type Output = Result<u64, AppendManyError<T>>;
    type IntoFuture = BoxFuture<'i, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self {
                engine,
                mut items,
                buffer,
                progress,
            } = self;
            let load = Load::new(engine, progress);
            let mut lanes = Lanes::default();
            let mut index = 0;
            while let Some(item) = items.next().await {
                match held(&load.engine, index, item) {
                    Ok((scope, held)) => lanes.push(scope, held),
                    Err(failed) => load.fail([*failed]),
                }
                index += 1;
                if lanes.bytes() >= buffer {
                    flush(&load, &mut lanes).await;
                }
                if load.is_over(buffer) {
                    break;
                }
            }
            flush(&load, &mut lanes).await;
            load.finish()
        })
    }
}

/// Sends all that is held back. The keys are shared out to as many commands as may be under way;
/// those of one key follow each other.
async fn flush<T: Bucket>(load: &Load<'_, T>, lanes: &mut Lanes<T>) {
    let parts = mem::take(lanes).into_parts(CONCURRENCY);
    join_all(parts.into_iter().map(|lanes| load.store(lanes))).await;
}

/// An item in the form in which it waits.
pub(crate) fn held<T: Bucket>(
    engine: &Engine,
    index: u64,
    item: T,
) -> Result<(KeyScope, Held<T>), Box<FailedItem<T>>> {
    let scope = KeyScope::new(
        const { &T::SPEC },
        <T::Key as crate::Key>::parts(item.key()),
    );
    let millis = item.time().map(|time| time.timestamp_millis());
    let fits = millis.is_none_or(|millis| id::fits(T::SPEC.id.ordinal, millis));
    let checked: Result<_, Error> = match item::element(&item) {
        Err(refusal) => Err(engine.fail(&scope, Kind::Serialize).with_source(refusal)),
        Ok(_) if !fits => {
            let time = item
                .time()
                .map_or_else(String::new, |time| time.to_string());
            Err(engine.fail(&scope, Kind::TimeOutOfRange(time)))
        }
        Ok(element) => Ok(element),
    };
    match checked {
        Ok(element) => {
            let held = Held {
                index,
                item,
                element,
            };
            Ok((scope, held))
        }
        Err(error) => Err(Box::new(FailedItem { index, item, error })),
    }
}
