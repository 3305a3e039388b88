//! The writers' data: items with each ordinal, and values of parents.

use bucket_runtime::{Bucket, Filter, Outlier, bson::DateTime};
use serde::{Deserialize, Serialize};

use crate::check::{Format, Moment};

/// Small, so that new buckets are opened all the time.
const CAPACITY: usize = 5;

pub(crate) const THRESHOLD: usize = 5;
pub(crate) const EXTRAS_CAPACITY: usize = 5;

/// 2023-10-26, noon.
const NOON: i64 = 1_698_321_600_000;

/// An item with a number of its own.
pub(crate) trait Mark: for<'k> Bucket<Key = (i64,)> + Unpin {
    const FORMAT: Format;

    fn new(k: i64, n: i64) -> Self;
    fn n(&self) -> i64;
    fn numbered(n: i64) -> Filter<Self>;
}

macro_rules! marks {
    ($($name:ident($id:literal, $moment:expr $(, $unique:ident)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "marks", id = $id, capacity = CAPACITY)]
        pub(crate) struct $name {
            k: i64,
            at: DateTime,
            $(#[bucket($unique)])?
            n: i64,
        }

        impl Mark for $name {
            const FORMAT: Format = Format { capacity: CAPACITY, moment: $moment };

            /// Several buckets begin in one second, and need ids of their own.
            fn new(k: i64, n: i64) -> Self {
                Self { k, at: DateTime::from_millis(NOON + n / 20 * 1000), n }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn numbered(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }
        }
    )+};
}

marks! {
    Seconds("{k}_{at}", Moment::Seconds)
    Millis("{k}_{at:millis}", Moment::Millis)
    Windows("{k}_{at/1m}", Moment::Window(60_000))
    Numbered("{k}_{#}", Moment::Number)
    UniqueSeconds("{k}_{at}", Moment::Seconds, unique)
    UniqueNumbered("{k}_{#}", Moment::Number, unique)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(
    collection = "books",
    extras = "extra_books",
    reference = "book_id",
    threshold = THRESHOLD,
    extras_capacity = EXTRAS_CAPACITY
)]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    pub(crate) id: i64,
    #[outlier(items)]
    pub(crate) buyers: Vec<i64>,
}
