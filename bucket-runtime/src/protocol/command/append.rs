//! The statements that append to a key's buckets, open them and seal them.

use mongodb::bson::{Bson, Document, doc};

use super::{KeyScope, Update, identity, identity_path};
use crate::{
    protocol::budget::Budget,
    schema::names::{OVERSIZE, SEALED},
    value::rollup::Totals,
};

/// What an update appends.
#[derive(Debug)]
pub(crate) struct AppendedItems {
    pub(crate) elements: Vec<Bson>,
    /// What the bucket keeps about these, if it keeps anything.
    pub(crate) totals: Option<Totals>,
    /// How many bytes they take beyond their shares.
    pub(crate) oversize: i64,
}

impl KeyScope {
    /// The append in one round trip: into the open bucket, or into a new one with this id.
    pub(crate) fn append_or_open(&self, items: AppendedItems, new_id: &str) -> Update {
        let filter = self.open_bucket(&items);
        let mut update = self.push(items);
        update.insert("$setOnInsert", doc! { "_id": new_id });
        Update {
            filter,
            update,
            upsert: true,
            hint: Some(self.open.name),
        }
    }

    /// The append into the open bucket, if there is one.
    pub(crate) fn append_to_open(&self, items: AppendedItems) -> Update {
        Update {
            filter: self.open_bucket(&items),
            update: self.push(items),
            upsert: false,
            hint: Some(self.open.name),
        }
    }

    /// The append into the open bucket as a statement among others: if there is none it is refused
    /// (InvalidIdField, 53), since the answer to several statements tells only how many of them
    /// found a document.
    pub(crate) fn append_to_open_or_be_refused(&self, items: AppendedItems) -> Update {
        or_be_refused(self.append_to_open(items))
    }

    /// The append into the bucket with this id, which is refused (InvalidIdField, 53, or
    /// ImmutableField, 66) if that is no longer open: where buckets expire, one that was there a
    /// moment ago may be gone, and a new one needs an id of its own time.
    pub(crate) fn append_to_id_or_be_refused(&self, items: AppendedItems, id: &str) -> Update {
        or_be_refused(self.append_to_id(items, id))
    }

    /// The append into the bucket with this id, which is opened if it does not exist. If it is
    /// full or sealed the server refuses with E11000 on `_id_`.
    pub(crate) fn append_to_id(&self, items: AppendedItems, id: &str) -> Update {
        let mut filter = self.open_bucket(&items);
        filter.insert("_id", id);
        Update {
            filter,
            update: self.push(items),
            upsert: true,
            // Or else the server would try both indexes each time, and take more items than the
            // collection's capacity from who knows another one.
            hint: Some(self.open.name),
        }
    }

    /// Seals the bucket with this id, which has room, but not for the item that comes next. It makes
    /// none.
    pub(crate) fn seal(&self, id: &str) -> Update {
        let mut filter = self.open_bucket_anywhere();
        filter.insert("_id", id);
        Update {
            filter,
            update: doc! { "$set": { SEALED: id } },
            upsert: false,
            hint: Some("_id_"),
        }
    }

    /// The same as a statement among others: it is refused if the bucket is not open any more.
    pub(crate) fn seal_or_be_refused(&self, id: &str) -> Update {
        or_be_refused(self.seal(id))
    }

    /// The open bucket of the key, if it has room for so many elements.
    ///
    /// `$exists` and not `null`: an equality would be copied into a new bucket, which then had the
    /// field. The key's equality is copied, and that is how a new bucket gets its key fields; it
    /// stays in every write because a collection that is sharded by the key needs it there. The
    /// range of ids is what reads ask for: an item must not go where no read would find it.
    fn open_bucket(&self, items: &AppendedItems) -> Document {
        let elements = &items.elements;
        let mut filter = self.open_bucket_anywhere();
        filter.extend(self.ids());
        // The index holds what is below the capacity, so nothing above that may be asked for.
        let below = self.open.bound() + 1 - size(elements).max(1);
        filter.insert(self.spec.count, doc! { "$lt": below });
        if let Some(budget) = Budget::of(self) {
            filter.insert(OVERSIZE, budget.leaves(items.oversize));
        }
        if let Some(field) = self.spec.unique {
            // The unique index compares items of different buckets only.
            let identities = elements
                .iter()
                .filter_map(|element| identity(field, element));
            let others = doc! { "$nin": identities.cloned().collect::<Vec<_>>() };
            filter.insert(identity_path(self.spec, field), others);
        }
        filter
    }

    /// `$each` even for a single element: an element that itself looks like a modifier
    /// (`{"$each": …}`, from a flattened map) stays a plain value inside an array.
    fn push(&self, items: AppendedItems) -> Document {
        let AppendedItems {
            elements,
            totals,
            oversize,
        } = items;
        let mut added = doc! { self.spec.count: size(&elements) };
        if oversize > 0 {
            added.insert(OVERSIZE, oversize);
        }
        let mut update = doc! {
            "$push": { self.spec.items: { "$each": elements } },
            "$inc": added,
        };
        if let Some(totals) = totals {
            totals.add_to(self.spec, &mut update);
        }
        update
    }
}

/// The update, which is refused if it would make a document: that one could have no such id.
fn or_be_refused(mut update: Update) -> Update {
    let impossible = Bson::Array(Vec::new());
    (update.update).insert("$setOnInsert", doc! { "_id": impossible });
    update.upsert = true;
    update
}

/// How many elements a command carries: never more than a capacity.
pub(crate) fn size(elements: &[Bson]) -> i32 {
    i32::try_from(elements.len()).unwrap_or(i32::MAX)
}
