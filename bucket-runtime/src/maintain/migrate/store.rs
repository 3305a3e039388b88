//! Stores items together with the migration's next state.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use mongodb::{ClientSession, bson::Document};

use super::{place::State, verify::fingerprint};
use crate::{
    Bucket, Result,
    error::{Kind, duplicate_index},
    maintain::{record::Record, refused::Refused},
    protocol::command::KeyScope,
    schema::{id, names::UNIQUE_INDEX},
    server::transaction::Attempt,
    write::{
        appended::Appended,
        bulk::{self, BufferedItem, Commands},
        engine::{Batch, Engine, Entry},
        item,
    },
};

/// The items of a key, or of a window of it, in order.
pub(super) struct OfKey<T> {
    scope: KeyScope,
    entries: Vec<Entry>,
    held: Vec<BufferedItem<T>>,
}

/// Groups the items by key, and adds them to the totals of the next state.
pub(super) fn by_key<T: Bucket>(
    engine: &Engine,
    items: impl Iterator<Item = T>,
    next: &mut State,
) -> Result<Vec<OfKey<T>>> {
    let mut keys: Vec<OfKey<T>> = Vec::new();
    let mut places = HashMap::new();
    for item in items {
        bulk::check(engine, &item)?;
        let scope = item::scope(&item).by(engine.index.get());
        let entry = item::entry(&item, &scope, |kind| engine.target_of(&scope).error(kind))?;
        let key = id::prefix(&T::SPEC.id, &scope.parts);
        let print = fingerprint(&key, &entry.element);
        let print = print.map_err(|refusal| {
            let error = engine.target_of(&scope).error(Kind::Serialize);
            error.with_source(refusal)
        })?;
        next.items += 1;
        next.sum = next.sum.wrapping_add(print);
        let place = *places.entry(scope.prefix.clone()).or_insert(keys.len());
        if place == keys.len() {
            keys.push(OfKey {
                scope: scope.key.clone(),
                entries: Vec::new(),
                held: Vec::new(),
            });
        }
        if let Some(of_key) = keys.get_mut(place) {
            of_key.entries.push(entry);
            let index = next.items;
            of_key.held.push(BufferedItem { index, item });
        }
    }
    Ok(keys)
}

/// A transaction that stores items and advances the record, so that each item is stored once even if the
/// migration is interrupted.
pub(super) struct Store {
    engine: Engine,
    record: Record,
    next: Document,
    /// The commands that store all items, if they can be planned.
    commands: Option<Commands>,
    /// Set if somebody else writes to the new collection, or the items of one moment have filled buckets in
    /// an earlier chunk.
    refused: Refused,
    entries: Vec<(KeyScope, Vec<Entry>)>,
}

impl Store {
    pub(super) async fn of<T: Bucket>(
        engine: &Engine,
        record: &Record,
        next: Document,
        keys: Vec<OfKey<T>>,
    ) -> Result<Self> {
        let of_key = |key: OfKey<T>| ((key.scope, key.entries), key.held);
        let (entries, held) = keys.into_iter().map(of_key).unzip();
        Ok(Self {
            engine: engine.clone(),
            record: record.clone(),
            next,
            commands: Commands::plan::<T>(engine, held).await?,
            refused: Refused::default(),
            entries,
        })
    }

    async fn write(&self, session: &mut ClientSession) -> Result<()> {
        self.record.advance(self.next.clone(), session).await?;
        match &self.commands {
            Some(commands) if !self.refused.is_set() => self.send(commands, session).await,
            _ => self.append(session).await,
        }
    }

    async fn send(&self, commands: &Commands, session: &mut ClientSession) -> Result<()> {
        let server = &self.engine.server;
        let mut sent = Ok(());
        if !commands.fills.is_empty() {
            sent = server.update_all_in(&commands.fills, session).await;
        }
        if sent.is_ok() && !commands.buckets.is_empty() {
            sent = server.insert_many(&commands.buckets, session).await;
        }
        sent.map_err(|error| match duplicate_index(&error) {
            Some(UNIQUE_INDEX) => server.target().error(Kind::NotUnique).with_driver(error),
            _ => self.refused.note(error, server),
        })
    }

    /// Stores the items by the append protocol, one key after the other.
    async fn append(&self, session: &mut ClientSession) -> Result<()> {
        for (scope, entries) in &self.entries {
            let scope = scope.clone().by(self.engine.index.get());
            let mut batch = Batch::new(scope, entries.iter().cloned());
            self.engine.append(&mut batch, Some(&mut *session)).await?;
            let is_there = |(_, appended): &((), Appended)| *appended == Appended::AlreadyThere;
            if batch.done.iter().any(is_there) {
                return Err(self.engine.target_of(&batch.scope).error(Kind::NotUnique));
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
