//! Items of a text at a time.

use std::fmt::Debug;

use bucket_runtime::{Bucket, mongodb::bson::DateTime};

/// Common to the structs.
pub(crate) trait Entry: Bucket<Key = (String,)> + Clone + PartialEq + Debug {
    /// An item of a moment that all share, so that every further bucket needs another id.
    fn new(k: &str, n: i64) -> Self;
    fn at(self, millis: i64) -> Self;
    fn n(&self) -> i64;
}

macro_rules! entries {
    ($($name:ident($id:literal, $capacity:literal))+) => {$(
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "entries", id = $id, capacity = $capacity)]
        pub(crate) struct $name {
            k: String,
            at: DateTime,
            n: i64,
        }

        impl Entry for $name {
            fn new(k: &str, n: i64) -> Self {
                Self { k: k.to_owned(), at: DateTime::from_millis(1_698_335_223_434), n }
            }

            fn at(self, millis: i64) -> Self {
                Self { at: DateTime::from_millis(millis), ..self }
            }

            fn n(&self) -> i64 {
                self.n
            }
        }
    )+};
}

entries! {
    Seconds3("{k}_{at}", 3)
    Seconds10("{k}_{at}", 10)
    Numbered3("{k}_{#}", 3)
    Numbered10("{k}_{#}", 10)
}
