//! The update that changes items of a bucket, planned from what was read.

use std::mem;

use bucket_core::{
    error::Kind,
    protocol::{
        budget::Budget,
        command::{IndexedScope, KeptFields, before_all_windows},
    },
    schema::{
        names::{OVERSIZE, SEALED},
        spec::Ordinal,
    },
    value::{
        bytes,
        element::value_size,
        exact::{exact, restored, size},
        rollup::Totals,
        unreadable::read_value,
    },
};
use mongodb::{
    bson::{Bson, Document, doc},
    error::Error as DriverError,
};

use super::{found::FoundItems, protocol::Editor};
use crate::{
    Bucket, Result,
    read::reader::Reader,
    write::item::{self, UntypedItem},
};

/// The update that changes the items, or the deletion of their bucket.
pub(super) struct Step {
    /// The filter: the bucket, provided that it is still as it was read.
    pub(super) unchanged: Document,
    /// None if the bucket is to be deleted.
    pub(super) pipeline: Option<Vec<Document>>,
    /// The index for the filter, if it matters which one.
    pub(super) hint: Option<&'static str>,
}

/// The elements that take the places of the items that were found; none if the items go.
pub(crate) type NewElements = Vec<Bson>;

/// The closure that changes an item.
///
/// Boxed before there is a future: with a type parameter more, rustc proves anew that the whole
/// edit may move to another thread, which was a third of the time that this crate took to compile.
pub(crate) type Change<'s, T> = Box<dyn FnMut(&mut T) + Send + 's>;

/// The work of an edit on the items that it finds.
pub(crate) enum Edit<'s, T> {
    /// Reads them.
    Read,
    /// Removes them, unless one cannot be read.
    Remove,
    /// Removes them unread.
    RemoveStored,
    /// Lets the closure change each.
    Update(Change<'s, T>),
    /// Replaces each with the item that is written as this element.
    Replace(&'s Bson),
}

/// The items that an edit has found.
pub(crate) struct Edited<T> {
    /// The items that were read, as they are now or were before they went.
    pub(crate) items: Vec<T>,
    /// The items that went unread.
    pub(crate) stored: Vec<Bson>,
    /// How many went, or differ from before.
    pub(crate) changed: usize,
}

impl<T> Edited<T> {
    /// All of these items are changed.
    pub(crate) fn of(items: Vec<T>, stored: Vec<Bson>) -> Self {
        Self {
            changed: items.len() + stored.len(),
            items,
            stored,
        }
    }
}

/// Plans.
impl<T: Bucket> Editor<T> {
    /// Plans the change of the items that were found, unless there is nothing to change.
    pub(crate) fn plan(
        &self,
        edit: &mut Edit<'_, T>,
        found: &mut FoundItems<T>,
    ) -> Result<(Option<NewElements>, Edited<T>)> {
        Ok(match edit {
            Edit::Read => (None, Edited::of(found.matches(&self.reader)?, Vec::new())),
            Edit::Remove => {
                let items = found.matches(&self.reader)?;
                (Some(Vec::new()), Edited::of(items, Vec::new()))
            }
            Edit::RemoveStored => {
                let stored = (0..found.len()).map(|n| {
                    let element = Bson::try_from(found.element(n).clone());
                    element
                        .map_err(|error| found.unreadable(&self.reader, DriverError::custom(error)))
                });
                let stored = stored.collect::<Result<_>>()?;
                (Some(Vec::new()), Edited::of(Vec::new(), stored))
            }
            Edit::Update(change) => self.replace_each(found, |item, stored| {
                let before = self.element(item)?;
                let after = self.change_item(item, &mut **change)?;
                // A `Bson` has lost what the item holds, and the closure does not say what to
                // write.
                let lost = || self.reader.target().error(Kind::NamedTwice);
                let stored = stored.ok_or_else(lost)?;
                Ok(restored(stored, &before, after))
            })?,
            Edit::Replace(element) => {
                let key = found.key.clone();
                self.replace_each(found, |item, _| {
                    let mut new = self.read_back(key.clone(), element)?;
                    self.change_item(item, &mut |item| mem::swap(item, &mut new))?;
                    // Not the item that was read back: its fields may be written with other types.
                    Ok(element.clone())
                })?
            }
        })
    }

    /// Replaces the items with the elements that a function makes of them.
    fn replace_each(
        &self,
        found: &mut FoundItems<T>,
        mut make: impl FnMut(&mut T, Option<&Bson>) -> Result<Bson>,
    ) -> Result<(Option<NewElements>, Edited<T>)> {
        let (mut elements, mut edited) = (Vec::new(), Edited::of(Vec::new(), Vec::new()));
        for n in 0..found.len() {
            let stored = exact(found.element(n));
            let mut item = found.item(&self.reader, n)?;
            let element = make(&mut item, stored.as_ref())?;
            found.replace(n, item);
            edited.changed += usize::from(stored.as_ref() != Some(&element));
            (edited.items).push(self.read_back(found.key.clone(), &element)?);
            elements.push(element);
        }
        // The fields that the bucket computes may be incomplete, so they are written again.
        let is_written = Self::KEEPS_SUMMARY || edited.changed > 0;
        Ok((is_written.then_some(elements), edited))
    }
}

/// Steps.
impl<T: Bucket> Editor<T> {
    /// The step that removes the items.
    ///
    /// A bucket that holds no other is deleted, unless it is closed and its number keeps its place.
    pub(super) fn removal_step(&self, found: &mut FoundItems<T>) -> Step {
        found.drop_matches();
        let kept = self.kept_fields(found, -self.matches_oversize(found));
        let Reader { scope, .. } = &self.reader;
        let stays = T::SPEC.id.ordinal == Ordinal::Number && !found.is_open;
        let mut unchanged = match stays {
            true => scope.unchanged(&found.places),
            false => scope.unchanged_among(&found.places, found.are_all),
        };
        // A writer that does not know of a changed capacity would take a full bucket for an open
        // one and not seal it. So an open bucket is found by the index whose name contains the
        // capacity. Under a former name of a key field it is not in that index.
        let mut hint = None;
        if found.is_open && T::SPEC.has_aliases() {
            unchanged.insert(SEALED, doc! { "$exists": false });
        } else if found.is_open {
            unchanged.extend(scope.open_bucket_anywhere());
            hint = Some(scope.open.name);
        }
        let is_deleted = found.are_all && !stays;
        bucket_core::reached!("a removal, open: {}, deletes: {is_deleted}", found.is_open);
        Step {
            unchanged,
            pipeline: (!is_deleted).then(|| scope.take_out(&found.places, found.is_open, kept)),
            hint,
        }
    }

    /// The step that replaces the items with these elements.
    pub(super) fn replacement_step(
        &self,
        found: &FoundItems<T>,
        elements: Vec<Bson>,
    ) -> Result<Step> {
        let Reader { scope, .. } = &self.reader;
        let before = self.matches_oversize(found);
        let mut unchanged = scope.unchanged(&found.places);
        let mut grown = 0;
        if let Some(budget) = self.budget(found) {
            let sizes = Vec::from_iter(elements.iter().map(value_size));
            grown = sizes.iter().map(|size| budget.oversize(*size)).sum::<i64>() - before;
            if grown > 0 {
                if !budget.takes(found.oversize, grown) {
                    let largest = sizes.into_iter().max().unwrap_or_default();
                    return Err(self.reader.target().error(Kind::NoRoom(largest)));
                }
                unchanged.insert(OVERSIZE, budget.leaves(grown));
            }
        }
        let kept = self.kept_fields(found, grown);
        if kept.totals.is_none() {
            return Err(self.reader.target().error(Kind::SumOverflow));
        }
        Ok(Step {
            unchanged,
            hint: None,
            pipeline: Some(scope.replace(&found.places, elements, kept)),
        })
    }

    /// The item as it is written.
    fn element(&self, item: &T) -> Result<Bson> {
        let element = item
            .element()
            .and_then(|it| Ok(Bson::try_from(it.value())?));
        element.map_err(|refusal| {
            let error = self.reader.target().error(Kind::Serialize);
            error.with_source(refusal)
        })
    }

    /// Changes the item, and returns its element, unless the change takes it out of its place.
    fn change_item(&self, item: &mut T, change: &mut (dyn FnMut(&mut T) + Send)) -> Result<Bson> {
        let Reader { scope, .. } = &self.reader;
        let fail = |kind| self.reader.target().error(kind);
        let before = item.scope();
        let identity = |item: &T| item::identity(item, T::SPEC.unique?);
        let identity_before = identity(item);
        change(item);
        let after = item.scope();
        item.check().map_err(fail)?;
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
        item::stored_element(item, &after.by(scope.open), &fail)
    }

    /// The byte budget of the bucket, if it has to be checked. All its items lie in one time
    /// window.
    fn budget(&self, found: &FoundItems<T>) -> Option<Budget> {
        let IndexedScope { key, open, .. } = self.reader.scope.clone();
        let time = (0..found.len()).find_map(|n| found.time(n));
        Budget::of(&key.at(time).by(open))
    }

    /// How many bytes the matches take beyond their shares.
    fn matches_oversize(&self, found: &FoundItems<T>) -> i64 {
        self.budget(found).map_or(0, |budget| {
            let sizes = (0..found.len()).map(|n| size(found.element(n)));
            sizes.map(|size| budget.oversize(size)).sum()
        })
    }

    /// The item with this element, as it will be read.
    fn read_back(&self, key: T::Key, element: &Bson) -> Result<T> {
        let unreadable = || self.reader.target().error(Kind::Serialize);
        let read = match element {
            Bson::Document(_) => {
                let element = bytes::write(element);
                bytes::read(&element.map_err(|error| unreadable().with_source(error))?)
            }
            // An extra can be a single value.
            value => read_value(value),
        };
        let element = read.map_err(|error| unreadable().with_driver(error))?;
        Ok(T::from_parts(key, element))
    }

    /// The fields that the bucket stores about all of its items, after the step. An unreadable item
    /// adds nothing to the rollup, whose count then shows that it is incomplete.
    fn kept_fields(&self, found: &FoundItems<T>, grown: i64) -> KeptFields {
        let items = &found.items;
        // Without items, a time that any item will be newer than. Until then the server may remove
        // the bucket.
        let time = |item: &Result<T, _>| item.as_ref().map_or_else(|time| *time, Bucket::time);
        let newest = items.iter().filter_map(time).max();
        KeptFields {
            grown,
            totals: Totals::of(Self::SPEC, items.iter().flatten().map(T::rollup_values)),
            newest: (T::SPEC.expire_after).map(|_| newest.unwrap_or_else(|| before_all_windows(0))),
        }
    }
}
