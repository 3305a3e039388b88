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

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;

    use super::*;
    use crate::schema::{
        key::KeyPart,
        spec::{IdFormat, KeyName, Ordinal},
    };

    const WINDOWS: Ordinal = Ordinal::Window { seconds: 1 };
    const SPEC: BucketSpec = BucketSpec::new(
        "a",
        IdFormat::new("", &["_"], WINDOWS),
        4,
        &[KeyName::new("k")],
    );

    fn at(millis: i64) -> DateTime {
        DateTime::from_millis(millis)
    }

    #[test]
    fn a_range_bounds_the_windows_of_a_key_and_of_all() {
        let key = KeyScope::new(&SPEC, vec![KeyPart::of::<String>("a")]);
        let mut range = WindowRange::default();
        assert_eq!(range.buckets(&SPEC, Some(&key)), key.all());
        assert_eq!(range.buckets(&SPEC, None), no_ring());
        range.narrow((Bound::Excluded(at(1000)), Bound::Included(at(3000))));
        let windows = doc! { "$lte": at(3000), "$gt": at(1000) };
        let mut all = no_ring();
        all.insert("window", windows.clone());
        assert_eq!(range.buckets(&SPEC, None), all);
        let ids = doc! { "_id": { "$gte": "a_0000000001", "$lt": "a_0000000004" }, "k": "a" };
        let mut of_key = ids;
        of_key.insert("window", windows);
        assert_eq!(range.buckets(&SPEC, Some(&key)), of_key);
        range.narrow(at(2000)..at(3000));
        let both = doc! { "$lte": at(3000), "$gt": at(1000), "$gte": at(2000), "$lt": at(3000) };
        assert_eq!(range.0, both);
    }
}
