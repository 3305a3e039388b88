//! The change of a single item, as pure functions from facts to documents.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{IndexedScope, KeyScope};
use crate::{
    schema::names::{NEWEST, OVERSIZE, SEALED},
    value::rollup::Totals,
};

/// An item of a bucket, as it was read.
#[derive(Debug)]
pub(crate) struct Place {
    /// The bucket's id.
    pub(crate) bucket: String,
    /// The number of items before it in the bucket.
    pub(crate) at: usize,
    pub(crate) stored: StoredItem,
}

/// What was read, and must still be the same when the change is carried out.
#[derive(Debug)]
pub(crate) enum StoredItem {
    /// The element alone. Changes to other elements do not affect this one.
    Element(Bson),
    /// All elements, since the bucket's rollup is computed from all of them.
    Array(Vec<Bson>),
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

    /// The bucket of an item, provided that the item is still as it was read.
    pub(crate) fn unchanged(&self, place: &Place) -> Document {
        let items = format!("${}", self.spec.items);
        let (now, before) = match &place.stored {
            StoredItem::Element(element) => {
                let now = doc! { "$arrayElemAt": [items, number(place.at)] };
                (now.into(), element.clone())
            }
            StoredItem::Array(elements) => (Bson::String(items), Bson::Array(elements.clone())),
        };
        let mut filter = self.bucket(&place.bucket);
        filter.insert("$expr", doc! { "$eq": [now, { "$literal": before }] });
        filter
    }

    /// Replaces an item with this element.
    pub(crate) fn replace(&self, place: &Place, element: Bson, kept: KeptFields) -> Vec<Document> {
        vec![doc! { "$set": self.with(place, Some(element), kept) }]
    }

    /// The bucket's fields with this element in place of an item, or without the item.
    fn with(&self, place: &Place, element: Option<Bson>, kept: KeptFields) -> Document {
        let items = format!("${}", self.spec.items);
        let mut parts = Vec::new();
        // `$slice` cannot take zero elements.
        if place.at > 0 {
            parts.push(doc! { "$slice": [&items, number(place.at)] }.into());
        }
        let element = element.map(|element| doc! { "$literal": element });
        parts.extend(element.map(|element| Bson::Array(vec![element.into()])));
        parts.push(doc! { "$slice": [&items, number(place.at + 1), i32::MAX] }.into());
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
    /// Removes an item, and seals the bucket if it was full, since there must be no second open one. A
    /// bucket that was not open when it was read is sealed in any case: it may have been rewritten
    /// since, for another capacity.
    pub(crate) fn take_out(
        &self,
        place: &Place,
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
            doc! { "$set": self.with(place, None, kept) },
            doc! { "$set": {
                self.spec.count: new_count,
                SEALED: { "$cond": [was_full, "$_id", as_it_is] },
            } },
        ]
    }
}

/// An array is far shorter than 32 bits can count.
fn number(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(i32::MAX)
}
