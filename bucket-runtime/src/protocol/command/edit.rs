//! The change of a single item, as pure functions from facts to documents.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::KeyScope;
use crate::{
    schema::names::{NEWEST, OVERSIZE, SEALED},
    value::rollup::Totals,
};

/// An item of a bucket, as it was read.
#[derive(Debug)]
pub(crate) struct Place {
    /// The bucket's id.
    pub(crate) bucket: String,
    /// How many items come before it in the bucket.
    pub(crate) at: usize,
    pub(crate) stored: StoredItem,
}

/// What was read, and must be the same when it is changed.
#[derive(Debug)]
pub(crate) enum StoredItem {
    /// The element alone. Whatever happens to others of the bucket is none of the change's business.
    Element(Bson),
    /// All elements, since from all of them is computed what the bucket keeps about its items.
    Array(Vec<Bson>),
}

/// What the bucket keeps about its items, as it is after the change.
#[derive(Debug, Default)]
pub(crate) struct KeptFields {
    /// How many bytes more the items take beyond their shares; fewer, if it is below zero.
    pub(crate) grown: i64,
    pub(crate) totals: Option<Totals>,
    pub(crate) newest: Option<DateTime>,
}

impl KeyScope {
    /// The bucket with this id, as reads take it for the key's own.
    pub(crate) fn bucket(&self, id: &str) -> Document {
        self.with_key(doc! { "_id": id })
    }

    /// The bucket of an item, provided that it is as it was read.
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

    /// Puts this element in the place of an item.
    pub(crate) fn replace(&self, place: &Place, element: Bson, kept: KeptFields) -> Vec<Document> {
        vec![doc! { "$set": self.with(place, Some(element), kept) }]
    }

    /// Takes an item out, and seals the bucket if it was full, since a second open one must not come
    /// into being. One that was not open when it was read is sealed in any case: it may have been
    /// rewritten since, for another capacity.
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
        // What is appended to an empty array looks to a change stream like what is left of a longer
        // one, but for the type of the count, which the append leaves as it is.
        let new_count = doc! { "$cond": [{ "$eq": [&size, 0] }, 0_i64, &size] };
        vec![
            doc! { "$set": self.with(place, None, kept) },
            doc! { "$set": {
                self.spec.count: new_count,
                SEALED: { "$cond": [was_full, "$_id", as_it_is] },
            } },
        ]
    }

    /// The fields of the bucket with this element in the place of an item, or with none.
    fn with(&self, place: &Place, element: Option<Bson>, kept: KeptFields) -> Document {
        let items = format!("${}", self.spec.items);
        let mut parts = Vec::new();
        // No slice may be of no elements.
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

    /// The bucket with this id, if it is empty for ever.
    pub(crate) fn emptied(&self, id: &str) -> Document {
        let mut filter = self.bucket(id);
        filter.insert(self.spec.count, 0_i32);
        filter.insert(SEALED, doc! { "$exists": true });
        filter
    }
}

/// An array is far shorter than 32 bits count.
fn number(place: usize) -> i32 {
    i32::try_from(place).unwrap_or(i32::MAX)
}
