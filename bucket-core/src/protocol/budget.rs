//! How a bucket stays within its bytes without being read first.
//!
//! The filter of an upsert takes no `$expr` and cannot measure the bucket, so the runtime counts
//! here. A quarter of the bytes is divided into equal shares, one for each of the `capacity` items.
//! The update that appends an item adds what the item takes beyond its share to `oversize`, and its
//! filter requires that the other three quarters have that much left. The first item of a bucket
//! may take all of it. So no bucket exceeds its bytes, whatever the order of the items.
//!
//! If a bucket has no room for the next item, the writer seals it and opens the next one; if two
//! writers do so at once, one is refused. `protocol/pack.rs` decides which successive items share a
//! bucket, in statements, imports, changes of the capacity and splits. A load cuts by count and
//! then measures each whole bucket (`write/bulk/measure.rs`). The compiler's proof that a full
//! bucket fits is `const` arithmetic (`schema/size/full.rs`).

#[cfg(test)]
mod tests;

use mongodb::bson::{Document, doc};

use crate::{
    error::Kind,
    protocol::command::IndexedScope,
    schema::{
        names::{OVERSIZE, SEALED},
        size::{
            full::ORDINAL,
            layout::{digits, field, signed},
        },
    },
};

/// How the bytes of a key's buckets are divided.
///
/// A quarter of the bytes is divided into equal shares, one for each item that a bucket may hold.
/// The field `oversize` adds up what items take beyond their shares. The update that appends an
/// item increases it, and its filter requires that the other three quarters have that much left. So
/// buckets of small items need no such field, and no bucket exceeds its bytes, whatever the order
/// of the items. The first item of a bucket may take all of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The bytes for all elements.
    room: i64,
    /// The bytes set aside for each element.
    share: i64,
    /// The most bytes that all elements may take beyond their shares.
    pub most: i64,
    /// The bytes that an element takes in the array in addition to its value.
    place: i64,
    /// The bytes of the fields that a bucket gets once it is sealed or has large items.
    reserve: i64,
    /// The maximum size of a bucket in bytes.
    max: u32,
}

impl Budget {
    /// `None` if a bucket of the key cannot exceed its bytes.
    pub fn of(scope: &IndexedScope) -> Option<Self> {
        let spec = scope.spec;
        let max = scope.max_bytes()?;
        let id = 5 + scope.prefix.len() as u64 + ORDINAL;
        let reserve = field(SEALED, id) + field(OVERSIZE, 8);
        let mut head = 5 + field("_id", id) + reserve;
        head += field(spec.count, 8) + field(spec.items, 5) + spec.kept();
        for (name, part) in spec.key.iter().zip(&scope.parts) {
            head += field(name.name, part.text.len() as u64 + 16);
        }
        let room = signed(u64::from(max).saturating_sub(head));
        let capacity = i64::from(scope.open.capacity);
        let share = room / (4 * capacity);
        Some(Self {
            room,
            share,
            most: room - share * capacity,
            place: signed(2 + digits(scope.open.capacity.into())),
            reserve: signed(reserve),
            max,
        })
    }

    /// How many bytes a value of this size takes beyond its share.
    pub fn oversize(&self, bytes: usize) -> i64 {
        (signed(bytes) + self.place - self.share).max(0)
    }

    /// Whether a bucket has room for a further item with this oversize.
    pub fn takes(&self, oversize: i64, further: i64) -> bool {
        oversize.saturating_add(further) <= self.most
    }

    /// How many bytes a value of this size takes in the array.
    pub fn cost(&self, bytes: usize) -> usize {
        bytes + usize::try_from(self.place).unwrap_or_default()
    }

    /// Whether a bucket can hold elements that take this many bytes in the array.
    pub fn holds(&self, bytes: usize) -> bool {
        signed(bytes) <= self.room
    }

    /// Whether a document of this size stays within a bucket's bytes; one that is not sealed needs
    /// room to be sealed later.
    pub fn is_document(&self, bytes: usize, sealed: bool) -> bool {
        let reserve = if sealed { 0 } else { self.reserve };
        signed(bytes) + reserve <= i64::from(self.max)
    }

    /// The condition that a bucket has room for further items with this oversize. Buckets without
    /// the field have used none of it.
    pub fn leaves(&self, further: i64) -> Document {
        match self.most - further {
            left @ 0.. => doc! { "$not": { "$gt": left } },
            // The item has to be the first of a bucket: no existing bucket has room for it.
            _ => doc! { "$lt": 0_i64 },
        }
    }

    /// An error if no bucket could hold a value of this size.
    pub fn check(&self, bytes: usize) -> Result<(), Kind> {
        let most = (self.room - self.place).max(0);
        match signed(bytes) <= most {
            true => Ok(()),
            false => Err(Kind::ItemTooLarge {
                bytes,
                most,
                max: self.max,
            }),
        }
    }
}
