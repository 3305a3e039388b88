//! A range of time windows that a caller asks for.

use std::ops::{Bound, RangeBounds};

use mongodb::bson::{DateTime, Document};

use crate::{
    protocol::{
        command::{KeyScope, ring::no_ring},
        time_bounds::TimeBounds,
    },
    schema::spec::BucketSpec,
};

/// The windows that start in a range; by default all.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowRange(Document);

impl WindowRange {
    /// Narrows it to the windows that start in this range.
    pub(crate) fn narrow(&mut self, range: impl RangeBounds<DateTime>) {
        for (bound, including, excluding) in [
            (range.start_bound(), "$gte", "$gt"),
            (range.end_bound(), "$lte", "$lt"),
        ] {
            match bound {
                Bound::Included(start) => self.0.insert(including, *start),
                Bound::Excluded(start) => self.0.insert(excluding, *start),
                Bound::Unbounded => None,
            };
        }
    }

    /// The buckets of these windows, of one key or of all.
    pub(crate) fn buckets(&self, spec: &BucketSpec, scope: Option<&KeyScope>) -> Document {
        let Some(name) = spec.window_name().filter(|_| !self.0.is_empty()) else {
            return scope.map_or_else(no_ring, KeyScope::all);
        };
        let within = |scope: &KeyScope| scope.within(TimeBounds::of_operators(&self.0));
        let mut filter = scope.map_or_else(no_ring, within);
        filter.insert(name, self.0.clone());
        filter
    }
}
