//! The totals that a read gives.

#[cfg(test)]
mod tests;

use std::{fmt, ops::Deref};

use bucket_core::value::rollup::{RollupReader, Totals};

use crate::Bucket;

/// The totals of a bucket, a key, some time windows, or a whole collection: the number of items,
/// and for each field marked with `#[bucket(sum, min, max)]` a [`FieldRollup`](crate::FieldRollup)
/// under the field's name.
///
/// ```
/// # use bucket_runtime::{Bucket, Rollup};
/// # #[derive(Bucket)]
/// # #[bucket(collection = "trades", id = "{customer}_{#}", capacity = 10)]
/// # struct Trade { customer: i64, #[bucket(sum, min, max)] quantity: i32 }
/// fn show(rollup: &Rollup<Trade>) {
///     println!("{} trades of {} shares", rollup.count(), rollup.quantity.sum());
///     println!("{:?} on average, at most {:?}", rollup.quantity.mean(), rollup.quantity.max());
/// }
/// ```
pub struct Rollup<T: Bucket> {
    count: u64,
    fields: T::Rollups,
}

impl<T: Bucket> Rollup<T> {
    /// The number of items.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The rollup of no items.
    pub(crate) fn empty() -> Option<Self> {
        Self::read(0, Totals::new(&T::SPEC))
    }

    /// `None` if the totals do not fit the fields' types.
    pub(crate) fn read(items: u64, totals: Totals) -> Option<Self> {
        Some(Self {
            count: items,
            fields: RollupReader::read(totals)?,
        })
    }
}

impl<T: Bucket> Deref for Rollup<T> {
    type Target = T::Rollups;

    fn deref(&self) -> &T::Rollups {
        &self.fields
    }
}

impl<T: Bucket> Clone for Rollup<T> {
    fn clone(&self) -> Self {
        Self {
            count: self.count,
            fields: self.fields.clone(),
        }
    }
}

impl<T: Bucket> fmt::Debug for Rollup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rollup")
            .field("count", &self.count)
            .field("fields", &self.fields)
            .finish()
    }
}
