//! The slots of a key in the open index.
//!
//! The index is unique over the key and `sealed`, so a key has one slot for each value of that field, and
//! at most one open bucket in each. Buckets of an ordinary key are opened in the first slot, without the
//! field. A busy key has a ring: a document that holds all slots but one.

use mongodb::bson::{Bson, Document, doc};

use crate::schema::names::SEALED;

/// How many slots a ring has.
///
/// The server keeps the index entries of a slot's full buckets for five minutes, and an opening passes
/// those of its slot. With this many slots a key may open a thousand buckets a second, and passes about
/// as many entries each time.
pub(crate) const SLOTS: i32 = 256;

/// Whether a bucket is unsealed, as an expression: `sealed` is missing, or the number of a slot.
pub(crate) fn is_unsealed() -> Document {
    let sealed = format!("${SEALED}");
    doc! { "$or": [
        { "$eq": [{ "$type": &sealed }, "missing"] },
        { "$and": [
            { "$eq": [{ "$type": &sealed }, "int"] },
            { "$gt": [&sealed, -SLOTS] },
            { "$lt": [&sealed, 0_i32] },
        ] },
    ] }
}

/// A slot of a key: the value that `sealed` has in a bucket that is open there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct IndexSlot(i32);

impl IndexSlot {
    /// The slot of buckets without the field.
    pub(crate) const FIRST: Self = Self(0);

    /// The slot with this value of `sealed`; `None` if no slot has it: a text seals the bucket.
    pub(crate) fn of_bucket(sealed: Option<&Bson>) -> Option<Self> {
        match sealed {
            None => Some(Self::FIRST),
            Some(Bson::Int32(value)) if (1 - SLOTS..0).contains(value) => Some(Self(*value)),
            Some(_) => None,
        }
    }

    /// The slot that a ring with these values leaves free; `None` if it leaves several, or none.
    pub(crate) fn left_free_by(held: &[Bson]) -> Option<Self> {
        let mut free = Self::all().filter(|slot| !held.contains(&slot.value()));
        match (free.next(), free.next()) {
            (Some(slot), None) => Some(slot),
            _ => None,
        }
    }

    /// The values of all slots but this one.
    pub(crate) fn others(self) -> Vec<Bson> {
        let others = Self::all().filter(|slot| *slot != self);
        others.map(Self::value).collect()
    }

    /// The next slot of the ring.
    pub(crate) fn next(self) -> Self {
        Self((self.0 - 1) % SLOTS)
    }

    /// The value under which the index holds the slot.
    pub(crate) fn value(self) -> Bson {
        match self {
            Self::FIRST => Bson::Null,
            Self(value) => Bson::Int32(value),
        }
    }

    /// The value of `sealed` in a bucket of the slot, if it has the field.
    pub(crate) fn stored(self) -> Option<i32> {
        (self != Self::FIRST).then_some(self.0)
    }

    /// The condition on `sealed` that buckets of the slot satisfy.
    ///
    /// `$exists` and not `null`: an upsert copies an equality into a new bucket, which would then have the
    /// field. A bucket of another slot gets its field in this way.
    pub(crate) fn condition(self) -> Bson {
        match self.stored() {
            None => doc! { "$exists": false }.into(),
            // The array of a ring contains most numbers.
            Some(value) => doc! { "$eq": value, "$not": { "$type": "array" } }.into(),
        }
    }

    /// Whether this value of `sealed` closes a bucket.
    pub(crate) fn is_closed_by(sealed: Option<&Bson>) -> bool {
        Self::of_bucket(sealed).is_none()
    }

    fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(|n| Self(-n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_leaves_one_slot_free() {
        for slot in IndexSlot::all() {
            let held = slot.others();
            assert_eq!(held.len() + 1, SLOTS as usize);
            assert_eq!(IndexSlot::left_free_by(&held), Some(slot));
            assert_eq!(IndexSlot::left_free_by(&held[1..]), None);
        }
    }

    #[test]
    fn the_ring_passes_all_slots() {
        let mut slot = IndexSlot::FIRST;
        for at in 1..=SLOTS {
            slot = slot.next();
            assert_eq!(slot == IndexSlot::FIRST, at == SLOTS, "{slot:?}");
            let stored = slot.stored().map(Bson::from);
            assert_eq!(IndexSlot::of_bucket(stored.as_ref()), Some(slot));
        }
    }

    #[test]
    fn a_text_or_another_number_is_no_slot() {
        for sealed in [
            "1_2".into(),
            Bson::Int32(0),
            Bson::Int32(-SLOTS),
            Bson::Null,
        ] {
            assert_eq!(IndexSlot::of_bucket(Some(&sealed)), None, "{sealed}");
        }
    }
}
