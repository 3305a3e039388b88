//! The progress of an import, from which a later call resumes.

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};

use super::read;
use crate::{
    Bucket, Result,
    error::Kind,
    maintain::record::Record,
    protocol::{command::KeyScope, range::Range},
    schema::key::Key,
    server::Server,
    value::element::whole,
    write::engine::Engine,
};

/// How many keys one query looks up.
const KEYS: usize = 500;

/// The record and the progress of an unfinished import.
#[derive(Debug, Clone)]
pub(super) struct Place {
    record: Record,
    /// How many items are stored.
    pub(super) stored: u64,
    /// The sort values of the last stored item.
    pub(super) at: Option<Vec<Bson>>,
    /// The id prefix of the bucket that holds the last stored item.
    pub(super) left_in: Option<String>,
}

impl Place {
    /// Continues an import; or begins it, unless the target holds one of the keys.
    pub(super) async fn begin<T: Bucket>(
        engine: &Engine,
        flat: &Server,
        order: &Document,
    ) -> Result<Self> {
        let id = doc! { "from": flat.name(), "to": engine.server.name(), "sort": order };
        let (record, found) = Record::find(&engine.server, id).await?;
        if found.is_none() {
            refuse_keys::<T>(engine, flat).await?;
            record.begin(doc! { "stored": 0_i64 }).await?;
        }
        let found = found.unwrap_or_default();
        let stored = found.get("stored").and_then(whole).unwrap_or(0);
        Ok(Self {
            record,
            stored: u64::try_from(stored).unwrap_or(0),
            at: found.get_array("at").ok().cloned(),
            left_in: found.get_str("in").ok().map(str::to_owned),
        })
    }

    /// Records, in a transaction, that these further items are stored.
    pub(super) async fn advance(
        &self,
        items: u64,
        at: &[Bson],
        left_in: &str,
        session: &mut ClientSession,
    ) -> Result<()> {
        let stored = i64::try_from(self.stored + items).unwrap_or(i64::MAX);
        let next = doc! { "stored": stored, "at": at, "in": left_in };
        self.record.advance(next, session).await
    }

    /// Notes that this transaction has committed.
    pub(super) fn has_advanced(&mut self, items: u64, at: Vec<Bson>, left_in: String) {
        self.record.has_advanced();
        self.stored += items;
        self.at = Some(at);
        self.left_in = Some(left_in);
    }

    /// Deletes the record of the finished import.
    pub(super) async fn end(&self) -> Result<()> {
        self.record.end().await
    }
}

/// An error if the target holds a bucket of any key of the flat collection.
async fn refuse_keys<T: Bucket>(engine: &Engine, flat: &Server) -> Result<()> {
    let failed = |error| engine.server.target().read_error(error);
    let any = engine.server.find_one(Document::new(), None).await;
    if any.map_err(failed)?.is_none() {
        return Ok(());
    }
    let mut keys = flat
        .scan::<Document>(read::keys(&T::SPEC))
        .await
        .map_err(failed)?;
    let mut scopes = Vec::with_capacity(KEYS);
    loop {
        let more = keys.advance().await.map_err(failed)?;
        if more {
            let key = keys.decode().map_err(failed)?;
            let values = key.get_array("at").cloned().unwrap_or_default();
            // An unreadable key becomes an error when its item is reached.
            let key = T::Key::from_values(values).ok();
            let scope =
                |key: T::Key| KeyScope::new(const { &T::SPEC }, T::Key::parts(key.borrowed()));
            scopes.extend(key.map(scope));
        }
        if scopes.len() == KEYS || !more {
            let taken = taken(&engine.server, &scopes, None).await;
            if let Some((scope, id)) = taken.map_err(failed)? {
                return Err(engine.target_of(scope).error(Kind::KeyTaken(id)));
            }
            scopes.clear();
        }
        if !more {
            return Ok(());
        }
    }
}

/// The first bucket of any of these keys.
pub(super) async fn taken<'s>(
    server: &Server,
    scopes: &'s [KeyScope],
    session: Option<&mut ClientSession>,
) -> Result<Option<(&'s KeyScope, String)>, mongodb::error::Error> {
    if scopes.is_empty() {
        return Ok(None);
    }
    let ranges: Vec<_> = scopes.iter().map(KeyScope::all).collect();
    let range = Range {
        projection: Some(doc! { "_id": 1 }),
        limit: Some(1),
        ..Range::unordered()
    };
    let mut found = server
        .find::<Document>(doc! { "$or": ranges }, range, session)
        .await?;
    if !found.advance().await? {
        return Ok(None);
    }
    let bucket = found.decode()?;
    let id = bucket.get_str("_id").unwrap_or_default();
    let scope = scopes.iter().find(|scope| id.starts_with(&scope.prefix));
    Ok(scope.map(|scope| (scope, id.to_owned())))
}
