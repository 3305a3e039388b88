//! The append: how an item gets into the open bucket of its key, whoever else is writing.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use mongodb::ClientSession;
use serde::Serialize;

use crate::{
    Bucket, Error, Ordinal, Result,
    command::KeyScope,
    element::element,
    engine::{Batch, Engine},
    error::Kind,
    id,
};

/// An append that waits to be awaited; see [`Buckets::append`](crate::Buckets::append).
#[must_use = "an append is sent when it is awaited"]
pub struct Append<'s> {
    engine: Engine,
    batch: Result<Batch>,
    session: Option<&'s mut ClientSession>,
}

impl Append<'static> {
    pub(crate) fn new<T: Bucket>(engine: &Engine, scope: KeyScope, item: &T) -> Self {
        Self {
            engine: engine.clone(),
            batch: batch(engine, scope, item),
            session: None,
        }
    }
}

impl Append<'_> {
    /// Sends the append in this session.
    ///
    /// It then takes one round trip if the key has an open bucket and three if not. In a
    /// transaction, a race for the next bucket ends in an error with the driver's label
    /// `TransientTransactionError`, so that the transaction can be run again.
    pub fn session(self, session: &mut ClientSession) -> Append<'_> {
        Append {
            engine: self.engine,
            batch: self.batch,
            session: Some(session),
        }
    }
}

impl<'s> IntoFuture for Append<'s> {
    type Output = Result<()>;
    type IntoFuture = BoxFuture<'s, Result<()>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.engine.append(&mut self.batch?, self.session).await })
    }
}

/// The item in the form in which it is sent.
fn batch<T: Bucket>(engine: &Engine, scope: KeyScope, item: &T) -> Result<Batch> {
    let fail = |kind| Error::new(kind, engine.server.name()).with_key(&scope.label());
    let element =
        element(&Element(item)).map_err(|error| fail(Kind::Serialize).with_source(error))?;
    let base = match (scope.spec.id.ordinal, item.time()) {
        (Ordinal::Number, _) | (_, None) => None,
        (ordinal, Some(time)) => match id::time(ordinal, time.timestamp_millis()) {
            Some(text) => Some(scope.id(&text)),
            None => return Err(fail(Kind::TimeOutOfRange(time.to_string()))),
        },
    };
    Ok(Batch {
        scope,
        base,
        elements: vec![element],
    })
}

struct Element<'a, T>(&'a T);

impl<T: Bucket> Serialize for Element<'_, T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_element(serializer)
    }
}
