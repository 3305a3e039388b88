//! A range of time windows that a caller asks for.

use std::ops::{Bound, RangeBounds};

use mongodb::bson::{DateTime, Document};

use crate::{
    error::Kind,
    protocol::{command::KeyScope, time_bounds::TimeBounds},
    schema::{
        id,
        spec::{BucketSpec, Ordinal},
    },
};

/// The windows of a range of time; by default all.
#[derive(Debug, Clone, Default)]
pub struct WindowRange {
    /// When the first window starts.
    pub first: Option<DateTime>,
    /// When the last window ends.
    pub end: Option<DateTime>,
    /// A bound that is inside of a window.
    inside: Option<DateTime>,
}

impl WindowRange {
    /// Narrows it to the windows that start in this range.
    pub fn narrow(&mut self, spec: &BucketSpec, range: impl RangeBounds<DateTime>) {
        let millis = |bound: Bound<&DateTime>| bound.map(|bound| bound.timestamp_millis());
        let (first, end) = (millis(range.start_bound()), millis(range.end_bound()));
        let next = |start: i64| match spec.id.ordinal {
            Ordinal::Window { seconds } => start.saturating_add(i64::from(seconds) * 1000),
            _ => start,
        };
        for bound in [first, end] {
            if let Bound::Included(at) | Bound::Excluded(at) = bound {
                let start = id::window_start(spec.id.ordinal, at);
                let inside = start.is_some_and(|start| start != at);
                self.inside = (self.inside).or(inside.then(|| DateTime::from_millis(at)));
            }
        }
        let first = match first {
            Bound::Included(first) => Some(first),
            Bound::Excluded(first) => Some(next(first)),
            Bound::Unbounded => None,
        };
        let end = match end {
            Bound::Included(last) => Some(next(last)),
            Bound::Excluded(end) => Some(end),
            Bound::Unbounded => None,
        };
        self.first = self.first.max(first.map(DateTime::from_millis));
        let ends = self.end.into_iter().chain(end.map(DateTime::from_millis));
        self.end = ends.min();
    }

    /// The buckets of these windows, of one key or of all.
    pub fn buckets(&self, spec: &BucketSpec, scope: Option<&KeyScope>) -> Result<Document, Kind> {
        if let Some(time) = self.inside {
            let time = time.try_to_rfc3339_string().unwrap_or_default();
            return Err(Kind::InsideWindow(time));
        }
        let bounds = [("$gte", self.first), ("$lt", self.end)].into_iter();
        let bounds = bounds.filter_map(|(name, bound)| Some((name.to_owned(), bound?.into())));
        let bounds = Document::from_iter(bounds);
        let Some(name) = spec.window_name().filter(|_| !bounds.is_empty()) else {
            return Ok(scope.map_or_else(Document::new, KeyScope::all));
        };
        let within = |scope: &KeyScope| scope.within(TimeBounds::of_operators(&bounds));
        let mut filter = scope.map_or_else(Document::new, within);
        filter.insert(name, bounds);
        Ok(filter)
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
        assert_eq!(range.buckets(&SPEC, Some(&key)), Ok(key.all()));
        assert_eq!(range.buckets(&SPEC, None), Ok(doc! {}));
        range.narrow(
            &SPEC,
            (Bound::Excluded(at(1000)), Bound::Included(at(3000))),
        );
        let windows = doc! { "$gte": at(2000), "$lt": at(4000) };
        let all = doc! { "window": windows.clone() };
        assert_eq!(range.buckets(&SPEC, None), Ok(all));
        let ids = doc! { "_id": { "$gte": "a_0000000002", "$lt": "a_0000000004" }, "k": "a" };
        let mut of_key = ids;
        of_key.insert("window", windows);
        assert_eq!(range.buckets(&SPEC, Some(&key)), Ok(of_key));
        range.narrow(&SPEC, at(-1000)..at(3000));
        assert_eq!([range.first, range.end], [Some(at(2000)), Some(at(3000))]);
        range.narrow(&SPEC, ..DateTime::MAX);
        assert!(range.buckets(&SPEC, None).is_ok());
        range.narrow(&SPEC, at(2500)..);
        assert!(range.buckets(&SPEC, None).is_err());
    }
}
