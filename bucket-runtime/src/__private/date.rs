//! Reads an item's time.

use bucket_core::schema::time::{TimeField, bson_date};
use serde::{Deserialize, Deserializer};

/// A time that is read from a BSON date. Next to `#[serde(with = …)]` it saves compile time.
#[derive(Debug)]
pub struct Date<T>(pub T);

impl<'de, T: TimeField> Deserialize<'de> for Date<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bson_date::deserialize(deserializer).map(Self)
    }
}
