//! The statements that append to a key's buckets, open buckets and seal them.

use mongodb::bson::{Bson, Document, doc};

use super::{IndexedScope, Update, identity, identity_path};
use crate::{
    protocol::budget::Budget,
    schema::names::{OVERSIZE, SEALED},
    value::rollup::Totals,
};

/// The items that an update appends.
#[derive(Debug)]
pub struct AppendedItems {
    pub elements: Vec<Bson>,
    /// The elements' totals, if the bucket has a rollup.
    pub totals: Option<Totals>,
    /// The bytes that the elements take beyond their shares.
    pub oversize: i64,
}

impl IndexedScope {
    /// The append in one round trip: into the open bucket, or into a new one with this id.
    pub fn append_or_open(&self, items: AppendedItems, new_id: &str) -> Update {
        self.append_to_open(items).or_insert(new_id)
    }

    /// The append into the open bucket, if there is one.
    pub fn append_to_open(&self, items: AppendedItems) -> Update {
        self.append(self.open_bucket(&items, self.ids()), items)
    }

    /// The append into the open bucket as one of several statements. Without an open bucket the
    /// server refuses it (InvalidIdField, 53): the answer to several statements says only how many
    /// of them found a document.
    pub fn append_to_open_or_be_refused(&self, items: AppendedItems) -> Update {
        self.append_to_open(items).or_be_refused()
    }

    /// The append into the bucket with this id. The server refuses it (InvalidIdField, 53, or
    /// ImmutableField, 66) if that bucket is no longer open. Where buckets expire, one that existed
    /// a moment ago may be gone, and a new one needs an id of its own time.
    ///
    /// If a statement of this capacity has filled the bucket before, the server finds it by its id
    /// alone: the open index would lead it past the entries of all buckets that were open within
    /// the last five minutes, and a change of the capacity has sealed the bucket. One that was only
    /// read may be of another capacity.
    ///
    /// Items that fill the bucket, as far as the writer knows, must fill it: if a removal has made
    /// room since, and full buckets followed, later items would go before theirs.
    pub fn append_to_id_or_be_refused(
        &self,
        items: AppendedItems,
        id: &str,
        is_filled: bool,
        is_own: bool,
    ) -> Update {
        let mut filter = self.open_bucket(&items, doc! { "_id": id });
        if is_filled {
            let count = self.open.bound() - size(&items.elements);
            filter.insert(self.spec.count, count);
        }
        let mut append = self.append(filter, items);
        if is_own {
            append.hint = Some("_id_");
        }
        append.or_be_refused()
    }

    /// The append into the bucket with this id, which is opened if it does not exist. If it is full
    /// or sealed the server refuses with E11000 on `_id_`.
    pub fn append_to_id(&self, items: AppendedItems, id: &str) -> Update {
        let filter = self.open_bucket(&items, doc! { "_id": id });
        Update {
            upsert: true,
            ..self.append(filter, items)
        }
    }

    /// Inserts a bucket with this id. If the id is taken the server refuses with E11000 on `_id_`;
    /// if the bucket has room and another one is open, on the open index.
    ///
    /// Its filter matches nothing: no `sealed` is a text before the empty one, so the server asks
    /// the open index for an empty range, and does not look at the key's open buckets. It names
    /// that index all the same, since its name stands for the capacity.
    pub fn insert_bucket(&self, items: AppendedItems, id: &str) -> Update {
        let mut filter = self.open_bucket_anywhere();
        filter.insert(SEALED, doc! { "$lt": "" });
        filter.insert("_id", id);
        Update {
            upsert: true,
            ..self.append(filter, items)
        }
    }

    /// Seals the bucket with this id, which has room by count but not for the next item, or is
    /// empty. It never inserts.
    pub fn seal(&self, id: &str) -> Update {
        let mut filter = self.open_bucket_anywhere();
        filter.insert("_id", id);
        Update {
            hint: Some("_id_"),
            ..Update::new(filter, doc! { "$set": { SEALED: id } })
        }
    }

    /// [`seal`](Self::seal) as one of several statements: refused if the bucket is no longer open.
    pub fn seal_or_be_refused(&self, id: &str) -> Update {
        self.seal(id).or_be_refused()
    }

    /// The open bucket of the key with one of these ids, if it has room for these elements.
    ///
    /// An upsert copies the key's equalities, which gives a new bucket its key fields; they are
    /// part of every write because a collection sharded by the key needs them there. All ids of the
    /// key are those that reads use: an item must not go where no read would find it.
    ///
    /// An empty bucket, which only another program leaves open, takes nothing: a change stream
    /// could not tell the first append to it from a removal (`read/watch/event.rs`). The writer
    /// seals it.
    fn open_bucket(&self, items: &AppendedItems, ids: Document) -> Document {
        let elements = &items.elements;
        let mut filter = self.open_bucket_anywhere();
        filter.extend(ids);
        // The index holds only counts below the capacity, so the filter must stay below it, too.
        let below = self.open.bound() + 1 - size(elements).max(1);
        filter.insert(self.spec.count, doc! { "$lt": below });
        let holds_items = doc! { "$exists": true, "$not": { "$size": 0 } };
        filter.insert(self.spec.items, holds_items);
        if let Some(budget) = Budget::of(self) {
            filter.insert(OVERSIZE, budget.leaves(items.oversize));
        }
        if let Some(field) = self.spec.unique {
            // The unique index compares only items of different buckets.
            let identities = elements
                .iter()
                .filter_map(|element| identity(field, element));
            let others = doc! { "$nin": identities.cloned().collect::<Vec<_>>() };
            filter.insert(identity_path(self.spec.items, field), others);
        }
        filter
    }

    /// The append into the bucket that this filter finds.
    fn append(&self, filter: Document, items: AppendedItems) -> Update {
        let AppendedItems {
            elements,
            totals,
            oversize,
        } = items;
        let mut added = doc! { self.spec.count: size(&elements) };
        if oversize > 0 {
            added.insert(OVERSIZE, oversize);
        }
        // `$each` even for a single element: an element that itself looks like a modifier
        // (`{"$each": …}`, from a flattened map) stays a plain value inside an array.
        let mut update = doc! {
            "$push": { self.spec.items: { "$each": elements } },
            "$inc": added,
        };
        if let Some(totals) = totals {
            totals.add_to(self.spec, &mut update);
        }
        Update {
            // Without the hint the server would try both indexes each time, and a writer that knows
            // another capacity could exceed the collection's.
            hint: Some(self.open.name),
            ..Update::new(filter, update)
        }
    }
}

/// The number of elements in a command, which never exceeds a capacity.
pub fn size(elements: &[Bson]) -> i32 {
    i32::try_from(elements.len()).unwrap_or(i32::MAX)
}
