//! The commands on parents and across extras, as pure functions from facts to documents.

use mongodb::bson::{Bson, Document, doc};

use crate::{
    KeyPart, OutlierSpec,
    command::{KeyScope, SEALED, Update, equality, size},
};

/// One parent, ready to be put into commands.
#[derive(Debug, Clone)]
pub(crate) struct ParentScope {
    pub(crate) spec: &'static OutlierSpec,
    /// The parent's id as the key of its extras.
    pub(crate) extras: KeyScope,
    id: Bson,
}

impl ParentScope {
    pub(crate) fn new(
        spec: &'static OutlierSpec,
        extras: &'static crate::BucketSpec,
        id: KeyPart,
    ) -> Self {
        Self {
            spec,
            id: id.value.clone(),
            extras: KeyScope::new(extras, vec![id]),
        }
    }

    /// The parent.
    pub(crate) fn parent(&self) -> Document {
        doc! { "_id": equality(&self.id) }
    }

    /// The push into the parent's array, if that has room for so many.
    ///
    /// The threshold is decided in the filter, never read first. It asks for the length and not for
    /// an index (`items.49`), since a path like that also finds a field `49` of an item.
    pub(crate) fn push(&self, elements: Vec<Bson>) -> Update {
        let room = i64::from(self.spec.threshold) - i64::from(size(&elements));
        let mut filter = self.parent();
        filter.insert(self.spec.flag, doc! { "$ne": true });
        filter.insert(
            "$expr",
            doc! { "$lte": [array_length(self.spec.items), room] },
        );
        Update {
            filter,
            update: doc! { "$push": { self.spec.items: { "$each": elements } } },
            upsert: false,
            hint: None,
        }
    }

    /// Flags the parent, if it is full or flagged already.
    pub(crate) fn flag(&self) -> Update {
        let mut filter = self.parent();
        let full = longer_than(self.spec, self.spec.threshold - 1);
        filter.insert("$or", vec![doc! { self.spec.flag: true }, full]);
        Update {
            filter,
            update: doc! { "$set": { self.spec.flag: true } },
            upsert: false,
            hint: None,
        }
    }

    /// A projection that tells a parent's state: its flag, and the length of its array.
    pub(crate) fn state(&self) -> Document {
        doc! { "_id": 0, "flag": format!("${}", self.spec.flag), "length": array_length(self.spec.items) }
    }

    /// All extras documents of the parent, also those that the manual's commands wrote.
    pub(crate) fn all_extras(&self) -> Document {
        doc! { self.spec.reference: equality(&self.id) }
    }

    /// The extras documents that are no pages of ours: the manual's, without a number. The index on
    /// reference and `_id` answers that without a look into the pages.
    pub(crate) fn unnumbered_extras(&self) -> Document {
        let mut filter = self.all_extras();
        for (id, range) in self.extras.all() {
            filter.insert(id, doc! { "$not": range });
        }
        filter
    }

    /// Takes a value out of the parent's array: a filter, and a pipeline.
    ///
    /// Expressions compare whole values. In a query a list, a pattern or an operator would be read
    /// as a condition, and so would be the operand of `$pull`.
    pub(crate) fn pull(&self, value: &Bson) -> (Document, Vec<Document>) {
        let mut filter = self.parent();
        filter.insert("$expr", holds(self.spec.items, value));
        let keep = without(self.spec.items, value);
        (filter, vec![doc! { "$set": { self.spec.items: keep } }])
    }

    /// Takes a value out of every extras document: a filter, and a pipeline that keeps the count
    /// true and seals a page that was full, since a second open page must not come into being.
    pub(crate) fn pull_extras(&self, value: &Bson) -> (Document, Vec<Document>) {
        let array = format!("${}", self.spec.extra_items);
        let mut filter = self.all_extras();
        filter.insert("$expr", holds(self.spec.extra_items, value));
        let keep = without(self.spec.extra_items, value);
        let was_full = doc! { "$gte": ["$count", self.extras.open.bound()] };
        let has_count = doc! { "$ne": [{ "$type": "$count" }, "missing"] };
        // A missing count is less than any number, so a document of the manual's is never sealed.
        let pipeline = vec![
            doc! { "$set": { self.spec.extra_items: keep } },
            doc! { "$set": {
                SEALED: { "$cond": [was_full, "$_id", { "$ifNull": [format!("${SEALED}"), "$$REMOVE"] }] },
                "count": { "$cond": [has_count, { "$size": &array }, "$$REMOVE"] },
            } },
        ];
        (filter, pipeline)
    }

    /// Puts items before those of an extras document.
    pub(crate) fn put_before(&self, id: Bson, items: Vec<Bson>) -> Update {
        let each = doc! { "$each": items, "$position": 0 };
        Update {
            filter: doc! { "_id": id },
            update: doc! { "$push": { self.spec.extra_items: each } },
            upsert: false,
            hint: None,
        }
    }

    /// The lengths of the extras, added up.
    pub(crate) fn count_extras(&self) -> [Document; 2] {
        let length = array_length(self.spec.extra_items);
        [
            doc! { "$match": self.all_extras() },
            doc! { "$group": { "_id": null, "items": { "$sum": length } } },
        ]
    }

    /// Cuts the parent's array at the threshold, and flags it.
    pub(crate) fn cut(&self) -> Update {
        let threshold = capacity_of(self.spec.threshold);
        let keep = doc! { "$each": [], "$slice": threshold };
        Update {
            filter: self.parent(),
            update: doc! { "$push": { self.spec.items: keep }, "$set": { self.spec.flag: true } },
            upsert: false,
            hint: None,
        }
    }

    /// Flags the parent, full or not.
    pub(crate) fn set_flag(&self) -> Update {
        Update {
            filter: self.parent(),
            update: doc! { "$set": { self.spec.flag: true } },
            upsert: false,
            hint: None,
        }
    }
}

/// The parents whose array is longer than this.
pub(crate) fn longer_than(spec: &OutlierSpec, length: u32) -> Document {
    doc! { "$expr": { "$gt": [array_length(spec.items), i64::from(length)] } }
}

/// Whether an array holds a value.
fn holds(name: &str, value: &Bson) -> Document {
    let array = format!("${name}");
    let literal = doc! { "$literal": value.clone() };
    doc! { "$and": [{ "$isArray": [&array] }, { "$in": [literal, &array] }] }
}

/// An array without a value.
fn without(name: &str, value: &Bson) -> Document {
    let unequal = doc! { "$ne": ["$$this", { "$literal": value.clone() }] };
    doc! { "$filter": { "input": format!("${name}"), "cond": unequal } }
}

/// The length of an array, 0 where it is missing.
pub(crate) fn array_length(name: &str) -> Document {
    let array = format!("${name}");
    doc! { "$cond": [{ "$isArray": [&array] }, { "$size": &array }, 0] }
}

fn capacity_of(threshold: u32) -> i32 {
    i32::try_from(threshold).unwrap_or(i32::MAX)
}
