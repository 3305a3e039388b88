//! The protocol of an edit: read the item, compute its bucket anew, and write that if nobody was
//! faster.

use std::marker::PhantomData;

use mongodb::{
    ClientSession,
    bson::{Bson, Document, RawDocumentBuf, doc},
    error::Error as DriverError,
};

use crate::{
    Bucket, BucketSpec, Error, Filter, Ordinal, Page, Result, bytes,
    command::{Kept, OVERSIZE, Place, SEALED, Stored, before_all_windows},
    element::value_size,
    engine::{Engine, Patience, TRIES, pause},
    error::Kind,
    item,
    query::Query,
    read::Reader,
    rollup::Totals,
    server::whole,
    size::Budget,
    stored,
};

/// One key of one collection, and which of its items is to be changed.
#[derive(Debug)]
pub(super) struct Editor<T> {
    engine: Engine,
    reader: Reader,
    query: Query,
    item: PhantomData<fn() -> T>,
}

/// What becomes of the item.
pub(super) enum Change<'f, T> {
    TakeOut,
    Edit(&'f mut (dyn FnMut(&mut T) + Send)),
}

/// An item that was found, and what else was read with it.
struct Found<T: Bucket> {
    place: Place,
    /// How many bytes the bucket's items take beyond their shares.
    oversize: i64,
    key: T::Key,
    items: Vec<T>,
    /// Which of the items it is.
    at: usize,
    /// Whether the bucket is open, as far as the capacity is known.
    open: bool,
}

/// The update that changes the item.
struct Step<T> {
    /// The bucket, provided that it is as it was read.
    unchanged: Document,
    pipeline: Vec<Document>,
    /// By which index it is found, if that matters.
    hint: Option<&'static str>,
    /// The item that was taken out, or that will stand there.
    item: T,
}

impl<T: Bucket> Editor<T> {
    /// The spec as a `static`, which promotion alone does not give in generic code.
    const SPEC: &'static BucketSpec = &T::SPEC;

    /// Whether a bucket keeps something that has to be computed from all of its items.
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

    /// Changes the first item that matches, and gives the one that was taken out, or that stands
    /// there now.
    pub(super) async fn change(
        mut self,
        mut change: Change<'_, T>,
        mut session: Option<&mut ClientSession>,
    ) -> Result<Option<T>> {
        let mut patience = Patience::default();
        for tries in 0..TRIES {
            pause(tries).await;
            self.reader.scope.open = self.engine.open();
            let Some(found) = self.find(session.as_deref_mut()).await? else {
                return Ok(None);
            };
            let bucket = found.place.bucket.clone();
            let Step {
                unchanged,
                pipeline,
                hint,
                item,
            } = match &mut change {
                Change::TakeOut => self.without(found)?,
                Change::Edit(change) => self.with(found, change)?,
            };
            let Reader { server, scope } = &self.reader;
            let fields = doc! { "_id": 0, scope.spec.count: 1, SEALED: 1 };
            let changed = server
                .change(unchanged, pipeline, hint, fields, session.as_deref_mut())
                .await
                .map_err(|error| self.refused(error));
            let left = match changed {
                Ok(Some(left)) => left,
                Ok(None) => continue,
                Err(error) if error.is(&Kind::MissingIndex) => {
                    (self.engine)
                        .follow_index(Self::SPEC, &mut patience, error, session.is_some())
                        .await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if Self::is_to_be_deleted(&left) {
                let deleted = server.delete_one(scope.emptied(&bucket), session).await;
                // The item is gone all the same.
                deleted.map_err(|error| self.refused(error).in_doubt())?;
            }
            return Ok(Some(item));
        }
        Err(self.reader.fail(Kind::Contended(TRIES)))
    }

    async fn find(&self, session: Option<&mut ClientSession>) -> Result<Option<Found<T>>> {
        let Reader { server, scope } = &self.reader;
        let pipeline = self.query.place(Self::SPEC, scope, Self::KEEPS);
        let found = server.first(pipeline, session).await;
        match found.map_err(|error| self.reader.failed(error))? {
            Some(row) => self.read(&row).map(Some),
            None => Ok(None),
        }
    }

    fn read(&self, row: &RawDocumentBuf) -> Result<Found<T>> {
        let mut stored: Document =
            bytes::read(row.as_bytes()).map_err(|error| self.reader.failed(error))?;
        let id = stored.get("_id").and_then(Bson::as_str).unwrap_or_default();
        let bucket = id.to_owned();
        let page = bytes::read::<stored::Stored<T>>(row.as_bytes()).map_err(|error| {
            (self.reader.fail(Kind::Deserialize(bucket.clone()))).with_driver(error)
        })?;
        let key = page.key.clone();
        let page = Page::of(page, &self.reader.scope);
        let page = page.map_err(|id| self.reader.fail(Kind::ForeignId(id)))?;
        let before = stored.get(T::SPEC.count).and_then(whole).unwrap_or(0);
        let before = usize::try_from(before).unwrap_or(0);
        let open = stored.get_bool(SEALED).unwrap_or(false);
        let oversize = stored.get(OVERSIZE).and_then(whole).unwrap_or(0);
        let mut elements = match stored.remove(T::SPEC.items) {
            Some(Bson::Array(elements)) => elements,
            _ => Vec::new(),
        };
        let (at, stored) = match Self::KEEPS {
            true => (before, Stored::Array(elements)),
            // The pipeline has made an array of the item alone.
            false => (0, Stored::Element(elements.pop().unwrap_or(Bson::Null))),
        };
        Ok(Found {
            open,
            oversize,
            place: Place {
                bucket,
                at: before,
                stored,
            },
            key,
            items: page.items,
            at,
        })
    }

    /// What takes the item out of its bucket.
    fn without(&self, mut found: Found<T>) -> Result<Step<T>> {
        let item = found.items.remove(found.at);
        let grown = (self.budget(&item)).map_or(0, |budget| -taken(&budget, &found.place));
        let kept = self.kept(&found.items, grown)?;
        let Reader { scope, .. } = &self.reader;
        let mut unchanged = scope.unchanged(&found.place);
        // Who does not know that the capacity has changed would take a full bucket for an open one, and
        // not seal it. So what is open is found by the index that tells the capacity.
        let hint = (found.open && !T::SPEC.has_aliases()).then_some(scope.open.name);
        if hint.is_some() {
            unchanged.extend(scope.open_bucket_anywhere());
        }
        Ok(Step {
            unchanged,
            pipeline: scope.take_out(&found.place, found.open, kept),
            hint,
            item,
        })
    }

    /// What puts the changed item in its place.
    fn with(
        &self,
        mut found: Found<T>,
        change: &mut (dyn FnMut(&mut T) + Send),
    ) -> Result<Step<T>> {
        let Reader { scope, .. } = &self.reader;
        let item = &mut found.items[found.at];
        let before = item::scope(item);
        let identity = |item: &T| item::identity(item, T::SPEC.unique?);
        let identity_before = identity(item);
        change(item);
        let after = item::scope(item);
        item::base(&after, item.time()).map_err(|kind| self.reader.fail(kind))?;
        item::check_lengths(item).map_err(|kind| self.reader.fail(kind))?;
        if after.prefix != before.prefix {
            let what = match after.parts == before.parts {
                true => "time window",
                false => "key",
            };
            return Err(self.reader.fail(Kind::Moved(what)));
        }
        if identity(item) != identity_before {
            return Err(self.reader.fail(Kind::Moved("identity")));
        }
        let element = item::stored(item, &after, |kind| self.reader.fail(kind))?;
        let mut unchanged = scope.unchanged(&found.place);
        let mut grown = 0;
        if let Some(budget) = self.budget(item) {
            let bytes = value_size(&element);
            grown = budget.oversize(bytes) - taken(&budget, &found.place);
            if grown > 0 {
                if !budget.takes(found.oversize, grown) {
                    return Err(self.reader.fail(Kind::NoRoom(bytes)));
                }
                unchanged.insert(OVERSIZE, budget.leaves(grown));
            }
        }
        let kept = self.kept(&found.items, grown)?;
        Ok(Step {
            unchanged,
            hint: None,
            item: self.read_back(found.key, &element)?,
            pipeline: scope.replace(&found.place, element, kept),
        })
    }

    /// How the bytes of the item's bucket are shared out, if that has to be looked at.
    fn budget(&self, item: &T) -> Option<Budget> {
        Budget::of(&item::scope(item).by(self.reader.scope.open))
    }

    /// The item with this element, as it will be read.
    fn read_back(&self, key: T::Key, element: &Bson) -> Result<T> {
        let unreadable = || self.reader.fail(Kind::Serialize);
        let element = bytes::write(element).map_err(|error| unreadable().with_source(error))?;
        let element = bytes::read(&element).map_err(|error| unreadable().with_driver(error))?;
        Ok(T::from_parts(key, element))
    }

    /// What the bucket keeps about these items, which are all that it will hold.
    fn kept(&self, items: &[T], grown: i64) -> Result<Kept> {
        let mut kept = Kept {
            grown,
            ..Kept::default()
        };
        if !T::SPEC.rollups.is_empty() {
            let mut totals = Totals::new(Self::SPEC);
            let told = |item: &T| totals.take(Self::SPEC, &item.rollup_values());
            if !items.iter().all(told) {
                return Err(self.reader.fail(Kind::SumOverflow));
            }
            kept.totals = Some(totals);
        }
        if T::SPEC.expire_after.is_some() {
            // Where none is left, a moment that any item will be newer than. Until then the server
            // may take the bucket away.
            let newest = items.iter().filter_map(T::time).max();
            kept.newest = Some(newest.unwrap_or_else(|| before_all_windows(0)));
        }
        Ok(kept)
    }

    /// Whether a bucket of which these fields are left is in nobody's way once it is gone: it takes no
    /// item more, and its id, given anew, would say the same.
    fn is_to_be_deleted(left: &Document) -> bool {
        let is_empty = left.get(T::SPEC.count).and_then(whole) == Some(0);
        let by_moment = matches!(T::SPEC.id.ordinal, Ordinal::Seconds | Ordinal::Millis);
        is_empty && by_moment && left.contains_key(SEALED)
    }

    fn refused(&self, error: DriverError) -> Error {
        let Reader { server, scope } = &self.reader;
        Error::write(error, server.name()).with_key(&scope.label())
    }
}

/// How many bytes the item at this place takes beyond its share.
fn taken(budget: &Budget, place: &Place) -> i64 {
    let element = match &place.stored {
        Stored::Element(element) => Some(element),
        Stored::Array(elements) => elements.get(place.at),
    };
    element.map_or(0, |element| budget.oversize(value_size(element)))
}
