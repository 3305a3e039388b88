//! The writers' data: items with each ordinal, and values of parents.

use bucket_runtime::{Bucket, Buckets, Filter, Outlier, Upserted, action::Write, bson::DateTime};
use serde::{Deserialize, Serialize};

use crate::{
    check::{Format, Moment},
    history::Item,
};

/// Small, so that new buckets are opened all the time.
const CAPACITY: usize = 5;

pub(crate) const THRESHOLD: usize = 5;
pub(crate) const EXTRAS_CAPACITY: usize = 5;

/// 2023-10-26, noon.
const NOON: i64 = 1_698_321_600_000;

/// An item with a number of its own.
pub(crate) trait Mark: for<'k> Bucket<Key = (i64,)> + Unpin {
    const FORMAT: Format;

    /// Whether `n` is the identity of an item.
    const IS_UNIQUE: bool;

    fn of(k: i64, item: Item) -> Self;
    fn item(&self) -> Item;
    fn set_value(&mut self, value: i64);
    fn numbered(n: i64) -> Filter<Self>;
    fn numbered_as_one_of(numbers: &[i64]) -> Filter<Self>;

    /// `None` if items have no identity.
    fn upsert(&self, buckets: &Buckets<Self>) -> Option<Write<'static, Upserted>>;

    fn new(k: i64, n: i64) -> Self {
        Self::of(k, Item { n, value: n })
    }

    fn n(&self) -> i64 {
        self.item().n
    }
}

macro_rules! upsert {
    ($buckets:ident, $item:ident) => {
        None
    };
    ($buckets:ident, $item:ident, unique) => {
        Some($buckets.upsert_item($item))
    };
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
            value: i64,
        }

        impl Mark for $name {
            const FORMAT: Format = Format { capacity: CAPACITY, moment: $moment };
            const IS_UNIQUE: bool = stringify!($($unique)?).len() > 0;

            /// Several buckets begin in one second, and need ids of their own.
            fn of(k: i64, Item { n, value }: Item) -> Self {
                Self { k, at: DateTime::from_millis(NOON + n / 20 * 1000), n, value }
            }

            fn item(&self) -> Item {
                Item { n: self.n, value: self.value }
            }

            fn set_value(&mut self, value: i64) {
                self.value = value;
            }

            fn numbered(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }

            fn numbered_as_one_of(numbers: &[i64]) -> Filter<Self> {
                Self::FIELDS.n.is_in(numbers.iter().copied())
            }

            #[allow(unused_variables, reason = "items of some structs have no identity")]
            fn upsert(&self, buckets: &Buckets<Self>) -> Option<Write<'static, Upserted>> {
                upsert!(buckets, self $(, $unique)?)
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

/// A parent of numbers.
pub(crate) trait Numbers: for<'k> Outlier<Id = i64, Item = i64> + Unpin {
    fn empty(id: i64) -> Self;
}

macro_rules! parents {
    ($($name:ident($($total:ident)?))+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
        #[outlier(
            collection = "books", extras = "extra_books", reference = "book_id",
            threshold = THRESHOLD, extras_capacity = EXTRAS_CAPACITY,
        )]
        pub(crate) struct $name {
            #[serde(rename = "_id")]
            pub(crate) id: i64,
            #[outlier(items)]
            pub(crate) buyers: Vec<i64>,
            $(
                #[outlier(total)]
                $total: i64,
            )?
        }

        impl Numbers for $name {
            fn empty(id: i64) -> Self {
                Self { id, buyers: Vec::new(), $($total: 0)? }
            }
        }
    )+};
}

parents! {
    Book()
    CountedBook(sold)
}
