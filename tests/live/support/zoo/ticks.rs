//! Items of a number at a time.

use std::fmt::Debug;

use bucket_runtime::{Bucket, Filter, mongodb::bson::DateTime};

/// Common to the structs.
pub(crate) trait Tick:
    for<'k> Bucket<Key = (i64,)> + Clone + PartialEq + Debug + Unpin
{
    /// An item of a moment that all share, so that every further bucket needs another id.
    fn new(k: i64, n: i64) -> Self;
    fn at(self, millis: i64) -> Self;
    fn n(&self) -> i64;
    fn n_is(n: i64) -> Filter<Self>;
}

macro_rules! ticks {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "ticks", id = $id, capacity = $capacity)]
        pub(crate) struct $name {
            k: i64,
            at: DateTime,
            n: i64,
        }

        impl Tick for $name {
            fn new(k: i64, n: i64) -> Self {
                Self { k, at: DateTime::from_millis(1_698_335_223_434), n }
            }

            fn at(self, millis: i64) -> Self {
                Self { at: DateTime::from_millis(millis), ..self }
            }

            fn n(&self) -> i64 {
                self.n
            }

            fn n_is(n: i64) -> Filter<Self> {
                Self::FIELDS.n.eq(n)
            }
        }
    )+};
}

ticks! {
    Seconds1("{k}_{at}", 1)
    Seconds2("{k}_{at}", 2)
    Seconds3("{k}_{at}", 3)
    Seconds10("{k}_{at}", 10)
    Millis1("{k}_{at:millis}", 1)
    Millis2("{k}_{at:millis}", 2)
    Millis3("{k}_{at:millis}", 3)
    Numbered1("{k}_{#}", 1)
    Numbered2("{k}_{#}", 2)
    Numbered3("{k}_{#}", 3)
    Numbered10("{k}_{#}", 10)
    Windows1("{k}_{at/1h}", 1)
    Windows2("{k}_{at/1h}", 2)
    Windows10("{k}_{at/1h}", 10)
    Windows1000("{k}_{at/1h}", 1000)
}
