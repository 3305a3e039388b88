//! The append: how an item gets into the open bucket of its key, whoever else is writing.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{
    Bucket, Result,
    protocol::command::KeyScope,
    write::{
        appended::Appended,
        combine::Combiner,
        engine::Engine,
        item::{self, Entry},
    },
};

/// An append that waits to be awaited; see [`Buckets::append`](crate::Buckets::append).
#[must_use = "an append is sent when it is awaited"]
pub struct Append<'s> {
    writer: Writer,
    scope: KeyScope,
    entry: Result<Entry>,
    session: Option<&'s mut ClientSession>,
}

/// How a handle sends its appends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    pub(crate) engine: Engine,
    /// `None` if each append is to travel alone.
    pub(crate) combiner: Option<Combiner>,
}

impl Append<'static> {
    pub(crate) fn new<T: Bucket>(writer: &Writer, item: &T) -> Self {
        let scope = item::scope(item);
        Self {
            writer: writer.clone(),
            entry: item::entry(item, &scope, |kind| writer.engine.fail(&scope, kind)),
            scope,
            session: None,
        }
    }
}

impl Append<'_> {
    /// Sends the append in this session, by itself.
    ///
    /// It then takes one round trip if the key has an open bucket and three if not. In a
    /// transaction, a race for the next bucket ends in an error with the driver's label
    /// `TransientTransactionError`, so that the transaction can be run again.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> Append<'s> {
        Append {
            writer: self.writer,
            scope: self.scope,
            entry: self.entry,
            session: Some(session.into()),
        }
    }
}

impl<'s> IntoFuture for Append<'s> {
    type Output = Result<Appended>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Writer { engine, combiner } = self.writer;
            let (entry, session) = (self.entry?, self.session);
            match combiner {
                Some(combiner) if session.is_none() => combiner.append(self.scope, entry).await,
                _ => engine.append_one(self.scope, entry, session).await,
            }
        })
    }
}
