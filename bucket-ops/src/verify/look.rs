//! The findings about a bucket that need the struct: items that it cannot read, times and rollup
//! values.

use bucket_core::value::unreadable::Unreadable;
use bucket_runtime::{__ops::StoredBucket, Bucket};
use mongodb::bson::{DateTime, RawDocument};

use super::rollup::Values;

/// A bucket as the struct reads it.
#[derive(Default)]
pub(crate) struct Look {
    /// The items that cannot be read.
    pub(super) unreadable: Vec<Unreadable>,
    /// The readable items, where buckets have windows or rollups, or expire.
    pub(super) items: Vec<ItemLook>,
}

/// A readable item's time, and its values in a rollup.
pub(super) struct ItemLook {
    /// The number of items before this one in its bucket.
    pub(super) place: u64,
    pub(super) time: Option<DateTime>,
    /// The item's values in the bucket's rollup.
    pub(super) values: Values,
}

impl Look {
    /// The time of the newest item.
    pub(super) fn newest(&self) -> Option<DateTime> {
        self.items.iter().filter_map(|item| item.time).max()
    }
}

/// Looks at a bucket; nothing is seen in what is not one.
pub(super) fn look<T: Bucket>(bucket: &RawDocument) -> Look {
    let Ok((bucket, unreadable)) = <StoredBucket<T>>::sifted(bucket) else {
        return Look::default();
    };
    let sees_items = T::SPEC.window_name().is_some() || T::SPEC.expire_after.is_some();
    if !sees_items && T::SPEC.rollups.is_empty() {
        let items = Vec::new();
        return Look { unreadable, items };
    }
    let all = bucket.elements.len() + unreadable.len();
    let left_out = bucket.left_out.clone();
    let places = (0..all as u64).filter(|place| left_out.binary_search(place).is_err());
    let items = places.zip(bucket.into_items());
    let items = items.map(|(place, item)| ItemLook {
        place,
        time: item.time(),
        values: item.rollup_values(),
    });
    Look {
        items: items.collect(),
        unreadable,
    }
}
