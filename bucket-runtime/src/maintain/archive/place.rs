//! Puts the items of a line back where the collection has a bucket with its id, or some of its items.

use std::{collections::BTreeSet, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocumentBuf, doc},
    error::Error as DriverError,
};

use super::{
    line::Archived,
    merge::{Evidence, Merge, by_content, by_identity},
    rebuild,
    refused_line::{RefusedLine, RefusedReason},
};
use crate::{
    Bucket, Error, Result,
    error::{Kind, duplicate_index, error_text},
    protocol::command::{KeyScope, identity},
    schema::{
        id,
        names::{OPEN_INDEX, SEALED, UNIQUE_INDEX},
        spec::Ordinal,
    },
    server::{
        call::{self, Again},
        transaction::{self, Attempt},
    },
    value::{
        element::{Refusal, comparable},
        exact::exact_document,
    },
    write::{
        engine::{Engine, TRIES, next_number, pause},
        item,
    },
};

/// The outcome of importing one line of an archive.
#[derive(Debug)]
pub(super) enum Placed {
    /// A bucket with this number of items was stored.
    Inserted(usize),
    /// This number of items was put back into the stored bucket.
    Merged(usize),
    AlreadyThere,
    Refused(RefusedLine),
}

/// The result of one try.
pub(super) enum Try {
    Done(Placed),
    /// Another writer was faster.
    Lost,
    /// The bucket lacks this number of items and has no room for all, so that the further ones have to
    /// move, in a transaction.
    NoRoom(usize),
}

/// A line on its way back.
pub(super) struct Place<T> {
    engine: Engine,
    archived: Archived,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> Place<T> {
    pub(super) fn new(engine: &Engine, archived: Archived) -> Self {
        Self {
            engine: engine.clone(),
            archived,
            item: PhantomData,
        }
    }

    /// Tries until no other writer is faster. Each try reads what is there, so it can be repeated, also
    /// after one whose result is not known.
    pub(super) async fn run(&self) -> Result<Placed> {
        for tries in 0..TRIES {
            pause(tries).await;
            let tried = match self.once(None).await? {
                Try::NoRoom(missing) => self.move_others(missing).await?,
                tried => tried,
            };
            match tried {
                Try::Done(placed) => return Ok(placed),
                Try::Lost | Try::NoRoom(_) => call::again(Again::LostRace),
            }
        }
        Ok(self.refused(self.archived.items, RefusedReason::Contended))
    }

    /// Puts the line's items back, and moves the others to another bucket.
    async fn move_others(&self, missing: usize) -> Result<Try> {
        let server = &self.engine.server;
        match server.needs_replica_set("import").await {
            Err(error) if error.is_unsupported() => {
                let refused = self.refused(missing, RefusedReason::Standalone);
                return Ok(Try::Done(refused));
            }
            known => known?,
        }
        let attempt = Self::new(&self.engine, self.archived.clone());
        match transaction::run(server, attempt).await {
            Ok(tried) => Ok(tried),
            Err(error) => Ok(Try::Done(self.by_server(error, missing)?)),
        }
    }

    /// One try. Only in a transaction it can move items.
    async fn once(&self, mut session: Option<&mut ClientSession>) -> Result<Try> {
        let scope = &self.archived.scope;
        let this = vec![doc! { "$match": scope.bucket(&self.archived.id) }];
        let found = self
            .engine
            .server
            .latest::<RawDocumentBuf>(this, session.as_deref_mut());
        let found = found.await.map_err(|error| self.read(error))?;
        let Some(raw) = found.into_iter().next() else {
            return match session {
                None => self.insert().await,
                Some(_) => Ok(Try::Lost),
            };
        };
        let Some(stored) = exact_document(&raw) else {
            let why = "the stored bucket holds a document with two fields of one name";
            let reason = RefusedReason::NotABucket(why.to_owned());
            return Ok(Try::Done(self.refused(self.archived.items, reason)));
        };
        let (missing, front, behind) = match self.merged(&stored, session.as_deref_mut()).await? {
            Merge::Complete => return Ok(Try::Done(Placed::AlreadyThere)),
            Merge::Changed { missing } => {
                let refused = self.refused(missing, RefusedReason::Changed);
                return Ok(Try::Done(refused));
            }
            Merge::Missing {
                missing,
                front,
                behind,
            } => (missing, front, behind),
        };
        let all = front.iter().chain(&behind).cloned().collect();
        let whole = match rebuild::with_items::<T>(scope, &stored, all) {
            Ok(whole) => whole,
            Err(why) => return Ok(Try::Done(self.unfit(missing, &why))),
        };
        let changed = match (rebuild::has_room(scope, &whole), session) {
            (true, None) => match self.replace(&stored, &whole, None).await {
                Ok(changed) => changed,
                Err(error) => return self.failed(error, missing),
            },
            (true, session) => {
                let changed = self.replace(&stored, &whole, session).await;
                changed.map_err(|error| self.aborted(error))?
            }
            (false, None) => return Ok(Try::NoRoom(missing)),
            (false, Some(session)) => match self.parts(&stored, front, behind, session).await? {
                Ok([home, other]) => {
                    let parted = self.part(&stored, &home, &other, session).await;
                    parted.map_err(|error| self.aborted(error))?;
                    true
                }
                Err(why) => return Ok(Try::Done(self.unfit(missing, &why))),
            },
        };
        Ok(match changed {
            true => Try::Done(Placed::Merged(missing)),
            false => Try::Lost,
        })
    }

    /// Compares the stored bucket with the line.
    async fn merged(
        &self,
        stored: &Document,
        session: Option<&mut ClientSession>,
    ) -> Result<Merge> {
        let (spec, archived) = (self.archived.scope.spec, self.archived.elements());
        let elements = rebuild::elements(spec, stored);
        if let Some(field) = spec.unique {
            let elsewhere = self.identities(field, session).await?;
            return Ok(by_identity(archived, elements, field, &elsewhere));
        }
        // A removal that empties a bucket leaves a 64-bit count, which appends keep.
        let is_long = |bucket: &Document| matches!(bucket.get(spec.count), Some(Bson::Int64(_)));
        let evidence = Evidence {
            was_emptied: is_long(stored) && !is_long(&self.archived.document),
            time: spec.time,
        };
        Ok(by_content(archived, elements, evidence))
    }

    /// The identities that buckets of the key hold, among them those of the line that are there.
    async fn identities(
        &self,
        field: &'static str,
        session: Option<&mut ClientSession>,
    ) -> Result<BTreeSet<String>> {
        let wanted = self.archived.elements().iter();
        let wanted = wanted.filter_map(|element| identity(field, element).cloned());
        let pipeline = self.archived.scope.identities(field, wanted.collect());
        let found = self.engine.server.identities(pipeline, session).await;
        let found = found.map_err(|error| self.read(error))?;
        Ok(found.iter().map(comparable).collect())
    }

    /// Stores the bucket, with those of its items that the key lacks.
    async fn insert(&self) -> Result<Try> {
        let scope = &self.archived.scope;
        let mut bucket = self.archived.document.clone();
        let mut items = self.archived.items;
        if let Some(field) = scope.spec.unique {
            let elsewhere = self.identities(field, None).await?;
            let is_missing = |element: &&Bson| {
                let identity = identity(field, element).map(comparable);
                identity.is_none_or(|identity| !elsewhere.contains(&identity))
            };
            let missing = self.archived.elements().iter().filter(is_missing);
            let missing = Vec::from_iter(missing.cloned());
            match missing.len() {
                0 if self.archived.items > 0 => return Ok(Try::Done(Placed::AlreadyThere)),
                _ if missing.len() == self.archived.items => {}
                _ => {
                    items = missing.len();
                    bucket = match rebuild::with_items::<T>(scope, &bucket, missing) {
                        Ok(bucket) => bucket,
                        Err(why) => return Ok(Try::Done(self.unfit(items, &why))),
                    };
                    // The key may have an open bucket, and this one was full before it lost items.
                    rebuild::seal(&mut bucket);
                }
            }
        }
        for _ in 0..2 {
            let inserted = self.engine.server.insert(bucket.clone(), None).await;
            match inserted {
                Ok(()) => return Ok(Try::Done(Placed::Inserted(items))),
                Err(error) if duplicate_index(&error) == Some(OPEN_INDEX) => {
                    rebuild::seal(&mut bucket);
                }
                Err(error) if duplicate_index(&error) == Some("_id_") => {
                    return self.other_document(items).await;
                }
                Err(error) => return self.failed(error, items),
            }
        }
        Ok(Try::Lost)
    }

    /// Whether the document with the line's id has come meanwhile, or belongs to something else.
    async fn other_document(&self, missing: usize) -> Result<Try> {
        let id = &self.archived.id;
        let is_other = !self.is_there(self.archived.scope.bucket(id)).await?
            && self.is_there(doc! { "_id": id }).await?;
        Ok(match is_other {
            true => Try::Done(self.refused(missing, RefusedReason::IdTaken)),
            false => Try::Lost,
        })
    }

    async fn is_there(&self, filter: Document) -> Result<bool> {
        let found = self
            .engine
            .server
            .fields(filter, doc! { "_id": 1 }, true, None);
        let found = found.await.map_err(|error| self.read(error))?;
        Ok(found.is_some())
    }

    /// Replaces the stored bucket, unless it has changed.
    ///
    /// The change stream shows a replacement, which nobody mistakes for an append.
    async fn replace(
        &self,
        stored: &Document,
        new: &Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool, DriverError> {
        let mut unchanged = self.archived.scope.bucket(&self.archived.id);
        let same = doc! { "$eq": ["$$ROOT", { "$literal": stored }] };
        unchanged.insert("$expr", same);
        self.engine.server.replace(unchanged, new, session).await
    }

    /// The stored bucket with the line's items, and another one with those that came later. If the stored
    /// one is open, the other one takes the next items in its place.
    async fn parts(
        &self,
        stored: &Document,
        front: Vec<Bson>,
        behind: Vec<Bson>,
        session: &mut ClientSession,
    ) -> Result<Result<[Document; 2], Refusal>> {
        let scope = &self.archived.scope;
        let capacity = scope.open.capacity as usize;
        let was_full = rebuild::elements(scope.spec, stored).len() >= capacity;
        let is_home_full = front.len() >= capacity;
        let is_other_closed = behind.len() < capacity && (was_full || stored.contains_key(SEALED));
        let home = rebuild::with_items::<T>(scope, stored, front);
        let other = rebuild::with_items::<T>(scope, stored, behind);
        let (mut home, mut other) = match (home, other) {
            (Ok(home), Ok(other)) => (home, other),
            (Err(why), _) | (_, Err(why)) => return Ok(Err(why)),
        };
        let Some(id) = self.next_id(&other, session).await? else {
            return Ok(Err("no id is left for the items that came later".into()));
        };
        if !is_home_full {
            rebuild::seal(&mut home);
        }
        other.insert("_id", id);
        other.remove(SEALED);
        if is_other_closed {
            rebuild::seal(&mut other);
        }
        Ok(Ok([home, other]))
    }

    /// Replaces the stored bucket by the two.
    ///
    /// The second one is inserted without items, and then replaced: so a change stream shows no new items,
    /// since all have been stored before.
    async fn part(
        &self,
        stored: &Document,
        home: &Document,
        other: &Document,
        session: &mut ClientSession,
    ) -> Result<(), DriverError> {
        let scope = &self.archived.scope;
        let changed = || DriverError::custom("the bucket changed in the transaction");
        if !self.replace(stored, home, Some(&mut *session)).await? {
            return Err(changed());
        }
        let empty = rebuild::with_items::<T>(scope, other, Vec::new());
        let mut empty = empty.map_err(DriverError::custom)?;
        // One that will be full is not open before, either.
        rebuild::seal(&mut empty);
        let server = &self.engine.server;
        server.insert(empty, Some(&mut *session)).await?;
        let id = other.get_str("_id").unwrap_or_default();
        let replaced = server
            .replace(scope.bucket(id), other, Some(session))
            .await?;
        replaced.then_some(()).ok_or_else(changed)
    }

    /// The id of a further bucket with these items, if there is one.
    async fn next_id(
        &self,
        bucket: &Document,
        session: &mut ClientSession,
    ) -> Result<Option<String>> {
        let scope = &self.archived.scope;
        let items = rebuild::items::<T>(bucket);
        let time = items.iter().find_map(T::time).or(scope.window);
        let base = item::opening_id(scope, time);
        let base = base.map_err(|kind| self.engine.target_of(scope).error(kind))?;
        let ids = match (&base, scope.window) {
            (Some(base), None) => KeyScope::ids_of_moment(base),
            _ => scope.ids(),
        };
        let last = self
            .engine
            .server
            .last_id(scope, ids, Some(session))
            .await?;
        let next = match (scope.spec.id.ordinal, base) {
            (Ordinal::Number, _) => next_number(scope, last.as_deref()),
            (_, Some(base)) => id::next_suffix(&base, last.as_deref()),
            (_, None) => Ok(None),
        };
        next.map_err(|()| {
            let last = last.unwrap_or_default();
            self.engine.target_of(scope).error(Kind::ForeignId(last))
        })
    }

    /// Reads whether a server error is a lost race, refuses the line or ends the import.
    fn failed(&self, error: DriverError, missing: usize) -> Result<Try> {
        if let Some(OPEN_INDEX | UNIQUE_INDEX | "_id_") = duplicate_index(&error) {
            return Ok(Try::Lost);
        }
        let error = self
            .engine
            .target_of(&self.archived.scope)
            .write_error(error);
        Ok(Try::Done(self.by_server(error, missing)?))
    }

    /// The line is refused if the server refuses it; any other error ends the import.
    fn by_server(&self, error: Error, missing: usize) -> Result<Placed> {
        match error.driver() {
            Some(driver) if error.is_refusal() => {
                Ok(self.refused(missing, RefusedReason::ByServer(error_text(driver))))
            }
            _ => Err(error),
        }
    }

    /// An error in a transaction that is not committed.
    fn aborted(&self, error: DriverError) -> Error {
        let error = self
            .engine
            .target_of(&self.archived.scope)
            .write_error(error);
        error.not_sent()
    }

    fn unfit(&self, missing: usize, why: &Refusal) -> Placed {
        self.refused(missing, RefusedReason::NotABucket(why.to_string()))
    }

    fn refused(&self, missing: usize, reason: RefusedReason) -> Placed {
        Placed::Refused(self.archived.refused(missing, reason))
    }

    fn read(&self, error: DriverError) -> Error {
        self.engine
            .target_of(&self.archived.scope)
            .read_error(error)
    }
}

impl<T: Bucket> Attempt for Place<T> {
    type Output = Try;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<Try>> {
        Box::pin(async move { self.once(Some(session)).await })
    }
}
