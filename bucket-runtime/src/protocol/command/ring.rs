//! The ring of a busy key: a document that holds all slots of the key in the open index but one.
//!
//! The server keeps the index entries of full buckets for its snapshot history, five minutes by default. A search
//! for the open bucket passes those of the key, and so does the check that the entry of a new bucket is unique. A
//! key that opens hundreds of buckets a second would spend most of an append on them.
//!
//! A handle remembers the newest bucket of the keys that it wrote last (`write/engine/memory.rs`), and fills it by
//! its id, with the hint `_id_`: that passes nothing. What it remembers may be out of date. The statement's filter
//! decides, and a refusal leads to the open index (`protocol/next.rs`). Such a statement does not name `bucket_open`, whose name
//! stands for the capacity. So it goes only to collections whose capacity has never changed, and a change of the
//! capacity writes a field `capacity` into all open buckets (`maintain/open/mark.rs`), which those statements
//! exclude. Buckets that are opened later have it from the start.
//!
//! A busy key has a ring. The open index is unique over the key and `sealed`, so a key
//! has a slot for each value of `sealed`: no value, as ordinary buckets are opened, or a number from -1 to -255. The
//! ring is one document that holds all slots but one, since an array has an index entry for each of its values:
//!
//! ```js
//! { _id: "%/123_", customerId: Long(123), count: 0, history: [], sealed: [null, -1, -3, …], opened: Long(41) }
//! ```
//!
//! So there is one slot in which a bucket can be open, by the index alone and whatever a writer believes. Every 64
//! openings the ring turns: its free slot moves on, and the server refuses that while a bucket is open in the old
//! one. Each slot then has its share of the history, one in 256.
//!
//! A writer opens a bucket in a numbered slot only behind a statement of the same command that changes the ring and
//! is refused unless the ring is there and leaves that slot free (`expect_slot`, `turn_ring`). So a ring that is
//! gone, with its collection or in a failover, takes the buckets of its slots with it: what comes later in the
//! oplog depends on it. The statement has to leave a trace, because the server then knows it when the command is
//! sent again. One that only looks would be refused if the ring has turned meanwhile, and would hide that the rest
//! was stored; the model found this. A handle that meets a taken slot without an open bucket reads the ring, and
//! goes on in the free slot.
//!
//! A key gets its ring by chance: once in 1,024 openings of a handle that has opened 64 buckets of it in a row, each
//! less than a second after the last. Where no command carries several updates, behind a `mongos` before 8.0 and on a standalone server, keys
//! get none, and neither do extras of outliers. In the text of a key
//! `%` is followed by two digits, so the id of a ring belongs to no key.

use mongodb::bson::{Bson, Document, doc};

use super::{IndexedScope, KeyScope, Update};
use crate::schema::{id, names::SEALED, slot::IndexSlot};

/// The beginning of the ids of all rings.
pub(crate) const RING: &str = "%/";

/// The field of a ring that counts the openings in slots other than the first.
const OPENED: &str = "opened";

/// The rings of all keys: a range of ids, which the `_id` index answers alone.
pub(crate) fn rings() -> Document {
    doc! { "_id": { "$gte": RING, "$lt": id::successor(RING) } }
}

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
