//! The totals that a bucket stores about its items: adding items, writing and reading.

use std::cmp::Ordering;

use mongodb::bson::{Bson, Document, doc};

use super::arithmetic::{add, compare};
use crate::{
    schema::spec::{BucketSpec, RollupName},
    value::number::whole,
};

/// The totals of some items, field by field.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    fields: Vec<FieldTotals>,
}

/// The totals of one field.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FieldTotals {
    /// The number of items.
    pub(super) count: i64,
    /// The number of items without a value.
    pub(super) missing: i64,
    pub(super) sum: Option<Bson>,
    pub(super) min: Option<Bson>,
    pub(super) max: Option<Bson>,
}

const COUNT: &str = "count";
const MISSING: &str = "missing";

impl Totals {
    pub fn new(spec: &BucketSpec) -> Self {
        Self {
            fields: vec![FieldTotals::default(); spec.rollups.len()],
        }
    }

    /// The totals of items with these values; `None` if only the server can compute them exactly.
    pub fn of(
        spec: &BucketSpec,
        mut values: impl Iterator<Item = Vec<Option<Bson>>>,
    ) -> Option<Self> {
        let mut totals = Self::new(spec);
        let are_taken = spec.rollups.is_empty() || values.all(|values| totals.take(spec, &values));
        are_taken.then_some(totals)
    }

    /// Adds the values of one more item, and returns whether it could. If the exact sum cannot be
    /// computed here, nothing changes.
    pub fn take(&mut self, spec: &BucketSpec, values: &[Option<Bson>]) -> bool {
        let fields = self.fields.iter().zip(spec.rollups).zip(values);
        let with = fields.map(|((totals, field), value)| totals.with(field, value.as_ref()));
        match with.collect() {
            Some(with) => {
                self.fields = with;
                true
            }
            None => false,
        }
    }

    /// Adds the operators for these items to an update.
    pub fn add_to(&self, spec: &BucketSpec, update: &mut Document) {
        for (field, totals) in spec.rollups.iter().zip(&self.fields) {
            for (operator, name, value) in totals.stored() {
                let operator = update
                    .entry(operator.to_owned())
                    .or_insert_with(|| doc! {}.into());
                if let Bson::Document(operands) = operator {
                    operands.insert(format!("{}.{}.{name}", spec.rollup, field.name), value);
                }
            }
        }
    }

    /// The rollup as a new bucket stores it.
    pub fn document(&self, spec: &BucketSpec) -> Document {
        let fields = spec.rollups.iter().zip(&self.fields);
        let stored = fields.map(|(field, totals)| {
            let stored = totals.stored();
            let stored = stored.map(|(_, name, value)| (name.to_owned(), value));
            (field.name.to_owned(), Document::from_iter(stored).into())
        });
        stored.collect()
    }

    /// The stored totals, if they cover all items of the bucket.
    pub fn read(spec: &BucketSpec, stored: &Document, items: u64) -> Option<Self> {
        let fields = spec.rollups.iter().map(|field| {
            let totals = FieldTotals::read(field, stored.get_document(field.name).ok()?);
            (u64::try_from(totals.count) == Ok(items)).then_some(totals)
        });
        let fields = fields.collect::<Option<_>>()?;
        Some(Self { fields })
    }

    /// Whether these are the same totals, but for the last digits of sums of floats.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let pairs = self.fields.iter().zip(&other.fields);
        pairs.into_iter().all(|(one, other)| {
            one.count == other.count
                && one.missing == other.missing
                && is_close(&one.sum, &other.sum)
                && one.min == other.min
                && one.max == other.max
        })
    }

    pub(super) fn into_fields(self) -> Vec<FieldTotals> {
        self.fields
    }
}

/// Whether the values are the same, or floats that differ in their last digits.
fn is_close(one: &Option<Bson>, other: &Option<Bson>) -> bool {
    match (one, other) {
        (Some(Bson::Double(one)), Some(Bson::Double(other))) => {
            one == other || (one - other).abs() <= 1e-12 * one.abs().max(other.abs())
        }
        _ => one == other,
    }
}

impl FieldTotals {
    /// The totals with one more item; `None` if a sum or an order cannot be computed here.
    fn with(&self, field: &RollupName, value: Option<&Bson>) -> Option<Self> {
        let mut with = self.clone();
        with.count += 1;
        let Some(value) = value else {
            with.missing += 1;
            return Some(with);
        };
        if field.sum {
            with.sum = Some(match &self.sum {
                Some(sum) => add(sum, value)?,
                None => value.clone(),
            });
        }
        for (keeps, kept, better) in [
            (field.min, &mut with.min, Ordering::Less),
            (field.max, &mut with.max, Ordering::Greater),
        ] {
            let is_better = match kept {
                Some(kept) => compare(value, kept)? == better,
                None => true,
            };
            if keeps && is_better {
                *kept = Some(value.clone());
            }
        }
        Some(with)
    }

    /// The values that a bucket stores, each with the operator that adds it to a stored one.
    fn stored(&self) -> impl Iterator<Item = (&'static str, &'static str, Bson)> {
        let missing = (self.missing > 0).then(|| self.missing.into());
        let all = [
            ("$inc", COUNT, Some(self.count.into())),
            ("$inc", MISSING, missing),
            ("$inc", "sum", self.sum.clone()),
            ("$min", "min", self.min.clone()),
            ("$max", "max", self.max.clone()),
        ];
        let stored = all.into_iter();
        stored.filter_map(|(operator, name, value)| Some((operator, name, value?)))
    }

    pub(super) fn read(field: &RollupName, stored: &Document) -> Self {
        let number = |name: &str| stored.get(name).and_then(whole).unwrap_or(0);
        let value = |keeps: bool, name: &str| {
            let value = stored.get(name).filter(|value| **value != Bson::Null);
            value.filter(|_| keeps).cloned()
        };
        Self {
            count: number(COUNT),
            missing: number(MISSING),
            sum: value(field.sum, "sum"),
            min: value(field.min, "min"),
            max: value(field.max, "max"),
        }
    }
}

/// The types of what [`to_rollup`](crate::value::rollup::RollupField::to_rollup) gives.
const TOTALLED: [&str; 5] = ["int", "long", "double", "decimal", "date"];

/// The stage that makes a whole bucket of each item, where `$unwind` has left one item in each: one
/// whose rollup is of this item. A value that is stored neither as a number nor as a date cannot be
/// in a rollup, so the rollup is then incomplete.
pub fn of_item(spec: &BucketSpec) -> Document {
    let fields = spec.rollups.iter().map(|field| {
        let value = format!("${}.{}", spec.items, field.name);
        let kind = doc! { "$type": &value };
        let is_none = doc! { "$in": [&kind, ["missing", "null", "undefined"]] };
        let is_value = doc! { "$in": [kind, TOTALLED.to_vec()] };
        let mut of_item = doc! {
            COUNT: { "$cond": [{ "$or": [&is_none, is_value] }, 1, 0] },
            MISSING: { "$cond": [is_none, 1, 0] },
        };
        let kept = [(field.sum, "sum"), (field.min, "min"), (field.max, "max")];
        let kept = kept.into_iter().filter(|(keeps, _)| *keeps);
        of_item.extend(kept.map(|(_, name)| (name.to_owned(), Bson::String(value.clone()))));
        (field.name.to_owned(), Bson::Document(of_item))
    });
    let rollup: Document = fields.collect();
    let mut bucket = doc! { spec.count: 1 };
    // The server refuses an empty one.
    if !rollup.is_empty() {
        bucket.insert(spec.rollup, rollup);
    }
    doc! { "$set": bucket }
}

/// The stages that add up the rollups of buckets, for each value of an expression. Each result has
/// that value as `_id`, a rollup with a bucket's field names, the number of items, and the number
/// of buckets whose rollup is incomplete.
///
/// Whole numbers are added as decimals, which hold any sum of them: with integers, the server would
/// silently change to floats beyond 64 bits.
pub fn added_up(spec: &BucketSpec, by: Bson) -> [Document; 2] {
    let count = format!("${}", spec.count);
    let mut group = doc! { "_id": by, "items": { "$sum": &count } };
    let mut incomplete = Vec::new();
    let mut rollup = Document::new();
    for (n, field) in spec.rollups.iter().enumerate() {
        let path = |what: &str| format!("${}.{}.{what}", spec.rollup, field.name);
        incomplete.push(doc! { "$ne": [path(COUNT), &count] });
        let sum = path("sum");
        let is_whole = doc! { "$in": [{ "$type": &sum }, ["int", "long"]] };
        let sum = doc! { "$cond": [is_whole, { "$toDecimal": &sum }, &sum] };
        let mut totals = Document::new();
        for (keeps, name, total) in [
            (true, COUNT, doc! { "$sum": path(COUNT) }),
            (true, MISSING, doc! { "$sum": path(MISSING) }),
            (field.sum, "sum", doc! { "$sum": sum }),
            (field.min, "min", doc! { "$min": path("min") }),
            (field.max, "max", doc! { "$max": path("max") }),
        ] {
            if keeps {
                group.insert(format!("{name}{n}"), total);
                totals.insert(name, format!("${name}{n}"));
            }
        }
        rollup.insert(field.name, totals);
    }
    let incomplete = doc! { "$cond": [{ "$or": incomplete }, 1, 0] };
    group.insert("incomplete", doc! { "$sum": incomplete });
    let mut told = doc! { "items": 1, "incomplete": 1 };
    // The server refuses an empty one.
    if !rollup.is_empty() {
        told.insert("rollup", rollup);
    }
    [doc! { "$group": group }, doc! { "$project": told }]
}
