//! Puts the items of a line back where the collection has a bucket with its id, or some of its items.

mod insert;
mod part;

use std::{collections::BTreeSet, marker::PhantomData};

use futures_util::future::BoxFuture;
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocumentBuf, doc},
};

use super::{
    line::Archived,
    merge::{Merge, MergeEvidence, merge_by_content, merge_by_identity},
    rebuild,
    refused_line::{RefusedLine, RefusedReason},
};
use crate::{
    Bucket, Error, Result,
    error::{duplicate_index, error_text},
    protocol::{command::identity, range::Range},
    schema::names::{OPEN_INDEX, UNIQUE_INDEX},
    server::{
        call::{self, Again},
        target::Target,
        transaction::{self, Attempt},
    },
    value::{
        element::{Refusal, comparable},
        exact::exact_document,
    },
    write::engine::{Engine, TRIES, pause},
};

/// The outcome of importing one line of an archive.
#[derive(Debug)]
pub(super) enum LineOutcome {
    /// A bucket with this number of items was stored.
    Inserted(usize),
    /// This number of items was put back into the stored bucket.
    Merged(usize),
    AlreadyThere,
    Refused(RefusedLine),
}

/// The result of one try.
pub(super) enum TryResult {
    Done(LineOutcome),
    /// Another writer was faster.
    Lost,
    /// The bucket lacks this number of items and has no room for all, so that the further ones have to
    /// move, in a transaction.
    NoRoom(usize),
}

/// A line whose items go back.
pub(super) struct PutBack<T> {
    engine: Engine,
    archived: Archived,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> PutBack<T> {
    pub(super) fn new(engine: &Engine, archived: Archived) -> Self {
        Self {
            engine: engine.clone(),
            archived,
            item: PhantomData,
        }
    }

    /// Tries until no other writer is faster. Each try reads what is there, so it can be repeated, also
    /// after one whose result is not known.
    pub(super) async fn run(&self) -> Result<LineOutcome> {
        for tries in 0..TRIES {
            pause(tries).await;
            let tried = match self.try_once(None).await? {
                TryResult::NoRoom(missing) => self.move_others(missing).await?,
                tried => tried,
            };
            match tried {
                TryResult::Done(outcome) => return Ok(outcome),
                TryResult::Lost | TryResult::NoRoom(_) => call::again(Again::LostRace),
            }
        }
        Ok(self.refuse(self.archived.items, RefusedReason::Contended))
    }

    /// Puts the line's items back, and moves the others to another bucket.
    async fn move_others(&self, missing: usize) -> Result<TryResult> {
        let server = &self.engine.server;
        match server.needs_replica_set("import").await {
            Err(error) if error.is_unsupported() => {
                let refused = self.refuse(missing, RefusedReason::Standalone);
                return Ok(TryResult::Done(refused));
            }
            known => known?,
        }
        let attempt = Self::new(&self.engine, self.archived.clone());
        match transaction::run(server, attempt).await {
            Ok(tried) => Ok(tried),
            Err(error) => Ok(TryResult::Done(self.refuse_if_refused(error, missing)?)),
        }
    }

    /// One try. Only in a transaction it can move items.
    async fn try_once(&self, mut session: Option<&mut ClientSession>) -> Result<TryResult> {
        let this = self.archived.scope.bucket(&self.archived.id);
        let this = (self.target()).find(this, Range::unordered()).read_latest();
        let found = this.rows::<RawDocumentBuf>(session.as_deref_mut()).await?;
        let Some(raw) = found.into_iter().next() else {
            return match session {
                None => self.insert().await,
                Some(_) => Ok(TryResult::Lost),
            };
        };
        let Some(stored) = exact_document(&raw) else {
            let why = "the stored bucket holds a document with two fields of one name";
            let reason = RefusedReason::NotABucket(why.to_owned());
            return Ok(TryResult::Done(self.refuse(self.archived.items, reason)));
        };
        match self.merge(&stored, session.as_deref_mut()).await? {
            Merge::Complete => Ok(TryResult::Done(LineOutcome::AlreadyThere)),
            Merge::Changed { missing } => {
                let refused = self.refuse(missing, RefusedReason::Changed);
                Ok(TryResult::Done(refused))
            }
            Merge::Missing {
                missing,
                front,
                behind,
            } => {
                self.add_missing(&stored, missing, [front, behind], session)
                    .await
            }
        }
    }

    /// Puts missing items back: the bucket then holds these two lists of items, or the first one.
    async fn add_missing(
        &self,
        stored: &Document,
        missing: usize,
        [front, behind]: [Vec<Bson>; 2],
        session: Option<&mut ClientSession>,
    ) -> Result<TryResult> {
        let scope = &self.archived.scope;
        let all = front.iter().chain(&behind).cloned().collect();
        let whole = match rebuild::replace_items::<T>(scope, stored, all) {
            Ok(whole) => whole,
            Err(why) => return Ok(TryResult::Done(self.refuse_unfit(missing, &why))),
        };
        let changed = match (rebuild::has_room(scope, &whole), session) {
            (true, None) => match self.replace(stored, &whole, None).await {
                Ok(changed) => changed,
                Err(error) => return self.judge(error, missing),
            },
            (true, session) => {
                let changed = self.replace(stored, &whole, session).await;
                changed.map_err(Error::not_sent)?
            }
            (false, None) => return Ok(TryResult::NoRoom(missing)),
            (false, Some(session)) => match self.divide(stored, front, behind, session).await? {
                Ok(parts) => {
                    let parted = self.replace_by_parts(stored, &parts, session).await;
                    parted.map_err(Error::not_sent)?;
                    true
                }
                Err(why) => return Ok(TryResult::Done(self.refuse_unfit(missing, &why))),
            },
        };
        Ok(match changed {
            true => TryResult::Done(LineOutcome::Merged(missing)),
            false => TryResult::Lost,
        })
    }

    /// Compares the stored bucket with the line.
    async fn merge(&self, stored: &Document, session: Option<&mut ClientSession>) -> Result<Merge> {
        let (spec, archived) = (self.archived.scope.spec, self.archived.elements());
        let elements = rebuild::elements(spec, stored);
        if let Some(field) = spec.unique {
            let elsewhere = self.identities(field, session).await?;
            return Ok(merge_by_identity(archived, elements, field, &elsewhere));
        }
        // A removal that empties a bucket leaves a 64-bit count, which appends keep.
        let is_long = |bucket: &Document| matches!(bucket.get(spec.count), Some(Bson::Int64(_)));
        let evidence = MergeEvidence {
            was_emptied: is_long(stored) && !is_long(&self.archived.document),
            time: spec.time,
        };
        Ok(merge_by_content(archived, elements, evidence))
    }

    /// The identities that buckets of the key hold, among them those of the line that are there.
    async fn identities(
        &self,
        field: &'static str,
        session: Option<&mut ClientSession>,
    ) -> Result<BTreeSet<String>> {
        let wanted = self.archived.elements().iter();
        let wanted = wanted.filter_map(|element| identity(field, element).cloned());
        let server = &self.engine.server;
        let found =
            server.present_identities(&self.archived.scope, field, wanted.collect(), session);
        Ok(found.await?.iter().map(comparable).collect())
    }

    /// Replaces the stored bucket, unless it has changed.
    ///
    /// The change stream shows a replacement, which nobody mistakes for an append.
    async fn replace(
        &self,
        stored: &Document,
        new: &Document,
        session: Option<&mut ClientSession>,
    ) -> Result<bool> {
        let mut unchanged = self.archived.scope.bucket(&self.archived.id);
        let same = doc! { "$eq": ["$$ROOT", { "$literal": stored }] };
        unchanged.insert("$expr", same);
        self.target().replace(unchanged, new, session).await
    }

    /// Decides whether an error is a lost race, refuses the line or ends the import.
    fn judge(&self, error: Error, missing: usize) -> Result<TryResult> {
        if let Some(OPEN_INDEX | UNIQUE_INDEX | "_id_") = error.driver().and_then(duplicate_index) {
            return Ok(TryResult::Lost);
        }
        Ok(TryResult::Done(self.refuse_if_refused(error, missing)?))
    }

    /// The line is refused if the server refuses it; any other error ends the import.
    fn refuse_if_refused(&self, error: Error, missing: usize) -> Result<LineOutcome> {
        match error.driver() {
            Some(driver) if error.is_refusal() => {
                Ok(self.refuse(missing, RefusedReason::ByServer(error_text(driver))))
            }
            _ => Err(error),
        }
    }

    fn refuse_unfit(&self, missing: usize, why: &Refusal) -> LineOutcome {
        self.refuse(missing, RefusedReason::NotABucket(why.to_string()))
    }

    fn refuse(&self, missing: usize, reason: RefusedReason) -> LineOutcome {
        LineOutcome::Refused(self.archived.refused(missing, reason))
    }

    fn target(&self) -> Target<'_> {
        self.engine.target_of(&self.archived.scope)
    }
}

impl<T: Bucket> Attempt for PutBack<T> {
    type Output = TryResult;

    fn attempt<'s>(&'s self, session: &'s mut ClientSession) -> BoxFuture<'s, Result<TryResult>> {
        Box::pin(async move { self.try_once(Some(session)).await })
    }
}
