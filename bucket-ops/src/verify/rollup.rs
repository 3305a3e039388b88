//! Whether a stored rollup is the one of a bucket's items.

use std::cmp::Ordering;

use bucket_core::{
    schema::spec::{BucketSpec, RollupName},
    value::{
        number::whole,
        rollup::arithmetic::{add, compare},
    },
};
use mongodb::bson::{Bson, Document};

/// The values of one item: one for each field that buckets summarise.
pub(super) type Values = Vec<Option<Bson>>;

/// A mistake in the rollup of one field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// The server refuses each append, since this value is not what it can add to.
    Blocks { path: String, stored: Bson },
    /// The rollup does not cover all items.
    Incomplete,
    /// This part of the rollup, such as its sum, differs from that of the items.
    Wrong { part: &'static str, stored: Bson },
}

/// The faults of a stored rollup of this many items with these values, field by field.
pub(super) fn faults(
    spec: &BucketSpec,
    stored: Option<&Bson>,
    items: u64,
    values: &[Values],
) -> Vec<(&'static str, Fault)> {
    let fields = spec.rollups.iter().enumerate();
    let faults = fields.filter_map(|(n, field)| {
        let values = Vec::from_iter(values.iter().map(|item| item.get(n)?.as_ref()));
        let fault = match read(spec, field, stored) {
            Ok(stored) => fault(field, stored, items, &values),
            Err((path, stored)) => {
                let stored = stored.clone();
                Some(Fault::Blocks { path, stored })
            }
        };
        fault.map(|fault| (field.name, fault))
    });
    faults.collect()
}

/// The stored rollup of one field; `None` if there is none. The error is a value that the server
/// cannot add to, with its path.
fn read<'s>(
    spec: &BucketSpec,
    field: &RollupName,
    stored: Option<&'s Bson>,
) -> Result<Option<&'s Document>, (String, &'s Bson)> {
    let rollup = match stored {
        None => return Ok(None),
        Some(Bson::Document(rollup)) => rollup,
        Some(other) => return Err((spec.rollup.to_owned(), other)),
    };
    let path = format!("{}.{}", spec.rollup, field.name);
    let of_field = match rollup.get(field.name) {
        None => return Ok(None),
        Some(Bson::Document(of_field)) => of_field,
        Some(other) => return Err((path, other)),
    };
    let added = ["count", "missing", "sum"].into_iter();
    for part in added.filter(|part| field.sum || *part != "sum") {
        if let Some(stored) = of_field.get(part).filter(|stored| !is_number(stored)) {
            return Err((format!("{path}.{part}"), stored));
        }
    }
    Ok(Some(of_field))
}

fn is_number(value: &Bson) -> bool {
    matches!(
        value,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_)
    )
}

fn fault(
    field: &RollupName,
    stored: Option<&Document>,
    items: u64,
    all: &[Option<&Bson>],
) -> Option<Fault> {
    let Some(stored) = stored else {
        return Some(Fault::Incomplete);
    };
    let number = |name| stored.get(name).and_then(whole);
    if number("count").and_then(|count| u64::try_from(count).ok()) != Some(items) {
        return Some(Fault::Incomplete);
    }
    let values: Vec<&Bson> = all.iter().copied().flatten().collect();
    let get = |part| stored.get(part).filter(|stored| **stored != Bson::Null);
    let missing = (all.len() - values.len()) as i64;
    let is_wrong = |part| match part {
        "missing" => get(part).map_or(Some(0), whole) != Some(missing),
        "sum" => field.sum && !is_sum(get(part), &values),
        "min" => field.min && !is_end(get(part), &values, Ordering::Less),
        _ => field.max && !is_end(get(part), &values, Ordering::Greater),
    };
    let part = ["missing", "sum", "min", "max"]
        .into_iter()
        .find(|part| is_wrong(*part))?;
    let stored = stored.get(part).cloned().unwrap_or(Bson::Null);
    Some(Fault::Wrong { part, stored })
}

/// Whether this is the minimum or maximum: one of the values, and none is better. Values that
/// cannot be compared here, such as infinite decimals, do not count as better.
fn is_end(stored: Option<&Bson>, values: &[&Bson], better: Ordering) -> bool {
    let (Some(stored), Some(like)) = (stored, values.first()) else {
        return stored.is_none() && values.is_empty();
    };
    let stored = widened(stored, like);
    values.iter().any(|value| is_same(value, &stored))
        && !(values.iter()).any(|value| compare(value, &stored) == Some(better))
}

/// Whether this is a sum of the values, in whatever order and groups they were added.
fn is_sum(stored: Option<&Bson>, values: &[&Bson]) -> bool {
    let Some((first, others)) = values.split_first() else {
        return stored.is_none_or(|stored| float(stored) == Some(0.0));
    };
    let Some(stored) = stored.map(|stored| widened(stored, first)) else {
        return false;
    };
    match (&stored, first) {
        (Bson::Int64(stored), Bson::Int64(_)) => {
            let sum = values.iter().filter_map(|value| value.as_i64());
            sum.map(i128::from).sum::<i128>() == i128::from(*stored)
        }
        (Bson::Double(_), Bson::Double(_)) => is_near(&stored, values),
        (Bson::Decimal128(_), Bson::Decimal128(_)) => {
            let sum = others
                .iter()
                .try_fold((*first).clone(), |sum, value| add(&sum, value));
            // If not all digits of some partial sum fit, the server has rounded.
            sum.map_or_else(|| is_near(&stored, values), |sum| is_same(&stored, &sum))
        }
        _ => false,
    }
}

/// Whether a number may be the rounded sum of the values. Adding n numbers in any order is wrong by
/// at most n − 1 half units in the last place of the sum of their absolute values, and so is our
/// own sum; a few more are for decimals that become floats.
fn is_near(stored: &Bson, values: &[&Bson]) -> bool {
    let Some(stored) = float(stored) else {
        return false;
    };
    let values: Vec<f64> = values.iter().filter_map(|value| float(value)).collect();
    let finite = values.iter().filter(|value| value.is_finite());
    let size: f64 = finite.map(|value| value.abs()).sum();
    if size.is_infinite() {
        // Partial sums exceed the range in one order and not in another.
        return true;
    }
    let sum: f64 = values.iter().sum();
    if !sum.is_finite() {
        return sum == stored || sum.is_nan() && stored.is_nan();
    }
    let units = values.len() as f64 + 4.0;
    (stored - sum).abs() <= units * f64::EPSILON * size
}

/// A number of the shell, which is 32 bits wide, in the type of the field's values.
fn widened(stored: &Bson, like: &Bson) -> Bson {
    match (stored, like) {
        (Bson::Int32(int), Bson::Int64(_)) => Bson::Int64((*int).into()),
        (Bson::Int32(int), Bson::Double(_)) => Bson::Double((*int).into()),
        (Bson::Int32(int), Bson::Decimal128(_)) => {
            let decimal = int.to_string().parse();
            decimal.map_or_else(|_| stored.clone(), Bson::Decimal128)
        }
        _ => stored.clone(),
    }
}

/// Whether two values of one type are equal, as numbers or as text.
fn is_same(a: &Bson, b: &Bson) -> bool {
    compare(a, b) == Some(Ordering::Equal)
        || a.element_type() == b.element_type() && a.to_string() == b.to_string()
}

fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(int) => Some((*int).into()),
        Bson::Int64(int) => Some(*int as f64),
        Bson::Double(float) => Some(*float),
        Bson::Decimal128(decimal) => {
            let text = decimal.to_string();
            let float: f64 = text.parse().ok()?;
            // A finite decimal may exceed the largest float.
            Some(match text.contains("Inf") {
                true => float,
                false => float.clamp(f64::MIN, f64::MAX),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bucket_core::{
        schema::spec::{IdFormat, KeyName, Ordinal},
        value::rollup::Totals,
    };
    use mongodb::bson::{DateTime, doc};
    use proptest::prelude::*;

    use super::*;

    const SPEC: BucketSpec = BucketSpec::new(
        "readings",
        IdFormat::new("", &["_"], Ordinal::Number),
        10,
        &[KeyName::new("key")],
    )
    .rollups(&[RollupName::new("n").sum().min().max()]);

    fn fault_of(stored: Bson, values: &[Bson]) -> Option<Fault> {
        let all: Vec<_> = values
            .iter()
            .map(|value| vec![Some(value.clone())])
            .collect();
        let mut faults = faults(&SPEC, Some(&stored), all.len() as u64, &all);
        faults.pop().map(|(_, fault)| fault)
    }

    fn stored(sum: impl Into<Bson>, min: impl Into<Bson>, max: impl Into<Bson>) -> Bson {
        doc! { "n": { "count": 2, "sum": sum.into(), "min": min.into(), "max": max.into() } }.into()
    }

    fn wrong(part: &'static str, stored: impl Into<Bson>) -> Option<Fault> {
        let stored = stored.into();
        Some(Fault::Wrong { part, stored })
    }

    #[test]
    fn each_part_is_that_of_the_values() {
        let values = [Bson::Int64(3), Bson::Int64(5)];
        let of = |sum: i64, min: i64, max: i64| fault_of(stored(sum, min, max), &values);
        assert_eq!(of(8, 3, 5), None);
        assert_eq!(of(9, 3, 5), wrong("sum", 9_i64));
        assert_eq!(of(8, 2, 5), wrong("min", 2_i64));
        assert_eq!(of(8, 3, 6), wrong("max", 6_i64));
        assert_eq!(of(8, 5, 5), wrong("min", 5_i64));
        // The shell may write 32-bit integers, which the struct can read; it cannot read floats or
        // text.
        assert_eq!(fault_of(stored(8, 3, 5), &values), None);
        let doubles = [Bson::Double(3.0), Bson::Double(5.0)];
        assert_eq!(fault_of(stored(8, 3, 5), &doubles), None);
        let decimals = ["3", "5"].map(|text| Bson::Decimal128(text.parse().unwrap()));
        assert_eq!(fault_of(stored(8, 3, 5), &decimals), None);
        assert_eq!(fault_of(stored(8.0, 3, 5), &values), wrong("sum", 8.0));
        assert_eq!(fault_of(stored(8, "3", 5), &values), wrong("min", "3"));
        assert_eq!(
            fault_of(stored(8, 3, Bson::Null), &values),
            wrong("max", Bson::Null)
        );
    }

    #[test]
    fn a_value_to_which_the_server_cannot_add_blocks_the_bucket() {
        let blocks = |path: &str, stored: Bson| {
            let path = path.to_owned();
            Some(Fault::Blocks { path, stored })
        };
        for (stored, path, value) in [
            (Bson::Null, "rollup", Bson::Null),
            (doc! { "n": 3 }.into(), "rollup.n", 3.into()),
            (
                doc! { "n": { "count": "x" } }.into(),
                "rollup.n.count",
                "x".into(),
            ),
            (
                doc! { "n": { "count": 1, "sum": Bson::Null } }.into(),
                "rollup.n.sum",
                Bson::Null,
            ),
            (
                doc! { "n": { "missing": [] } }.into(),
                "rollup.n.missing",
                Bson::Array(vec![]),
            ),
        ] {
            assert_eq!(fault_of(stored, &[Bson::Int64(1)]), blocks(path, value));
        }
        // A sum that is not kept is not added to.
        let ends = SPEC.rollups(const { &[RollupName::new("n").min()] });
        let of = |part| faults(&ends, Some(&doc! { "n": { part: "x" } }.into()), 0, &[]);
        assert!(matches!(&of("count")[..], [(_, Fault::Blocks { .. })]));
        assert!(!matches!(&of("sum")[..], [(_, Fault::Blocks { .. })]));
        assert_eq!(faults(&SPEC, None, 0, &[]), [("n", Fault::Incomplete)]);
        let fewer = doc! { "n": { "count": 1, "sum": 1 } };
        assert_eq!(fault_of(fewer.into(), &[]), Some(Fault::Incomplete));
    }

    #[test]
    fn nothing_has_no_ends_and_no_sum_or_zero() {
        let of = |stored: Document| fault_of(doc! { "n": stored }.into(), &[]);
        assert_eq!(of(doc! { "count": 0 }), None);
        assert_eq!(of(doc! { "count": 0, "sum": 0 }), None);
        assert_eq!(of(doc! { "count": 0, "sum": 0_i64 }), None);
        assert_eq!(of(doc! { "count": 0, "sum": 1 }), wrong("sum", 1));
        assert_eq!(of(doc! { "count": 0, "max": 1 }), wrong("max", 1));
        assert_eq!(of(doc! { "count": 0, "missing": 1 }), wrong("missing", 1));
    }

    #[test]
    fn what_is_not_finite_is_compared_as_the_server_does() {
        let inf = f64::INFINITY;
        for (values, sum, min, max) in [
            ([f64::NAN, 1.0], f64::NAN, f64::NAN, 1.0),
            ([inf, -inf], f64::NAN, -inf, inf),
            ([inf, 1.0], inf, 1.0, inf),
            ([f64::MAX, f64::MAX], inf, f64::MAX, f64::MAX),
            ([0.0, -0.0], 0.0, 0.0, -0.0),
        ] {
            let values = values.map(Bson::Double);
            assert_eq!(fault_of(stored(sum, min, max), &values), None, "{values:?}");
        }
        let values = [Bson::Double(inf), Bson::Double(1.0)];
        assert_eq!(fault_of(stored(1.0, 1.0, inf), &values), wrong("sum", 1.0));
        assert!(fault_of(stored(f64::NAN, 1.0, inf), &values).is_some());
        let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
        for (a, b, sum, min, max) in [
            ("0.10", "0.2", "0.3", "0.1", "0.20"),
            (
                "1E+40",
                "1",
                "1.000000000000000000000000000000000E+40",
                "1",
                "1E+40",
            ),
            ("NaN", "1", "NaN", "NaN", "1"),
            ("-Infinity", "1E+400", "-Infinity", "-Infinity", "1E+400"),
        ] {
            let stored = stored(decimal(sum), decimal(min), decimal(max));
            assert_eq!(
                fault_of(stored, &[decimal(a), decimal(b)]),
                None,
                "{a} and {b}"
            );
        }
        let one_more = stored(decimal("0.31"), decimal("0.1"), decimal("0.2"));
        let values = [decimal("0.1"), decimal("0.2")];
        assert_eq!(fault_of(one_more, &values), wrong("sum", decimal("0.31")));
        let times = [5, 7].map(|millis| Bson::DateTime(DateTime::from_millis(millis)));
        let ends = doc! { "n": { "count": 2, "min": times[0].clone(), "max": times[1].clone() } };
        assert_eq!(fault_of(ends.into(), &times), wrong("sum", Bson::Null));
    }

    /// Adds floats in groups, as batches of several writers do.
    fn in_groups(values: &[f64], ends: &[usize]) -> f64 {
        let mut ends: Vec<_> = ends.iter().map(|end| end % (values.len() + 1)).collect();
        ends.extend([0, values.len()]);
        ends.sort_unstable();
        let groups = ends
            .windows(2)
            .map(|ends| values[ends[0]..ends[1]].iter().sum::<f64>());
        groups.sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_sum_of_floats_is_right_in_any_groups_and_wrong_by_a_value(
            values in proptest::collection::vec(-1e12..1e12_f64, 1..40),
            ends in proptest::collection::vec(0..1000_usize, 0..6),
        ) {
            let all: Vec<_> = values.iter().map(|value| Bson::Double(*value)).collect();
            let all: Vec<_> = all.iter().collect();
            let sum = in_groups(&values, &ends);
            prop_assert!(is_sum(Some(&sum.into()), &all));
            let backwards = values.iter().rev().sum::<f64>();
            prop_assert!(is_sum(Some(&backwards.into()), &all));
            let off = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            prop_assert!(!is_sum(Some(&(sum + off).into()), &all));
        }

        #[test]
        fn what_the_library_writes_is_right(
            values in proptest::collection::vec(proptest::option::of(any::<i32>()), 0..20),
        ) {
            let values: Vec<Values> = values.iter()
                .map(|value| vec![value.map(|value| Bson::Int64(value.into()))])
                .collect();
            let totals = Totals::of(&SPEC, values.iter().cloned()).unwrap();
            let stored = Bson::Document(totals.document(&SPEC));
            prop_assert_eq!(faults(&SPEC, Some(&stored), values.len() as u64, &values), []);
        }
    }
}
