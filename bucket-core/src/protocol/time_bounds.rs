//! The times that a condition allows, and the windows that cover them.
//!
//! For writing, a window is one more part of the key: `KeyScope::at` adds its start to the key's
//! fields and to the prefix of its ids. So the open index is `{ key…, window, sealed }`, queues and
//! loads go by window, and a window's buckets are counted as with `{#}`. For reading there are only
//! keys; this module takes the times from a filter, and bounds the ids with them. The filter of the
//! open index has a bound on the window field that excludes nothing, and shows the length of the
//! windows to the next opening. A TTL index over `newest` removes buckets; the update that appends
//! keeps this time of the newest item (`$max`).

use mongodb::bson::{Bson, DateTime, Document, doc};

use crate::{
    protocol::{command::KeyScope, filter::Node},
    schema::{
        id,
        spec::{BucketSpec, Ordinal},
    },
};

/// Two moments, both included, in milliseconds. An unbounded side is the limit of the number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBounds {
    from: i64,
    to: i64,
}

impl TimeBounds {
    const ALWAYS: Self = Self {
        from: i64::MIN,
        to: i64::MAX,
    };

    /// The time span of all matching items: necessary, but not sufficient. Only windows can use it,
    /// since the id of any other bucket does not bound the times of all its items.
    pub(crate) fn of(filter: &Node, spec: &BucketSpec) -> Self {
        match (spec.window_name(), spec.time) {
            (Some(_), Some(time)) => Self::of_node(filter, time),
            _ => Self::ALWAYS,
        }
    }

    fn of_node(node: &Node, time: &str) -> Self {
        let each =
            |nodes: &[Node]| Vec::from_iter(nodes.iter().map(|node| Self::of_node(node, time)));
        match node {
            Node::Leaf(leaf) if leaf.is_date && leaf.name == time => Self::of_operators(&leaf.test),
            Node::Leaf(_) | Node::Not(_) => Self::ALWAYS,
            Node::And(nodes) => each(nodes).into_iter().fold(Self::ALWAYS, Self::both),
            Node::Or(nodes) => each(nodes)
                .into_iter()
                .reduce(Self::either)
                .unwrap_or(Self::ALWAYS),
        }
    }

    /// The span of the moments that satisfy these operators.
    pub(crate) fn of_operators(test: &Document) -> Self {
        let operators = test.iter().map(|(operator, operand)| {
            let moments = match operand {
                Bson::DateTime(date) => vec![date.timestamp_millis()],
                Bson::Array(dates) if operator == "$in" => {
                    let millis = |date: &Bson| Some(date.as_datetime()?.timestamp_millis());
                    dates
                        .iter()
                        .map(millis)
                        .collect::<Option<_>>()
                        .unwrap_or_default()
                }
                _ => Vec::new(),
            };
            let (first, last) = (moments.iter().min(), moments.iter().max());
            let (Some(&first), Some(&last)) = (first, last) else {
                return Self::ALWAYS;
            };
            match operator.as_str() {
                "$eq" | "$in" => Self {
                    from: first,
                    to: last,
                },
                "$gt" => Self::since(first.saturating_add(1)),
                "$gte" => Self::since(first),
                "$lt" => Self::until(last.saturating_sub(1)),
                "$lte" => Self::until(last),
                _ => Self::ALWAYS,
            }
        });
        operators.fold(Self::ALWAYS, Self::both)
    }

    fn since(from: i64) -> Self {
        Self {
            from,
            ..Self::ALWAYS
        }
    }

    fn until(to: i64) -> Self {
        Self { to, ..Self::ALWAYS }
    }

    fn both(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            to: self.to.min(other.to),
        }
    }

    fn either(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            to: self.to.max(other.to),
        }
    }

    /// The times that a condition allows, if it is about nothing else.
    fn of_times_alone(node: &Node, time: &str) -> Option<Self> {
        const BOUNDS: [&str; 4] = ["$gt", "$gte", "$lt", "$lte"];
        match node {
            Node::Leaf(leaf) if leaf.is_date && leaf.name == time => {
                let is_bound = |(operator, operand): (&String, &Bson)| {
                    BOUNDS.contains(&operator.as_str()) && operand.as_datetime().is_some()
                };
                (leaf.test.iter().all(is_bound)).then(|| Self::of_operators(&leaf.test))
            }
            Node::And(nodes) => {
                let each = nodes.iter().map(|node| Self::of_times_alone(node, time));
                each.reduce(|a, b| Some(a?.both(b?)))?
            }
            _ => None,
        }
    }

    /// A condition on the start of a bucket's window that holds only if all items of the window
    /// match; `None` if the filter is about more than the time.
    pub fn whole_windows(filter: &Node, spec: &BucketSpec) -> Option<Document> {
        let (Ordinal::Window { seconds }, Some(time)) = (spec.id.ordinal, spec.time) else {
            return None;
        };
        let Self { from, to } = Self::of_times_alone(filter, time)?;
        let last = to.saturating_sub(i64::from(seconds) * 1000 - 1);
        let bounds = [("$gte", from), ("$lte", last)];
        let bounds = bounds.map(|(name, at)| (name.to_owned(), DateTime::from_millis(at).into()));
        Some(doc! { spec.window: Document::from_iter(bounds) })
    }

    /// A condition on the start of a bucket's window; `None` if any window will do.
    pub(crate) fn windows(self, spec: &BucketSpec) -> Option<Document> {
        let name = spec.window_name()?;
        let start = id::window_start(spec.id.ordinal, self.from);
        let start = start.map(|start| ("$gte".to_owned(), DateTime::from_millis(start).into()));
        let end = (self.to < i64::MAX).then(|| DateTime::from_millis(self.to));
        let end = end.map(|end| ("$lte".to_owned(), Bson::from(end)));
        let bounds: Document = start.into_iter().chain(end).collect();
        (!bounds.is_empty()).then(|| doc! { name: bounds })
    }
}

impl KeyScope {
    /// The buckets of the key whose windows overlap this span: a range of ids.
    pub(crate) fn within(&self, span: TimeBounds) -> Document {
        let id = |millis| id::time(self.spec.id.ordinal, millis).map(|text| self.id(&text));
        let mut all = self.all();
        if let Ok(ids) = all.get_document_mut("_id")
            && self.spec.window_name().is_some()
        {
            ids.extend(id(span.from).map(|first| ("$gte".to_owned(), first.into())));
            ids.extend(id(span.to).map(|last| ("$lt".to_owned(), id::successor(&last).into())));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::{field::Field, filter::Filter},
        schema::spec::{IdFormat, KeyName},
    };

    const SPEC: BucketSpec = BucketSpec::new(
        "readings",
        IdFormat::new("", &["_"], Ordinal::Window { seconds: 3600 }),
        4,
        &[KeyName::new("k")],
    )
    .time("at");

    const AT: Field<(), DateTime, crate::protocol::field::Date> = Field::date("at");

    fn at(millis: i64) -> DateTime {
        DateTime::from_millis(millis)
    }

    fn span(filter: Filter<()>) -> (i64, i64) {
        let TimeBounds { from, to } = TimeBounds::of(&filter.node, &SPEC);
        (from, to)
    }

    #[test]
    fn conditions_on_the_time_bound_the_span() {
        let (min, max) = (i64::MIN, i64::MAX);
        assert_eq!(span(Filter::default()), (min, max));
        assert_eq!(span(AT.between(at(3)..at(9))), (3, 8));
        assert_eq!(span(AT.eq(at(3))), (3, 3));
        assert_eq!(span(AT.is_in([at(5), at(3)])), (3, 5));
        assert_eq!(span(AT.is_in(Vec::<DateTime>::new())), (min, max));
        assert_eq!(span(AT.gt(at(3)).and(AT.lte(at(4)))), (4, 4));
        assert_eq!(span(AT.eq(at(3)).or(AT.gte(at(7)))), (3, max));
        assert_eq!(span(!AT.gte(at(7))), (min, max));
        assert_eq!(span(AT.exists(true)), (min, max));
        assert_eq!(span(AT.is(doc! { "$gt": [at(3)] })), (min, max));
        // Other fields prove nothing, and a field that another function writes need not be a date.
        let other: Field<(), DateTime, crate::protocol::field::Date> = Field::date("end");
        assert_eq!(span(other.eq(at(3))), (min, max));
        let custom: Field<(), i64> = Field::new("at");
        assert_eq!(span(custom.eq(3)), (min, max));
        assert_eq!(span(custom.eq(3).or(AT.eq(at(3)))), (min, max));
    }

    #[test]
    fn a_window_matches_as_a_whole_if_all_of_its_moments_do() {
        let hours = |filter: Filter<()>| TimeBounds::whole_windows(&filter.node, &SPEC);
        let (hour, min, max) = (3_600_000, i64::MIN, i64::MAX);
        let starts = |from, to| Some(doc! { "window": { "$gte": at(from), "$lte": at(to) } });
        // The last moment of the second window is in it, or is not.
        assert_eq!(hours(AT.between(at(0)..at(2 * hour))), starts(0, hour));
        assert_eq!(
            hours(AT.between(at(1)..at(2 * hour - 1))),
            starts(1, hour - 1)
        );
        assert_eq!(hours(AT.gte(at(hour))), starts(hour, max - hour + 1));
        assert_eq!(hours(AT.lt(at(hour))), starts(min, 0));
        assert_eq!(hours(AT.gte(at(0)).and(AT.lt(at(hour)))), starts(0, 0));
        // About more than the time, or about single moments.
        let custom: Field<(), i64> = Field::new("at");
        let other: Field<(), DateTime, crate::protocol::field::Date> = Field::date("end");
        for filter in [
            Filter::default(),
            AT.gte(at(0)).and(custom.eq(3)),
            other.gte(at(0)),
            AT.gte(at(0)).or(AT.lt(at(9))),
            !AT.gte(at(0)),
            AT.eq(at(0)),
            AT.gte(at(0)).and(AT.ne(at(7))),
            AT.is(doc! { "$gte": at(0), "$type": "date" }),
            AT.is(doc! { "$gte": 7 }),
        ] {
            assert_eq!(hours(filter), None);
        }
        let numbers = IdFormat::new("", &["_"], Ordinal::Number);
        let numbered = BucketSpec {
            id: numbers,
            ..SPEC
        };
        assert_eq!(
            TimeBounds::whole_windows(&AT.gte(at(0)).node, &numbered),
            None
        );
    }

    #[test]
    fn windows_are_bounded_on_the_sides_that_the_span_is() {
        let windows = |filter: Filter<()>| TimeBounds::of(&filter.node, &SPEC).windows(&SPEC);
        let hour = 3_600_000;
        // The window of the first moment begins before it.
        assert_eq!(
            windows(AT.gte(at(hour + 7))),
            Some(doc! { "window": { "$gte": at(hour) } })
        );
        assert_eq!(
            windows(AT.lte(at(hour + 7))),
            Some(doc! { "window": { "$lte": at(hour + 7) } })
        );
    }

    #[test]
    fn a_span_without_end_is_bounded_by_nothing() {
        let scope = KeyScope::new(&SPEC, vec![crate::schema::key::KeyPart::of::<String>("a")]);
        assert_eq!(scope.within(TimeBounds::ALWAYS), scope.all());
        assert_eq!(TimeBounds::ALWAYS.windows(&SPEC), None);
    }
}
