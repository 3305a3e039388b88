//! One bucket after the other: what edits and removals of many items have in common.

use std::marker::PhantomData;

use mongodb::{
    ClientSession,
    bson::{Document, doc},
};
use serde::de::IgnoredAny;

use super::{
    found::FoundItems,
    many::{EditManyError, EditProgress},
    protocol::{Editor, Planned, Which},
};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{
        command::{IndexedScope, KeyScope},
        filter::Filter,
        query::Query,
        time_bounds::TimeBounds,
    },
    read::reader::Reader,
    schema::{key::Key, spec::BucketSpec},
    server::context::ErrorContext,
    value::{element::whole, stored_bucket::StoredBucket},
    write::engine::Engine,
};

/// How many buckets are listed at a time.
const LISTED: i64 = 500;

/// One bucket after the other.
pub(super) struct Sweep<'s, T> {
    engine: Engine,
    /// The key, unless all keys are meant.
    scope: Option<KeyScope>,
    query: Query,
    pub(super) session: Option<&'s mut ClientSession>,
    pub(super) progress: Box<dyn FnMut(EditProgress) + Send + 's>,
    so_far: EditProgress,
    item: PhantomData<fn() -> T>,
}

impl<T: Bucket> Sweep<'_, T> {
    /// The spec as a `static`: in generic code, promotion alone does not provide one.
    const SPEC: &'static BucketSpec = &T::SPEC;

    pub(super) fn new(engine: Engine, scope: Option<KeyScope>, filter: Filter<T>) -> Self {
        Self {
            engine,
            scope,
            query: Query::of(filter),
            session: None,
            progress: Box::new(|_| ()),
            so_far: EditProgress::default(),
            item: PhantomData,
        }
    }

    /// Makes this step for each bucket that holds a match.
    pub(super) async fn run<O>(
        &mut self,
        mut step: impl FnMut(&Editor<T>, FoundItems<T>) -> Result<Planned<O>>,
    ) -> Result<()> {
        let mut after = None;
        loop {
            let listed = self.list(after.as_deref(), &[]).await?;
            let Some((last, _)) = listed.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            for (id, scope) in listed {
                let reader = Reader {
                    server: self.engine.server.clone(),
                    scope,
                };
                let which = Which::OfBucket(id);
                let editor = Editor::new(self.engine.clone(), reader, self.query.clone(), which);
                let done = editor.change(&mut step, self.session.as_deref_mut());
                let items = done.await?.len();
                self.report(items as u64);
            }
        }
    }

    /// Deletes the buckets of windows in which every item matches, if the filter says so much.
    pub(super) async fn drop_whole_windows(&mut self) -> Result<()> {
        let Some(windows) = TimeBounds::whole_windows(&self.query.filter, Self::SPEC) else {
            return Ok(());
        };
        let mut after = None;
        loop {
            let listed = self
                .list(after.as_deref(), std::slice::from_ref(&windows))
                .await?;
            let Some((last, _)) = listed.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            for (id, scope) in listed {
                let fields = doc! { "_id": 0, T::SPEC.count: 1 };
                let session = self.session.as_deref_mut();
                let taken = self.engine.server.take(scope.bucket(&id), fields, session);
                let context = self.engine.server.context_of(&scope);
                let taken = taken.await.map_err(|error| context.write(error))?;
                let count = taken.and_then(|taken| whole(taken.get(T::SPEC.count)?));
                self.report(count.and_then(|count| count.try_into().ok()).unwrap_or(0));
            }
        }
    }

    /// The next buckets that may hold a match: their ids, and the keys that they belong to.
    async fn list(
        &mut self,
        after: Option<&str>,
        further: &[Document],
    ) -> Result<Vec<(String, IndexedScope)>> {
        let after = after.map(|after| doc! { "_id": { "$gt": after } });
        let further = Vec::from_iter(further.iter().cloned().chain(after));
        let (query, scope) = (&self.query, self.scope.as_ref());
        let pipeline = query.next_buckets(Self::SPEC, scope, &further, LISTED);
        let found = self
            .engine
            .server
            .some(pipeline, self.session.as_deref_mut());
        let found = found.await.map_err(|error| self.context().read(error))?;
        let open = self.engine.index.get();
        let found = found
            .into_iter()
            .map(|bucket: StoredBucket<T, IgnoredAny>| {
                let scope = KeyScope::new(Self::SPEC, T::Key::parts(bucket.key.borrowed()));
                let asked = self.scope.as_ref().unwrap_or(&scope);
                match asked.holds(&bucket) {
                    true => Ok((bucket.id, scope.by(open))),
                    false => Err(self.context().kind(Kind::ForeignId(bucket.id))),
                }
            });
        found.collect()
    }

    /// The output of the call.
    pub(super) fn end(&self, done: Result<()>) -> Result<u64, EditManyError> {
        let so_far = self.so_far;
        done.map_err(|error| EditManyError { so_far, error })?;
        Ok(so_far.items)
    }

    fn report(&mut self, items: u64) {
        self.so_far.buckets += 1;
        self.so_far.items += items;
        (self.progress)(self.so_far);
    }

    fn context(&self) -> ErrorContext<'_> {
        self.engine.server.context_of_any(self.scope.as_ref())
    }
}
