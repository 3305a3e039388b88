//! The protocol of an edit: read the item, compute its bucket's new fields, and write them unless
//! another writer was faster.

use std::marker::PhantomData;

use mongodb::{
    ClientSession,
    bson::{Bson, DateTime, Document, doc},
};

use super::found::{FoundItem, Unread, moment};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeptFields, before_all_windows},
        filter::Filter,
        query::Query,
    },
    read::reader::Reader,
    schema::{
        names::{OVERSIZE, SEALED},
        spec::{BucketSpec, Ordinal},
    },
    server::current_index::IndexDeadline,
    value::{
        bytes,
        element::{value_size, whole},
        rollup::Totals,
    },
    write::{
        engine::{Engine, TRIES, pause},
        item,
    },
};

/// One key of one collection, and which of its items to change.
#[derive(Debug)]
pub(super) struct Editor<T> {
    engine: Engine,
    reader: Reader,
    query: Query,
    item: PhantomData<fn() -> T>,
}

/// The update that changes the item.
pub(super) struct Step {
    /// The filter: the bucket, provided that it is still as it was read.
    unchanged: Document,
    pipeline: Vec<Document>,
    /// The index for the filter, if it matters which one.
    hint: Option<&'static str>,
}

impl<T: Bucket> Editor<T> {
    /// The spec as a `static`: in generic code, promotion alone does not provide one.
    const SPEC: &'static BucketSpec = &T::SPEC;

    /// Whether a bucket has fields that are computed from all of its items.
    const KEEPS: bool = !T::SPEC.rollups.is_empty() || T::SPEC.expire_after.is_some();

    pub(super) fn new(engine: Engine, reader: Reader, filter: Filter<T>) -> Self {
        Self {
            engine,
            reader,
            query: Query {
                filter: filter.node,
                ..Query::everything()
            },
            item: PhantomData,
        }
    }

    /// Changes the first item that matches, and returns the value that the step to that produces.
    pub(super) async fn change<O>(
        mut self,
        mut step: impl FnMut(&Self, FoundItem<T>) -> Result<(Step, O)>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<O>> {
        let mut deadline = IndexDeadline::default();
        for tries in 0..TRIES {
            pause(tries).await;
            self.reader.scope.open = self.engine.index.get();
            let Some(found) = self.find(session.as_deref_mut()).await? else {
                return Ok(None);
            };
            let bucket = found.place.bucket.clone();
            let (step, output) = step(&self, found)?;
            let Step {
                unchanged,
                pipeline,
                hint,
            } = step;
            let Reader { server, scope } = &self.reader;
            let fields = doc! { "_id": 0, scope.spec.count: 1, SEALED: 1 };
            let changed = server
                .change(unchanged, pipeline, hint, fields, session.as_deref_mut())
                .await
                .map_err(|error| self.reader.context().write(error));
            let left = match changed {
                Ok(Some(left)) => left,
                Ok(None) => continue,
                Err(error) if error.is(&Kind::MissingIndex) => {
                    let (index, is_in_session) = (&self.engine.index, session.is_some());
                    index
                        .wait_unless_in_session(Self::SPEC, &mut deadline, error, is_in_session)
                        .await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if Self::is_to_be_deleted(&left) {
                let deleted = server.delete_one(scope.emptied(&bucket), session).await;
                // The item is gone all the same.
                deleted.map_err(|error| self.reader.context().write(error).in_doubt())?;
            }
            return Ok(Some(output));
        }
        Err(self.reader.context().kind(Kind::Contended(TRIES)))
    }

    async fn find(&self, session: Option<&mut ClientSession>) -> Result<Option<FoundItem<T>>> {
        let Reader { server, scope } = &self.reader;
        let pipeline = self.query.place(Self::SPEC, scope, Self::KEEPS);
        let found = server.first(pipeline, session).await;
        match found.map_err(|error| self.reader.context().read(error))? {
            Some(row) => FoundItem::read(&self.reader, &row, Self::KEEPS).map(Some),
            None => Ok(None),
        }
    }

    /// The step that removes the item from its bucket, and the item.
    pub(super) fn without(&self, mut found: FoundItem<T>) -> Result<(Step, T)> {
        let time = found.time();
        let item = found.take(&self.reader)?;
        Ok((self.taking_out(found, time)?, item))
    }

    /// The step that removes the item from its bucket, and the item as it is stored.
    pub(super) fn without_reading(&self, mut found: FoundItem<T>) -> Result<(Step, Bson)> {
        let (time, element) = (found.time(), found.element().clone());
        drop(found.items.remove(found.at));
        Ok((self.taking_out(found, time)?, element))
    }

    /// Removes an item whose time is `time`; `found` holds the remaining items.
    fn taking_out(&self, found: FoundItem<T>, time: Option<DateTime>) -> Result<Step> {
        let grown = (self.budget(time)).map_or(0, |budget| -taken(&budget, &found));
        let kept = self.kept(&found.items, grown)?;
        let Reader { scope, .. } = &self.reader;
        let mut unchanged = scope.unchanged(&found.place);
        // A writer that does not know of a changed capacity would take a full bucket for an open one and
        // not seal it. So an open bucket is found by the index whose name contains the capacity.
        let hint = (found.open && !T::SPEC.has_aliases()).then_some(scope.open.name);
        if hint.is_some() {
            unchanged.extend(scope.open_bucket_anywhere());
        }
        Ok(Step {
            unchanged,
            pipeline: scope.take_out(&found.place, found.open, kept),
            hint,
        })
    }

    /// The step that replaces the item with the changed one, and the item as it will be read.
    pub(super) fn with(
        &self,
        mut found: FoundItem<T>,
        change: &mut (impl FnMut(&mut T) + Send),
    ) -> Result<(Step, T)> {
        let Reader { scope, .. } = &self.reader;
        let item = found.item(&self.reader)?;
        let before = item::scope(item);
        let identity = |item: &T| item::identity(item, T::SPEC.unique?);
        let identity_before = identity(item);
        change(item);
        let after = item::scope(item);
        item::opening_id(&after, item.time()).map_err(|kind| self.reader.context().kind(kind))?;
        item::check_lengths(item).map_err(|kind| self.reader.context().kind(kind))?;
        if after.prefix != before.prefix {
            let what = match after.parts == before.parts {
                true => "time window",
                false => "key",
            };
            return Err(self.reader.context().kind(Kind::Moved(what)));
        }
        if identity(item) != identity_before {
            return Err(self.reader.context().kind(Kind::Moved("identity")));
        }
        let after = after.by(scope.open);
        let element = item::stored(item, &after, |kind| self.reader.context().kind(kind))?;
        let time = item.time();
        let mut unchanged = scope.unchanged(&found.place);
        let mut grown = 0;
        if let Some(budget) = self.budget(time) {
            let bytes = value_size(&element);
            grown = budget.oversize(bytes) - taken(&budget, &found);
            if grown > 0 {
                if !budget.takes(found.oversize, grown) {
                    return Err(self.reader.context().kind(Kind::NoRoom(bytes)));
                }
                unchanged.insert(OVERSIZE, budget.leaves(grown));
            }
        }
        let kept = self.kept(&found.items, grown)?;
        let item = self.read_back(found.key, &element)?;
        let step = Step {
            unchanged,
            hint: None,
            pipeline: scope.replace(&found.place, element, kept),
        };
        Ok((step, item))
    }

    /// The byte budget of the bucket for an item of this time, if it has to be checked.
    fn budget(&self, time: Option<DateTime>) -> Option<Budget> {
        let IndexedScope { key, open } = self.reader.scope.clone();
        Budget::of(&key.at(time).by(open))
    }

    /// The item with this element, as it will be read.
    fn read_back(&self, key: T::Key, element: &Bson) -> Result<T> {
        let unreadable = || self.reader.context().kind(Kind::Serialize);
        let element = bytes::write(element).map_err(|error| unreadable().with_source(error))?;
        let element = bytes::read(&element).map_err(|error| unreadable().with_driver(error))?;
        Ok(T::from_parts(key, element))
    }

    /// The fields that the bucket stores about these items, which are all that it will hold. If one of
    /// them is unreadable there is no rollup, which marks the bucket's rollup as incomplete.
    fn kept(&self, items: &[Result<T, Unread>], grown: i64) -> Result<KeptFields> {
        let mut kept = KeptFields {
            grown,
            ..KeptFields::default()
        };
        if !T::SPEC.rollups.is_empty() {
            let totals = Totals::of(Self::SPEC, items.iter().flatten().map(T::rollup_values));
            let overflow = || self.reader.context().kind(Kind::SumOverflow);
            kept.totals = Some(totals.ok_or_else(overflow)?);
        }
        if T::SPEC.expire_after.is_some() {
            // Without items, a time that any item will be newer than. Until then the server may remove
            // the bucket.
            let newest = items.iter().filter_map(moment).max();
            kept.newest = Some(newest.unwrap_or_else(|| before_all_windows(0)));
        }
        Ok(kept)
    }

    /// Whether a bucket with these remaining fields may be deleted: it takes no further items, and a new
    /// bucket with its id would mean the same.
    fn is_to_be_deleted(left: &Document) -> bool {
        let is_empty = left.get(T::SPEC.count).and_then(whole) == Some(0);
        let by_moment = matches!(T::SPEC.id.ordinal, Ordinal::Seconds | Ordinal::Millis);
        is_empty && by_moment && left.contains_key(SEALED)
    }
}

/// How many bytes the item takes beyond its share.
fn taken<T: Bucket>(budget: &Budget, found: &FoundItem<T>) -> i64 {
    budget.oversize(value_size(found.element()))
}
