//! Removing all of a key.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use mongodb::ClientSession;

use crate::{Error, Result, read::reader::Reader};

/// The removal of a key, which waits to be awaited; see
/// [`Buckets::remove_key`](crate::Buckets::remove_key). Its output is the number of buckets that were
/// removed.
#[must_use = "nothing is removed until this is awaited"]
pub struct RemoveKey<'s> {
    reader: Reader,
    session: Option<&'s mut ClientSession>,
}

impl RemoveKey<'static> {
    pub(crate) fn new(reader: Reader) -> Self {
        Self {
            reader,
            session: None,
        }
    }
}

impl RemoveKey<'_> {
    /// Removes in this session. In a transaction all buckets go at one moment, or none.
    pub fn session<'s>(self, session: impl Into<&'s mut ClientSession>) -> RemoveKey<'s> {
        RemoveKey {
            reader: self.reader,
            session: Some(session.into()),
        }
    }
}

impl<'s> IntoFuture for RemoveKey<'s> {
    type Output = Result<u64>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Reader { server, scope } = &self.reader;
            let removed = server.delete_many(scope.all(), self.session).await;
            removed.map_err(|error| {
                Error::write_of_many(error, server.name()).with_key(&scope.label())
            })
        })
    }
}
