//! The change of items of one bucket, as pure functions from facts to documents.

use mongodb::bson::{Bson, DateTime, Document, RawBson, RawBsonRef, doc};

use super::{IndexedScope, KeyScope};
use crate::{
    schema::names::{NEWEST, OVERSIZE, SEALED},
    value::{exact::exact, rollup::Totals, unreadable::read_value},
};

/// Items of a bucket, as they were read.
#[derive(Debug)]
pub struct Places {
    /// The bucket's id.
    pub bucket: String,
    /// For each item, the number of items before it in the bucket.
    pub at: Vec<usize>,
    pub stored: StoredItems,
}

/// The elements that an edit has read, and that must be unchanged when it is carried out.
#[derive(Debug)]
pub enum StoredItems {
    /// The elements alone. Changes to other elements do not affect these.
    Elements(Vec<RawBson>),
    /// All elements, since the bucket's rollup is computed from all of them.
    Array(Vec<RawBson>),
}

impl Places {
    /// The items that stand next to each other: the number of items before them, and how many they
    /// are.
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

    /// Whether the items of this array are still as they were read.
    pub fn are_unchanged(&self, array: &str) -> Document {
        let mut tests = match &self.stored {
            StoredItems::Array(elements) => vec![is_array(array.into(), elements)],
            StoredItems::Elements(elements) => {
                let mut rest = elements.as_slice();
                let runs = self.runs().into_iter();
                let tests = runs.map(|(at, length)| {
                    let before;
                    (before, rest) = rest.split_at(length.min(rest.len()));
                    match before {
                        [before] => is(element(array, at).into(), before),
                        _ => is_array(slice(array, at, length).into(), before),
                    }
                });
                tests.collect()
            }
        };
        match tests.len() {
            1 => tests.remove(0),
            _ => doc! { "$and": tests },
        }
    }

    /// The array with these elements in place of the items, or without the items.
    pub fn replaced_in(&self, array: &str, elements: Vec<Bson>) -> Document {
        let mut elements = elements.into_iter();
        let (mut parts, mut end) = (Vec::new(), 0);
        for (at, length) in self.runs() {
            // `$slice` cannot take zero elements.
            if at > end {
                parts.push(slice(array, end, at - end).into());
            }
            let new = elements.by_ref().take(length);
            let new = Vec::from_iter(new.map(|element| doc! { "$literal": element }.into()));
            if !new.is_empty() {
                parts.push(Bson::Array(new));
            }
            end = at + length;
        }
        parts.push(doc! { "$slice": [array, number(end), i32::MAX] }.into());
        doc! { "$concatArrays": parts }
    }
}

/// The fields that a bucket stores about its items, as they are after the change.
#[derive(Debug, Default)]
pub struct KeptFields {
    /// The change in the bytes that items take beyond their shares; negative if they shrink.
    pub grown: i64,
    /// `None` if a sum of all items exceeds 64 bits. The stored rollup then covers no item.
    pub totals: Option<Totals>,
    pub newest: Option<DateTime>,
}

impl KeyScope {
    /// The bucket with this id, if it has the key fields that reads require.
    pub fn bucket(&self, id: &str) -> Document {
        self.with_key(doc! { "_id": id })
    }

    /// The bucket of the items, provided that they are still as they were read.
    pub fn unchanged(&self, places: &Places) -> Document {
        let mut filter = self.bucket(&places.bucket);
        let array = format!("${}", self.spec.items);
        filter.insert("$expr", places.are_unchanged(&array));
        filter
    }

    /// The bucket of the items, provided that they are still as they were read, and all that it
    /// holds, or not all.
    pub fn unchanged_among(&self, places: &Places, are_all: bool) -> Document {
        let mut filter = self.unchanged(places);
        let these = doc! { "$size": number(places.at.len()) };
        let others = doc! { "$not": &these };
        filter.insert(self.spec.items, if are_all { these } else { others });
        filter
    }

    /// Replaces the items with these elements.
    pub fn replace(&self, places: &Places, elements: Vec<Bson>, kept: KeptFields) -> Vec<Document> {
        vec![doc! { "$set": self.with(places, elements, kept) }]
    }

    /// The bucket's fields with these elements in place of the items, or without the items.
    fn with(&self, places: &Places, elements: Vec<Bson>, kept: KeptFields) -> Document {
        let array = format!("${}", self.spec.items);
        let mut fields = doc! { self.spec.items: places.replaced_in(&array, elements) };
        if !self.spec.rollups.is_empty() {
            let totals = kept.totals.unwrap_or_else(|| Totals::new(self.spec));
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
}

impl IndexedScope {
    /// Removes some of the items, and seals the bucket if it was full, since there must be no
    /// second open one. A bucket that was not open when it was read is sealed in any case: a handle
    /// of a former capacity takes an open one for full.
    pub fn take_out(&self, places: &Places, was_open: bool, kept: KeptFields) -> Vec<Document> {
        let count = format!("${}", self.spec.count);
        let was_full = match was_open {
            true => doc! { "$gte": [&count, self.open.bound()] }.into(),
            false => Bson::Boolean(true),
        };
        let as_it_is = doc! { "$ifNull": [format!("${SEALED}"), "$$REMOVE"] };
        let size = doc! { "$size": format!("${}", self.spec.items) };
        vec![
            doc! { "$set": self.with(places, Vec::new(), kept) },
            doc! { "$set": {
                self.spec.count: size,
                SEALED: { "$cond": [was_full, "$_id", as_it_is] },
            } },
        ]
    }
}

/// Whether the expression has this value.
///
/// No command of the driver can carry a document that holds a name twice, so such a document is
/// compared name by name.
fn is(now: Bson, before: &RawBson) -> Document {
    if let Some(before) = exact(before) {
        return is_value(now, before);
    }
    let owned = |value: RawBsonRef<'_>| read_value(value).unwrap_or(RawBson::Null);
    match before {
        RawBson::Document(fields) => {
            let fields = Vec::from_iter(fields.iter().flatten());
            let names = fields.iter().map(|(name, _)| name.to_string());
            let names = Bson::Array(names.map(Bson::String).collect());
            let values = Vec::from_iter(fields.iter().map(|(_, value)| owned(*value)));
            let is_document = doc! { "$eq": [{ "$type": "$$value" }, "object"] };
            let fields = doc! { "$cond": [is_document, "$$value", {}] };
            doc! { "$let": {
                "vars": { "value": now },
                "in": { "$let": {
                    "vars": { "fields": { "$objectToArray": fields } },
                    "in": { "$and": [
                        is_value("$$fields.k".into(), names),
                        is_array("$$fields.v".into(), &values),
                    ] },
                } },
            } }
        }
        RawBson::Array(values) => {
            let values = values.into_iter().flatten().map(owned);
            is_array(now, &Vec::from_iter(values))
        }
        other => is_value(now, Bson::try_from(other.clone()).unwrap_or(Bson::Null)),
    }
}

/// Whether the expression has these values.
fn is_array(now: Bson, before: &[RawBson]) -> Document {
    if let Some(before) = before.iter().map(exact).collect() {
        return is_value(now, Bson::Array(before));
    }
    let numbered = before.iter().enumerate();
    let values = numbered.map(|(at, before)| is(element("$$values", at).into(), before));
    let size = is_value(
        doc! { "$size": "$$values" }.into(),
        number(before.len()).into(),
    );
    let tests = Vec::from_iter(std::iter::once(size).chain(values));
    doc! { "$let": {
        "vars": { "value": now },
        "in": { "$let": {
            "vars": { "values": { "$cond": [{ "$isArray": ["$$value"] }, "$$value", []] } },
            "in": { "$and": tests },
        } },
    } }
}

fn is_value(now: Bson, before: Bson) -> Document {
    doc! { "$eq": [now, { "$literal": before }] }
}

/// The element of an array with this many elements before it.
fn element(array: &str, at: usize) -> Document {
    doc! { "$arrayElemAt": [array, number(at)] }
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
