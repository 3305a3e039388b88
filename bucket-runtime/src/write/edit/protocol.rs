//! The protocol of an edit: read the items, compute their bucket's new fields, and write them unless
//! another writer was faster.

use std::marker::PhantomData;

use mongodb::{
    ClientSession,
    bson::{Bson, DateTime, Document, doc},
};

use super::found::{FoundItems, Unread, moment};
use crate::{
    Bucket, Result,
    error::Kind,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeptFields, before_all_windows},
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
        element::{document_size, value_size, whole},
        rollup::Totals,
    },
    write::{
        engine::{Engine, TRIES, pause},
        item,
    },
};

/// The most bytes of an edit's command (`maxBsonObjectSize` of the server).
const MOST_BYTES: usize = 16 << 20;

/// One key of one collection, and which of its items to change.
#[derive(Debug)]
pub(super) struct Editor<T> {
    engine: Engine,
    reader: Reader,
    query: Query,
    which: Which,
    item: PhantomData<fn() -> T>,
}

/// Which of the matching items to change.
#[derive(Debug)]
pub(super) enum Which {
    /// The first one of the key.
    First,
    /// All in the bucket with this id.
    OfBucket(String),
}

/// The update that changes the items.
pub(super) struct Step {
    /// The filter: the bucket, provided that it is still as it was read.
    unchanged: Document,
    pipeline: Vec<Document>,
    /// The index for the filter, if it matters which one.
    hint: Option<&'static str>,
}

/// The step, unless there is nothing to change, and a value for each of the items.
pub(super) type Planned<O> = (Option<Step>, Vec<O>);

impl<T: Bucket> Editor<T> {
    /// The spec as a `static`: in generic code, promotion alone does not provide one.
    const SPEC: &'static BucketSpec = &T::SPEC;

    /// Whether a bucket has fields that are computed from all of its items.
    const KEEPS: bool = !T::SPEC.rollups.is_empty() || T::SPEC.expire_after.is_some();

    pub(super) fn new(engine: Engine, reader: Reader, query: Query, which: Which) -> Self {
        Self {
            engine,
            reader,
            query,
            which,
            item: PhantomData,
        }
    }

    /// Changes the matching items, and returns the values that the step to that produces, one for each
    /// changed item.
    pub(super) async fn change<O>(
        mut self,
        mut step: impl FnMut(&Self, FoundItems<T>) -> Result<Planned<O>>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Vec<O>> {
        let mut deadline = IndexDeadline::default();
        for tries in 0..TRIES {
            pause(tries).await;
            self.reader.scope.open = self.engine.index.get();
            let Some(found) = self.find(session.as_deref_mut()).await? else {
                return Ok(Vec::new());
            };
            let bucket = found.places.bucket.clone();
            let (step, output) = step(&self, found)?;
            let Some(Step {
                unchanged,
                pipeline,
                hint,
            }) = step
            else {
                return Ok(output);
            };
            self.check_size(&unchanged, &pipeline)?;
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
                // The items are gone all the same.
                deleted.map_err(|error| self.reader.context().write(error).in_doubt())?;
            }
            return Ok(output);
        }
        Err(self.reader.context().kind(Kind::Contended(TRIES)))
    }

    /// The server would refuse a larger command, with an error that says nothing of the items.
    fn check_size(&self, unchanged: &Document, pipeline: &[Document]) -> Result<()> {
        let stages = pipeline.iter().map(document_size);
        let bytes = document_size(unchanged) + stages.sum::<usize>();
        match bytes > MOST_BYTES {
            true => {
                let most = MOST_BYTES;
                Err(self
                    .reader
                    .context()
                    .kind(Kind::EditTooLarge { bytes, most }))
            }
            false => Ok(()),
        }
    }

    async fn find(&self, session: Option<&mut ClientSession>) -> Result<Option<FoundItems<T>>> {
        let (Reader { server, scope }, query) = (&self.reader, &self.query);
        let pipeline = match &self.which {
            Which::First => query.first_place(Self::SPEC, scope, Self::KEEPS),
            Which::OfBucket(id) => query.places(Self::SPEC, scope, id, Self::KEEPS),
        };
        let found = server.first(pipeline, session).await;
        match found.map_err(|error| self.reader.context().read(error))? {
            Some(row) => FoundItems::read(&self.reader, &row, Self::KEEPS).map(Some),
            None => Ok(None),
        }
    }

    /// The step that removes the items from their bucket, and the items.
    pub(super) fn without(&self, found: FoundItems<T>) -> Result<Planned<T>> {
        let reader = &self.reader;
        let (step, items) = self.taking_out(found, |found| {
            let items = found.take().into_iter();
            let items = items.map(|item| found.readable(reader, item));
            items.collect::<Result<Vec<_>>>()
        })?;
        Ok((Some(step), items?))
    }

    /// The step that removes the items from their bucket, and the items as they are stored.
    pub(super) fn without_reading(&self, found: FoundItems<T>) -> Result<Planned<Bson>> {
        let (step, elements) = self.taking_out(found, |found| {
            let elements = (0..found.len()).map(|n| found.element(n).clone());
            let elements = elements.collect();
            drop(found.take());
            elements
        })?;
        Ok((Some(step), elements))
    }

    /// Removes the items that `take` takes out of what was found.
    fn taking_out<O>(
        &self,
        mut found: FoundItems<T>,
        take: impl FnOnce(&mut FoundItems<T>) -> O,
    ) -> Result<(Step, O)> {
        let freed = (0..found.len()).filter_map(|n| {
            let budget = self.budget(found.time(n))?;
            Some(taken(&budget, &found, n))
        });
        let grown = -freed.sum::<i64>();
        let taken = take(&mut found);
        let kept = self.kept(&found.items, grown)?;
        let Reader { scope, .. } = &self.reader;
        let mut unchanged = scope.unchanged(&found.places);
        // A writer that does not know of a changed capacity would take a full bucket for an open one and
        // not seal it. So an open bucket is found by the index whose name contains the capacity.
        let hint = (found.open && !T::SPEC.has_aliases()).then_some(scope.open.name);
        if hint.is_some() {
            unchanged.extend(scope.open_bucket_anywhere());
        }
        let step = Step {
            unchanged,
            pipeline: scope.take_out(&found.places, found.open, kept),
            hint,
        };
        Ok((step, taken))
    }

    /// The step that replaces the items with changed ones, and each of them as it will be read, with
    /// whether it differs from what is stored. There is no step if none does.
    pub(super) fn with(
        &self,
        mut found: FoundItems<T>,
        change: &mut (impl FnMut(&mut T) + Send),
    ) -> Result<Planned<(T, bool)>> {
        let Reader { scope, .. } = &self.reader;
        let (mut elements, mut items) = (Vec::new(), Vec::new());
        let (mut grown, mut largest, mut budget) = (0, 0, None);
        for n in 0..found.len() {
            let element = self.changed(found.item(&self.reader, n)?, change)?;
            if let Some(of_item) = self.budget(found.time(n)) {
                let bytes = value_size(&element);
                largest = largest.max(bytes);
                grown += of_item.oversize(bytes) - taken(&of_item, &found, n);
                budget = Some(of_item);
            }
            let differs = element != *found.element(n);
            items.push((self.read_back(found.key.clone(), &element)?, differs));
            elements.push(element);
        }
        // The fields that the bucket keeps may be incomplete, and are written anew.
        if !Self::KEEPS && items.iter().all(|(_, differs)| !differs) {
            return Ok((None, items));
        }
        let mut unchanged = scope.unchanged(&found.places);
        if let Some(budget) = budget.filter(|_| grown > 0) {
            if !budget.takes(found.oversize, grown) {
                return Err(self.reader.context().kind(Kind::NoRoom(largest)));
            }
            unchanged.insert(OVERSIZE, budget.leaves(grown));
        }
        let kept = self.kept(&found.items, grown)?;
        let step = Step {
            unchanged,
            hint: None,
            pipeline: scope.replace(&found.places, elements, kept),
        };
        Ok((Some(step), items))
    }

    /// The step that replaces the items with the one that this element is read as.
    pub(super) fn by(&self, found: FoundItems<T>, element: &Bson) -> Result<Planned<(T, bool)>> {
        let key = found.key.clone();
        let mut new = Some(self.read_back(key.clone(), element)?);
        self.with(found, &mut |item| {
            if let Some(new) = new.take() {
                *item = new;
            }
        })
    }

    /// Changes the item, and returns its element, unless the change takes it out of its place.
    fn changed(&self, item: &mut T, change: &mut (impl FnMut(&mut T) + Send)) -> Result<Bson> {
        let Reader { scope, .. } = &self.reader;
        let fail = |kind| self.reader.context().kind(kind);
        let before = item::scope(item);
        let identity = |item: &T| item::identity(item, T::SPEC.unique?);
        let identity_before = identity(item);
        change(item);
        let after = item::scope(item);
        item::opening_id(&after, item.time()).map_err(fail)?;
        item::check_lengths(item).map_err(fail)?;
        if after.prefix != before.prefix {
            let what = match after.parts == before.parts {
                true => "time window",
                false => "key",
            };
            return Err(fail(Kind::Moved(what)));
        }
        if identity(item) != identity_before {
            return Err(fail(Kind::Moved("identity")));
        }
        item::stored(item, &after.by(scope.open), fail)
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

/// How many bytes the nth of the items takes beyond its share.
fn taken<T: Bucket>(budget: &Budget, found: &FoundItems<T>, n: usize) -> i64 {
    budget.oversize(value_size(found.element(n)))
}
