//! A bucket that is inserted with all its items, as a document.

use mongodb::bson::{Bson, DateTime};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    protocol::command::IndexedScope,
    schema::{
        names::{NEWEST, OVERSIZE, SEALED},
        spec::BucketSpec,
    },
    value::rollup::Totals,
};

/// A bucket with all its items. Its fields stand in the order in which an upsert would create them.
pub struct WholeBucket<'b, E> {
    pub scope: &'b IndexedScope,
    pub id: &'b str,
    pub count: usize,
    /// The items as they are stored.
    pub elements: E,
    pub summary: Summary,
    /// The bytes that the items take beyond their shares.
    pub oversize: i64,
    /// Whether it takes no further items although it has room by count.
    pub sealed: bool,
}

/// The fields that a bucket computes from its items, besides their number.
pub struct Summary {
    totals: Totals,
    /// The newest item's time, if buckets expire.
    newest: Option<DateTime>,
}

impl Summary {
    /// The summary of no items.
    pub fn empty(spec: &BucketSpec) -> Self {
        Self {
            totals: Totals::new(spec),
            newest: None,
        }
    }

    /// The summary of items with these times and values; `None` if only the server can compute the
    /// rollup.
    pub fn of(
        spec: &BucketSpec,
        times: impl IntoIterator<Item = Option<DateTime>>,
        rolled: impl IntoIterator<Item = Vec<Option<Bson>>>,
    ) -> Option<Self> {
        Some(Self {
            totals: Totals::of(spec, rolled.into_iter())?,
            newest: spec
                .expire_after
                .and_then(|_| times.into_iter().flatten().max()),
        })
    }
}

impl<E: Serialize> Serialize for WholeBucket<'_, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let spec = self.scope.spec;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("_id", self.id)?;
        for (name, value) in self.scope.fields() {
            map.serialize_entry(name, &value)?;
        }
        let count = i32::try_from(self.count).unwrap_or(i32::MAX);
        map.serialize_entry(spec.count, &count)?;
        map.serialize_entry(spec.items, &self.elements)?;
        if !spec.rollups.is_empty() {
            map.serialize_entry(spec.rollup, &self.summary.totals.document(spec))?;
        }
        if self.sealed {
            map.serialize_entry(SEALED, self.id)?;
        }
        if self.oversize > 0 {
            map.serialize_entry(OVERSIZE, &self.oversize)?;
        }
        if let Some(newest) = self.summary.newest {
            map.serialize_entry(NEWEST, &newest)?;
        }
        map.end()
    }
}
