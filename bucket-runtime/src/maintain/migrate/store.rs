//! Stores items together with how far the migration is with them.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Document};

use super::{place::State, verify::fingerprint};
use crate::{
    Bucket, Result,
    error::Kind,
    maintain::record::Record,
    protocol::command::KeyScope,
    schema::id,
    server::transaction::Attempt,
    write::{
        appended::Appended,
        bulk,
        engine::{Batch, Engine, Entry},
        item,
    },
};

/// The items of a key, or of a window of it, in order.
type KeyEntries = (KeyScope, Vec<Entry>);

/// The items by their keys, which are added to what the state counts.
pub(super) fn batches<T: Bucket>(
    engine: &Engine,
    items: impl Iterator<Item = T>,
    next: &mut State,
) -> Result<Vec<KeyEntries>> {
    let mut batches: Vec<KeyEntries> = Vec::new();
    let mut places = HashMap::new();
    for item in items {
        bulk::check(engine, &item)?;
        let scope = item::scope(&item).by(engine.index.get());
        let entry = item::entry(&item, &scope, |kind| engine.context_of(&scope).kind(kind))?;
        let key = id::prefix(&T::SPEC.id, &scope.parts);
        let print = fingerprint(&key, &entry.element);
        let print = print.map_err(|refusal| {
            let error = engine.context_of(&scope).kind(Kind::Serialize);
            error.with_source(refusal)
        })?;
        next.items += 1;
        next.sum = next.sum.wrapping_add(print);
        let place = *places.entry(scope.prefix.clone()).or_insert(batches.len());
        match batches.get_mut(place) {
            Some((_, entries)) => entries.push(entry),
            None => batches.push((scope.key.clone(), vec![entry])),
        }
    }
    Ok(batches)
}

/// A transaction that stores items and records them: so each is stored once, even if the migration is
/// interrupted.
pub(super) struct Store {
    pub(super) engine: Engine,
    pub(super) record: Record,
    pub(super) next: Document,
    pub(super) batches: Vec<KeyEntries>,
}

impl Store {
    async fn write(&self, session: &mut ClientSession) -> Result<()> {
        self.record.advance(self.next.clone(), session).await?;
        for (scope, entries) in &self.batches {
            let scope = scope.clone().by(self.engine.index.get());
            let mut batch = Batch::new(scope, entries.iter().cloned());
            self.engine.append(&mut batch, Some(&mut *session)).await?;
            let is_there = |(_, appended): &(usize, Appended)| *appended == Appended::AlreadyThere;
            if batch.done.iter().any(is_there) {
                return Err(self.engine.context_of(&batch.scope).kind(Kind::NotUnique));
            }
        }
        Ok(())
    }
}

impl Attempt for Store {
    type Output = ();

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<()>> {
        Box::pin(self.write(session))
    }
}
