//! The change of items of one bucket, as pure functions from facts to documents.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{IndexedScope, KeyScope};
use crate::{
    schema::names::{NEWEST, OVERSIZE, SEALED},
    value::rollup::Totals,
};

/// Items of a bucket, as they were read.
#[derive(Debug)]
pub(crate) struct Places {
    /// The bucket's id.
    pub(crate) bucket: String,
    /// For each item, the number of items before it in the bucket.
    pub(crate) at: Vec<usize>,
    pub(crate) stored: StoredItems,
}

/// What was read, and must still be the same when the change is carried out.
#[derive(Debug)]
pub(crate) enum StoredItems {
    /// The elements alone. Changes to other elements do not affect these.
    Elements(Vec<Bson>),
    /// All elements, since the bucket's rollup is computed from all of them.
    Array(Vec<Bson>),
}

impl Places {
    /// The items that stand next to each other: the number of items before them, and how many they are.
    fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &at in &self.at {
            match runs.last_mut() {
                Some((first, length)) if *first + *length == at => *length += 1,
                _ => runs.push((at, 1)),
            }
        }
        runs
    }
}

/// The fields that a bucket stores about its items, as they are after the change.
#[derive(Debug, Default)]
pub(crate) struct KeptFields {
    /// The change in the bytes that items take beyond their shares; negative if they shrink.
    pub(crate) grown: i64,
    pub(crate) totals: Option<Totals>,
    pub(crate) newest: Option<DateTime>,
}

impl KeyScope {
    /// The bucket with this id, if it has the key fields that reads require.
    pub(crate) fn bucket(&self, id: &str) -> Document {
        self.with_key(doc! { "_id": id })
    }

    /// The bucket of the items, provided that they are still as they were read.
    pub(crate) fn unchanged(&self, places: &Places) -> Document {
        let items = format!("${}", self.spec.items);
        let mut tests = match &places.stored {
            StoredItems::Array(elements) => vec![is(Bson::String(items), elements.clone().into())],
            StoredItems::Elements(elements) => {
                let mut elements = elements.iter().cloned();
                let runs = places.runs().into_iter();
                let tests = runs.map(|(at, length)| match length {
                    1 => {
                        let now = doc! { "$arrayElemAt": [&items, number(at)] };
                        is(now.into(), elements.next().unwrap_or(Bson::Null))
                    }
                    _ => {
                        let before = elements.by_ref().take(length).collect();
                        is(slice(&items, at, length).into(), Bson::Array(before))
                    }
                });
                tests.collect()
            }
        };
        let mut filter = self.bucket(&places.bucket);
        let test = match tests.len() {
            1 => tests.remove(0),
            _ => doc! { "$and": tests },
        };
        filter.insert("$expr", test);
        filter
    }

    /// Replaces the items with these elements.
    pub(crate) fn replace(
        &self,
        places: &Places,
        elements: Vec<Bson>,
        kept: KeptFields,
    ) -> Vec<Document> {
        vec![doc! { "$set": self.with(places, elements, kept) }]
    }

    /// The bucket's fields with these elements in place of the items, or without the items.
    fn with(&self, places: &Places, elements: Vec<Bson>, kept: KeptFields) -> Document {
        let items = format!("${}", self.spec.items);
        let mut elements = elements.into_iter();
        let (mut parts, mut end) = (Vec::new(), 0);
        for (at, length) in places.runs() {
            // `$slice` cannot take zero elements.
            if at > end {
                parts.push(slice(&items, end, at - end).into());
            }
            let new = elements.by_ref().take(length);
            let new = Vec::from_iter(new.map(|element| doc! { "$literal": element }.into()));
            if !new.is_empty() {
                parts.push(Bson::Array(new));
            }
            end = at + length;
        }
        parts.push(doc! { "$slice": [&items, number(end), i32::MAX] }.into());
        let mut fields = doc! { self.spec.items: { "$concatArrays": parts } };
        if let Some(totals) = kept.totals {
            let totals = totals.document(self.spec);
            fields.insert(self.spec.rollup, doc! { "$literal": totals });
        }
        if let Some(newest) = kept.newest {
            fields.insert(NEWEST, newest);
        }
        if kept.grown != 0 {
            let before = doc! { "$ifNull": [format!("${OVERSIZE}"), 0_i64] };
            let grown = doc! { "$add": [before, kept.grown] };
            fields.insert(OVERSIZE, doc! { "$max": [0_i64, grown] });
        }
        fields
    }

    /// The bucket with this id, if it is empty and will stay so.
    pub(crate) fn emptied(&self, id: &str) -> Document {
        let mut filter = self.bucket(id);
        filter.insert(self.spec.count, 0_i32);
        filter.insert(SEALED, doc! { "$exists": true });
        filter
    }
}

impl IndexedScope {
    /// Removes the items, and seals the bucket if it was full, since there must be no second open one. A
    /// bucket that was not open when it was read is sealed in any case: it may have been rewritten
    /// since, for another capacity.
    pub(crate) fn take_out(
        &self,
        places: &Places,
        was_open: bool,
        kept: KeptFields,
    ) -> Vec<Document> {
        let count = format!("${}", self.spec.count);
        let was_full = match was_open {
            true => doc! { "$gte": [&count, self.open.bound()] }.into(),
            false => Bson::Boolean(true),
        };
        let as_it_is = doc! { "$ifNull": [format!("${SEALED}"), "$$REMOVE"] };
        let size = doc! { "$size": format!("${}", self.spec.items) };
        // To a change stream, an append to an empty array looks like the rest of a longer one, except
        // for the type of the count, which the append leaves unchanged.
        let new_count = doc! { "$cond": [{ "$eq": [&size, 0] }, 0_i64, &size] };
        vec![
            doc! { "$set": self.with(places, Vec::new(), kept) },
            doc! { "$set": {
                self.spec.count: new_count,
                SEALED: { "$cond": [was_full, "$_id", as_it_is] },
            } },
        ]
    }
}

/// Whether the expression has this value.
fn is(now: Bson, before: Bson) -> Document {
    doc! { "$eq": [now, { "$literal": before }] }
}

/// The elements of an array from this one on.
fn slice(array: &str, at: usize, length: usize) -> Document {
    match at {
        0 => doc! { "$slice": [array, number(length)] },
        _ => doc! { "$slice": [array, number(at), number(length)] },
    }
}

/// An array is far shorter than 32 bits can count.
fn number(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(i32::MAX)
}
