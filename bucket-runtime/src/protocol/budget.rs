//! How a bucket keeps within its bytes, without anybody who reads them first.

use mongodb::bson::{Document, doc};

use crate::{
    error::Kind,
    protocol::command::KeyScope,
    schema::{
        names::{OVERSIZE, SEALED},
        size::{
            full::ORDINAL,
            layout::{digits, field, signed},
        },
    },
};

/// How the bytes of a key's buckets are shared out.
///
/// A share is set aside for each item that a bucket may hold, of a quarter of the bytes
/// in all. What an item takes beyond its share is added up in the field `oversize`, by the update
/// that appends it and whose filter asks for what is left of the other three quarters. So buckets of
/// small items need no such field, and no bucket exceeds its bytes, in whichever order items come.
/// The first item of a bucket may take all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// How many bytes all elements may take.
    room: i64,
    /// How many of them are set aside for each.
    share: i64,
    /// How many all of them may take beyond their shares.
    pub(crate) most: i64,
    /// How many bytes an element takes in the array besides its own.
    place: i64,
    /// How many bytes the fields take that a bucket gets when it has no room.
    reserve: i64,
    /// How many bytes a bucket may take.
    max: u32,
}

impl Budget {
    /// Nothing if a bucket of the key cannot exceed its bytes.
    pub(crate) fn of(scope: &KeyScope) -> Option<Self> {
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
    pub(crate) fn oversize(&self, bytes: usize) -> i64 {
        (signed(bytes) + self.place - self.share).max(0)
    }

    /// Whether a bucket takes a further item that takes so many bytes beyond its share.
    pub(crate) fn takes(&self, oversize: i64, further: i64) -> bool {
        oversize.saturating_add(further) <= self.most
    }

    /// How many bytes a value of this size takes in the array.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        bytes + usize::try_from(self.place).unwrap_or_default()
    }

    /// Whether elements that take so many bytes in the array are no more than a bucket holds.
    pub(crate) fn holds(&self, bytes: usize) -> bool {
        signed(bytes) <= self.room
    }

    /// Whether a document of this size keeps within a bucket's bytes; one that is not sealed may be
    /// later.
    pub(crate) fn is_document(&self, bytes: usize, sealed: bool) -> bool {
        let reserve = if sealed { 0 } else { self.reserve };
        signed(bytes) + reserve <= i64::from(self.max)
    }

    /// The condition that a bucket takes further items that take so many bytes beyond their shares.
    /// Without the field they have taken none.
    pub(crate) fn leaves(&self, further: i64) -> Document {
        match self.most - further {
            left @ 0.. => doc! { "$not": { "$gt": left } },
            // It has to be the first one of a bucket: there is none that takes it.
            _ => doc! { "$lt": 0_i64 },
        }
    }

    /// An error if no bucket could hold a value of this size.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Kind> {
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
