//! The commands on parents and across extras, as pure functions from facts to documents.

pub(crate) mod changed_fields;
mod edit;
mod identity;
mod items;

use bucket_core::{
    error::Kind,
    protocol::{
        budget::Budget,
        command::{IndexedScope, Update, equality, size},
    },
    schema::{
        size::layout::{digits, field, signed},
        spec::OutlierSpec,
    },
    value::element::{count_within, value_size},
};
use mongodb::bson::{Bson, Document, doc};

pub(crate) use self::items::OwnItems;

/// One parent, in the form that commands need.
#[derive(Debug, Clone)]
pub struct ParentScope {
    /// The facts about its struct.
    pub spec: &'static OutlierSpec,
    /// The parent's id as the key of its extras.
    pub extras: IndexedScope,
}

impl ParentScope {
    /// The parent's id, as it is stored.
    pub(crate) fn id(&self) -> &Bson {
        &self.extras.parts[0].value
    }

    /// The parent.
    pub fn parent(&self) -> Document {
        doc! { "_id": equality(self.id()) }
    }

    /// The parent, if it is flagged.
    pub(crate) fn flagged(&self) -> Document {
        let mut filter = self.parent();
        filter.insert(self.spec.flag, true);
        filter
    }

    /// The push into the parent's array, if it has room for these items, and has a total or lacks
    /// one. A total that is missing stays missing: it would not count the items before.
    ///
    /// The filter decides the threshold; nothing is read first.
    pub(crate) fn push(&self, elements: Vec<Bson>, lacks_total: bool) -> Update {
        let mut filter = self.parent();
        filter.insert(self.spec.flag, doc! { "$ne": true });
        filter.insert("$expr", self.has_room(&elements));
        self.exclude(&elements, &mut filter);
        let count = elements.len() as i64;
        let mut update = doc! { "$push": { self.spec.items: { "$each": elements } } };
        match self.spec.total {
            Some(total) if lacks_total => {
                filter.insert(total, doc! { "$not": { "$gte": 0 } });
            }
            Some(total) => {
                filter.insert(total, doc! { "$gte": 0 });
                update.insert("$inc", doc! { total: count });
            }
            None => {}
        }
        Update::new(filter, update)
    }

    /// Flags the parent, if it has no room for the first of these items or is flagged already, and
    /// its array holds none of them.
    pub(crate) fn flag(&self, elements: &[Bson]) -> Update {
        let mut filter = self.parent();
        let has_room = self.has_room(&elements[..elements.len().min(1)]);
        let full = doc! { "$expr": { "$not": [has_room] } };
        filter.insert("$or", vec![doc! { self.spec.flag: true }, full]);
        self.exclude(elements, &mut filter);
        Update::new(filter, doc! { "$set": { self.spec.flag: true } })
    }

    /// The condition that the parent has room for these items. It uses the length and not an index
    /// (`items.49`), since such a path also finds a field `49` of an item.
    fn has_room(&self, elements: &[Bson]) -> Document {
        let room = i64::from(self.spec.threshold) - i64::from(size(elements));
        let by_length = doc! { "$lte": [array_length(self.spec.items), room] };
        if self.spec.is_bounded {
            return by_length;
        }
        let room = i64::from(self.spec.max_bytes) - self.bytes(elements);
        doc! { "$and": [by_length, { "$lte": [{ "$bsonSize": "$$ROOT" }, room] }] }
    }

    /// Counts how many items of these sizes, from the first on, a parent with this length and size
    /// can take.
    pub fn count_fitting(
        &self,
        length: usize,
        bytes: usize,
        sizes: impl IntoIterator<Item = usize>,
    ) -> usize {
        let room = (self.spec.threshold as usize).saturating_sub(length);
        let sizes = sizes.into_iter().take(room);
        if self.spec.is_bounded {
            return sizes.count();
        }
        let left = i64::from(self.spec.max_bytes) - signed(bytes) - self.bytes(&[]);
        let Ok(left) = usize::try_from(left) else {
            return 0;
        };
        count_within(left, sizes.map(|size| self.cost(size)))
    }

    /// Finds the first of these sizes of items that no document can hold: how many come before it,
    /// and why it cannot.
    pub(crate) fn find_misfit(
        &self,
        sizes: impl IntoIterator<Item = usize>,
    ) -> Option<(usize, Kind)> {
        let budget = Budget::of(&self.extras)?;
        let mut sizes = sizes.into_iter().enumerate();
        sizes.find_map(|(n, size)| Some((n, budget.check(size).err()?)))
    }

    /// Counts the bytes that these items add to a parent, which may have neither array nor flag
    /// yet.
    fn bytes(&self, elements: &[Bson]) -> i64 {
        let total = self.spec.total.map_or(0, |total| field(total, 8));
        let fields = field(self.spec.items, 5) + field(self.spec.flag, 1) + total;
        let elements = elements.iter().map(value_size);
        signed(fields as usize + elements.map(|size| self.cost(size)).sum::<usize>())
    }

    /// Counts the bytes that a value of this size takes in the parent's array.
    fn cost(&self, size: usize) -> usize {
        size + 2 + digits(self.spec.threshold.into()) as usize
    }

    /// A projection of a parent's state: its flag, the length of its array, its bytes, whether it
    /// has a total, and which of these items' identities the array holds.
    pub(crate) fn state_fields(&self, elements: &[Bson]) -> Document {
        let mut fields = doc! {
            "_id": 0,
            "flag": format!("${}", self.spec.flag),
            "length": array_length(self.spec.items),
            "bytes": { "$bsonSize": "$$ROOT" },
        };
        if let Some(total) = self.spec.total {
            let total = format!("${total}");
            let has_total = doc! { "$and": [{ "$isNumber": &total }, { "$gte": [&total, 0] }] };
            fields.insert("lacksTotal", doc! { "$not": [has_total] });
        }
        let held = self.held_identities(self.spec.items, elements);
        fields.extend(held.map(|held| ("held".to_owned(), held.into())));
        fields
    }

    /// The extras documents of other programs, as the manual's commands write them: their ids have
    /// neither a digit nor a minus behind our prefix. The index on reference and `_id` answers that
    /// without reading buckets.
    pub(crate) fn foreign_extras(&self) -> Document {
        let mut filter = self.extras.all();
        let [begin, end] = ['-', ':'].map(|end| format!("{}{end}", self.extras.prefix));
        let numbered = doc! { "$gte": begin, "$lt": end };
        filter.insert("_id", doc! { "$not": numbered });
        filter
    }

    /// The stage of a pipeline that subtracts removed items from the total, and changes the flag of
    /// a parent without extras between missing and `false`, so that a change stream shows that the
    /// update is not a push.
    fn mark_change(&self, removed: Option<Bson>) -> Document {
        let flag = format!("${}", self.spec.flag);
        let is_missing = doc! { "$eq": [{ "$type": &flag }, "missing"] };
        let toggled = doc! { "$cond": [is_missing, false, "$$REMOVE"] };
        let mut fields =
            doc! { self.spec.flag: { "$cond": [{ "$eq": [&flag, true] }, true, toggled] } };
        if let (Some(total), Some(removed)) = (self.spec.total, removed) {
            let stored = format!("${total}");
            let count = doc! { "$max": [0_i64, { "$subtract": [&stored, removed] }] };
            // A parent of another program's may have none.
            let none = doc! { "$ifNull": [&stored, "$$REMOVE"] };
            fields.insert(
                total,
                doc! { "$cond": [{ "$isNumber": &stored }, count, none] },
            );
        }
        doc! { "$set": fields }
    }

    /// Adds a number of extras to the total of a flagged parent, unless it lacks one; a negative
    /// number subtracts, unless the total would be negative. `None` if the struct has no total.
    pub(crate) fn add_to_total(&self, items: i64) -> Option<Update> {
        let total = self.spec.total?;
        let mut filter = self.flagged();
        filter.insert(total, doc! { "$gte": (-items).max(0) });
        Some(Update::new(filter, doc! { "$inc": { total: items } }))
    }

    /// Counts the items of the extras: adds up the lengths of their arrays.
    pub fn count_extras(&self) -> [Document; 2] {
        let length = array_length(self.spec.extra_items);
        [
            doc! { "$match": self.extras.all() },
            doc! { "$group": { "_id": null, "items": { "$sum": length } } },
        ]
    }
}

/// The length of an array, 0 where it is missing.
pub fn array_length(name: &str) -> Document {
    let array = format!("${name}");
    doc! { "$cond": [{ "$isArray": [&array] }, { "$size": &array }, 0] }
}
