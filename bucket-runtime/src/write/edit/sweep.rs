//! One bucket after the other: what edits and removals of many items have in common.

use std::{collections::VecDeque, marker::PhantomData};

use bucket_core::{
    protocol::{
        command::{IndexedScope, KeyScope},
        filter::Filter,
        query::{Query, compare_id},
        time_bounds::TimeBounds,
    },
    schema::key::Key,
    server::target::Target,
    value::{bytes, number::whole, shell::id_of},
};
use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocumentBuf, doc},
};
use serde::de::IgnoredAny;

use super::{
    many::{EditManyError, EditProgress, SweepSettings},
    protocol::{Editor, Selection},
    step::{Edit, Edited},
};
use crate::{
    Bucket, Error, Result,
    read::{reader::Reader, stored_bucket::StoredBucket},
    write::engine::Engine,
};

/// How many buckets are listed at a time.
const BUCKETS_PER_LISTING: usize = 500;

/// One bucket after the other.
pub(crate) struct Sweep<'s, T> {
    engine: Engine,
    /// The key, unless all keys are meant.
    scope: Option<KeyScope>,
    pub(crate) query: Query,
    settings: SweepSettings<'s>,
    so_far: EditProgress,
    listing: Listing,
    /// The error of the first document that cannot be read.
    unreadable: Option<Error>,
    item: PhantomData<fn() -> T>,
}

impl<'s, T: Bucket> Sweep<'s, T> {
    pub(crate) fn new(
        engine: Engine,
        scope: Option<KeyScope>,
        filter: Filter<T>,
        settings: SweepSettings<'s>,
    ) -> Self {
        Self {
            engine,
            scope,
            query: Query::of(filter),
            settings,
            so_far: EditProgress::default(),
            listing: Listing::default(),
            unreadable: None,
            item: PhantomData,
        }
    }

    /// Carries out the edit in each bucket that holds a match.
    pub(super) async fn run(&mut self, edit: &mut Edit<'_, T>) -> Result<()> {
        if let Edit::RemoveStored = edit {
            self.drop_whole_windows().await?;
        }
        while let Some((id, scope)) = self.next_bucket().await? {
            let reader = Reader {
                server: self.engine.server.clone(),
                scope,
            };
            let editor = Editor::new(reader, self.query.clone(), Selection::OfBucket(id));
            let edited = editor.change(edit, self.session()).await;
            self.note(edited)?;
        }
        Ok(())
    }

    /// The id and the key of the next bucket that may hold a match.
    pub(crate) async fn next_bucket(&mut self) -> Result<Option<(String, IndexedScope)>> {
        loop {
            match self.listing.listed.pop_front() {
                None if self.listing.is_done => return Ok(None),
                None => self.list().await?,
                bucket => return Ok(bucket),
            }
        }
    }

    /// Notes the edit of a document. A document that cannot be read stays as it is: the others come
    /// first.
    pub(crate) fn note(&mut self, edited: Result<Edited<T>>) -> Result<()> {
        match edited {
            Ok(edited) => self.report(edited.changed as u64),
            Err(error) => self.pass_over(error)?,
        }
        Ok(())
    }

    /// Deletes the buckets of windows in which every item matches, if the filter alone proves it.
    async fn drop_whole_windows(&mut self) -> Result<()> {
        let Some(windows) = TimeBounds::whole_windows(&self.query.filter, Editor::<T>::SPEC) else {
            return Ok(());
        };
        self.listing.only = Some(windows);
        while let Some((id, scope)) = self.next_bucket().await? {
            let fields = doc! { "_id": 0, T::SPEC.count: 1 };
            let session = self.settings.session.as_deref_mut();
            let target = self.engine.target_of(&scope);
            let deleted = target.change(scope.bucket(&id), None, None, fields, session);
            let count = (deleted.await?).and_then(|deleted| whole(deleted.get(T::SPEC.count)?));
            let items = count.and_then(|count| count.try_into().ok()).unwrap_or(0);
            self.report(items);
        }
        self.listing = Listing::default();
        Ok(())
    }

    /// Lists the next buckets that may hold a match: their ids, and the keys that they belong to.
    async fn list(&mut self) -> Result<()> {
        let Listing { only, after, .. } = &self.listing;
        let after = after
            .clone()
            .map(|after| compare_id(Editor::<T>::SPEC, "$gt", after));
        let further = Vec::from_iter(only.clone().into_iter().chain(after));
        let (query, scope) = (&self.query, self.scope.as_ref());
        let pipeline = query.next_buckets(Editor::<T>::SPEC, scope, &further, BUCKETS_PER_LISTING);
        let target = self.engine.server.target_of_any(scope);
        let found = target.pipeline(pipeline).read_latest();
        let found: Vec<RawDocumentBuf> = found.rows(self.settings.session.as_deref_mut()).await?;
        self.listing.is_done = found.len() < BUCKETS_PER_LISTING;
        self.listing.after = found.last().map(|row| id_of(row));
        for row in found {
            match self.read_listed(&row) {
                Ok(bucket) => self.listing.listed.push_back(bucket),
                Err(error) => self.pass_over(error)?,
            }
        }
        Ok(())
    }

    /// The id of a listed bucket, and the key that it belongs to.
    fn read_listed(&self, row: &RawDocumentBuf) -> Result<(String, IndexedScope)> {
        let bucket = bytes::read::<StoredBucket<T, IgnoredAny>>(row.as_bytes());
        let bucket = bucket.map_err(|error| self.target().unreadable(row, error))?;
        let scope = KeyScope::new(Editor::<T>::SPEC, T::Key::parts(bucket.key.borrowed()));
        let asked = self.scope.as_ref().unwrap_or(&scope);
        match bucket.is_of(asked) {
            true => Ok((bucket.id, scope.by(self.engine.open))),
            false => Err(self.target().error(asked.foreign(&id_of(row)))),
        }
    }

    /// Leaves a document that cannot be read as it is: the others come first.
    fn pass_over(&mut self, error: Error) -> Result<()> {
        if !error.is_deserialize() {
            return Err(error);
        }
        self.unreadable.get_or_insert(error);
        Ok(())
    }

    /// The output of the call.
    pub(crate) fn finish(&mut self, done: Result<()>) -> Result<u64, EditManyError> {
        let so_far = self.so_far;
        let unreadable = self.unreadable.take().filter(|_| done.is_ok());
        let is_end = unreadable.is_some();
        match done.err().or(unreadable) {
            None => Ok(so_far.items),
            Some(error) => Err(EditManyError {
                so_far,
                is_end,
                error,
            }),
        }
    }

    fn report(&mut self, items: u64) {
        self.so_far.buckets += 1;
        self.so_far.items += items;
        if let Some(progress) = &mut self.settings.progress {
            progress(self.so_far);
        }
    }

    pub(crate) fn session(&mut self) -> Option<&mut ClientSession> {
        self.settings.session.as_deref_mut()
    }

    fn target(&self) -> Target<'_> {
        self.engine.server.target_of_any(self.scope.as_ref())
    }
}

/// The progress of listing the buckets that a sweep visits, batch by batch.
#[derive(Default)]
struct Listing {
    /// A condition beside the query's.
    only: Option<Document>,
    /// The id of the last listed bucket.
    after: Option<Bson>,
    is_done: bool,
    /// Those that are listed, and still to be visited.
    listed: VecDeque<(String, IndexedScope)>,
}
