//! The ring of a busy key: a document that holds all slots of the key in the open index but one.
//!
//! Opening a bucket makes the server pass the index entries of all buckets that were open in the same
//! slot and became full within the last five minutes. So a key that opens many buckets a second moves
//! from slot to slot. The ring keeps the promise of one open bucket: of the slots that it does not hold
//! there is one, and the index is unique.
//!
//! ```js
//! { _id: "%/123_", customerId: Long(123), count: 0, history: [], sealed: [null, -1, -3, …] }
//! ```
//!
//! An array has an index entry for each of its values. In the text of a key `%` is followed by two digits,
//! so the id belongs to no key.

use mongodb::bson::{Bson, Document, doc};

use super::{IndexedScope, KeyScope, Update};
use crate::schema::{names::SEALED, slot::IndexSlot};

/// The beginning of the ids of all rings.
pub(crate) const RING: &str = "%/";

/// The field of a ring that counts the openings in slots other than the first.
const OPENED: &str = "opened";

/// A condition that no ring satisfies, for queries of all keys.
pub(crate) fn no_ring() -> Document {
    doc! { SEALED: { "$not": { "$type": "array" } } }
}

impl KeyScope {
    /// The ring of the key, if it has one.
    pub(crate) fn ring(&self) -> Document {
        let mut filter = self.equalities();
        filter.insert("_id", format!("{RING}{}", self.prefix));
        filter
    }
}

impl IndexedScope {
    /// Gives the key a ring, unless it has one. The first slot stays free, so that an open bucket stays
    /// what it is.
    pub(crate) fn create_ring(&self) -> Update {
        let fields = doc! {
            self.spec.count: 0_i32,
            self.spec.items: [],
            SEALED: IndexSlot::FIRST.others(),
        };
        Update {
            filter: self.ring(),
            update: doc! { "$setOnInsert": fields },
            upsert: true,
            hint: Some("_id_"),
        }
    }

    /// Counts an opening in the ring, if the ring leaves the slot free. It precedes each statement that
    /// opens a bucket in a slot other than the first, which only a ring makes safe.
    ///
    /// If the command is sent again, the server knows by this change that it has carried it out. It would
    /// look again at a ring that was only found, which may have turned since, and would refuse a command
    /// of which it has stored everything.
    pub(crate) fn expect_slot(&self) -> Update {
        self.update_ring(doc! { "$inc": { OPENED: 1_i64 } })
    }

    /// Makes this slot the free one instead of the scope's, if the ring leaves that one free. If a bucket
    /// is open there, the server refuses with E11000 on the open index.
    pub(crate) fn turn_ring(&self, to: IndexSlot) -> Update {
        self.update_ring(doc! { "$set": { SEALED: Bson::Array(to.others()) } })
    }

    fn update_ring(&self, update: Document) -> Update {
        let mut filter = self.ring();
        filter.insert(SEALED, doc! { "$ne": self.slot.value() });
        Update {
            hint: Some("_id_"),
            ..Update::new(filter, update)
        }
    }
}
