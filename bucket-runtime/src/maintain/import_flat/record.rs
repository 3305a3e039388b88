//! The progress of an import, as the database records it.

use mongodb::bson::{Bson, Document, doc};

use super::read;
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{
        command::{KeyScope, Update},
        range::Range,
    },
    schema::key::Key,
    server::Server,
    value::element::whole,
    write::engine::Engine,
};

/// The collection that holds one document for each unfinished import.
const RECORDS: &str = "bucket_regroup";

/// How many keys one query looks up.
const KEYS: usize = 500;

/// An unfinished import.
#[derive(Debug, Clone)]
pub(super) struct Record {
    server: Server,
    id: Document,
    /// How many items are stored.
    pub(super) stored: u64,
    /// The sort values of the last stored item.
    pub(super) at: Option<Vec<Bson>>,
    /// The prefix of its bucket's id.
    pub(super) left_in: Option<String>,
}

impl Record {
    /// Continues an import; or begins it, unless the target holds one of the keys.
    pub(super) async fn begin<T: Bucket>(
        engine: &Engine,
        flat: &Server,
        order: &Document,
    ) -> Result<Self> {
        let target = engine.server.collection();
        let db = target.client().database(&target.namespace().db);
        let mut record = Self {
            server: Server::new(db.collection(RECORDS)),
            id: doc! { "from": flat.name(), "to": engine.server.name(), "sort": order },
            stored: 0,
            at: None,
            left_in: None,
        };
        let found = record
            .server
            .find_one(doc! { "_id": &record.id }, None)
            .await;
        if let Some(found) = found.map_err(|error| record.server.context().write(error))? {
            let stored = found.get("stored").and_then(whole).unwrap_or(0);
            record.stored = u64::try_from(stored).unwrap_or(0);
            record.at = found.get_array("at").ok().cloned();
            record.left_in = found.get_str("in").ok().map(str::to_owned);
            return Ok(record);
        }
        refuse_keys::<T>(engine, flat).await?;
        let begin = || Update {
            filter: doc! { "_id": &record.id },
            update: doc! { "$setOnInsert": { "stored": 0_i64 } },
            upsert: true,
            hint: None,
        };
        let begun = (record.server)
            .update(begin(), || Some(begin()), None)
            .await;
        begun.map_err(|error| record.server.context().write(error))?;
        Ok(record)
    }

    /// The update that advances the record; it matches nothing if another import has advanced it.
    pub(super) fn advance(&self, items: u64, at: &[Bson], left_in: &str) -> Update {
        let int = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let stored = doc! { "_id": &self.id, "stored": int(self.stored) };
        let advanced = doc! { "stored": int(self.stored + items), "at": at, "in": left_in };
        Update::new(stored, doc! { "$set": advanced })
    }

    /// Deletes the record of the finished import.
    pub(super) async fn end(&self) -> Result<()> {
        let ended = self.server.delete_one(doc! { "_id": &self.id }, None).await;
        ended
            .map(drop)
            .map_err(|error| self.server.context().write(error))
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }
}

/// An error if the target holds a bucket of any key of the flat collection.
async fn refuse_keys<T: Bucket>(engine: &Engine, flat: &Server) -> Result<()> {
    let failed = |error| engine.server.context().read(error);
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
                return Err(engine.context_of(scope).kind(Kind::KeyTaken(id)));
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
    session: Option<&mut mongodb::ClientSession>,
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
