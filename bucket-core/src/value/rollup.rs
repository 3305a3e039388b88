//! Rollups: what buckets store about their items, and the totals computed from it.
//!
//! The update that appends carries `$inc`, `$min` and `$max` for its items.
//! `value/rollup/totals.rs` combines the values of several items only where the result is the
//! server's own. Items whose sum would overflow or be rounded travel in statements of their own,
//! and the server adds them up, or refuses what exceeds 64 bits. Each field's own count must equal
//! the bucket's `count`; otherwise something else has written to the bucket. Sums over buckets are
//! decimals, since `$sum` turns integers beyond 64 bits to floats.
//!
//! `verify` compares each rollup with the items (`bucket-ops/src/verify/rollup.rs`). It takes a sum
//! of floats for right if another order of adding could give it, since batches are added up in
//! groups. `rebuild_rollups` and `repair` write a rollup on condition that the bucket's array is
//! still the one that it was computed from (`bucket-ops/src/verify/rebuild.rs`).

#![deny(missing_docs)]

#[allow(missing_docs, reason = "no part of what users name")]
pub mod arithmetic;
mod field;
#[allow(missing_docs, reason = "no part of what users name")]
pub mod totals;

use std::{fmt, marker::PhantomData};

use mongodb::bson::Bson;

pub use self::field::{DecimalSum, RollupField, SumField};
use self::totals::FieldTotals;
pub use self::totals::Totals;

/// A struct of [`FieldRollup`]s, the type of `Bucket::Rollups`; `()` for none.
pub trait RollupFields: Clone + fmt::Debug + Send + Sync + 'static {
    /// Reads the fields in the order of [`BucketSpec::rollups`](crate::schema::spec::BucketSpec);
    /// `None` if one does not fit its type.
    fn read(fields: &mut RollupReader) -> Option<Self>;
}

impl RollupFields for () {
    fn read(_: &mut RollupReader) -> Option<Self> {
        Some(())
    }
}

/// The fields of a `Rollup`, one after the other.
#[derive(Debug)]
pub struct RollupReader(std::vec::IntoIter<FieldTotals>);

impl RollupReader {
    /// Reads these totals; `None` if they do not fit the fields' types.
    #[doc(hidden)]
    pub fn read<R: RollupFields>(totals: Totals) -> Option<R> {
        R::read(&mut Self(totals.into_fields().into_iter()))
    }

    /// The next field, whose sum is not kept.
    pub fn field<V: RollupField, const MIN: bool, const MAX: bool>(
        &mut self,
    ) -> Option<FieldRollup<V, false, MIN, MAX>> {
        self.next()
    }

    /// The next field, whose sum is kept.
    pub fn sum_field<V: SumField, const MIN: bool, const MAX: bool>(
        &mut self,
    ) -> Option<FieldRollup<V, true, MIN, MAX>> {
        let field: FieldRollup<_, true, MIN, MAX> = self.next()?;
        let fits = field.sum.iter().all(|sum| V::from_sum(sum).is_some());
        fits.then_some(field)
    }

    fn next<V: RollupField, const SUM: bool, const MIN: bool, const MAX: bool>(
        &mut self,
    ) -> Option<FieldRollup<V, SUM, MIN, MAX>> {
        let FieldTotals {
            count,
            missing,
            sum,
            min,
            max,
        } = self.0.next()?;
        let count = u64::try_from(count - missing).ok()?;
        // If there are values, their minimum, maximum and sum must be there, too.
        let is_kept = |keeps: bool, value: &Option<Bson>| !keeps || count == 0 || value.is_some();
        let fits = is_kept(SUM, &sum) && is_kept(MIN, &min) && is_kept(MAX, &max);
        let mut ends = min.iter().chain(&max);
        (fits && ends.all(|end| V::from_rollup(end).is_some())).then_some(FieldRollup {
            count,
            sum,
            min,
            max,
            of: PhantomData,
        })
    }
}

/// The totals of a field of type `V`: the sum, the minimum and the maximum, each only if the field
/// is marked with it.
///
/// - The server adds floats in the order in which it reads them, so the last bits of a sum can
///   differ from those of another order. `Decimal128` and integers are exact, up to 34 digits.
/// - NaN is as on the server: it makes the sum NaN, and is less than all other numbers, so it is
///   the minimum, and the maximum only if there is no other value.
/// - A `None` does not count.
pub struct FieldRollup<V, const SUM: bool, const MIN: bool, const MAX: bool> {
    count: u64,
    sum: Option<Bson>,
    min: Option<Bson>,
    max: Option<Bson>,
    of: PhantomData<fn() -> V>,
}

impl<V, const SUM: bool, const MIN: bool, const MAX: bool> FieldRollup<V, SUM, MIN, MAX> {
    /// The number of items that have a value.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl<V, const SUM: bool, const MIN: bool, const MAX: bool> FieldRollup<V, SUM, MIN, MAX> {
    /// The sum of the values; zero if there are none.
    pub fn sum(&self) -> V::Sum
    where
        Marked<SUM>: Kept,
        V: SumField,
    {
        // Reading the totals has checked that this is a sum.
        (self.sum.as_ref().and_then(V::from_sum)).unwrap_or_default()
    }

    /// The sum divided by the number of values, rounded to a float; `None` if there is no value.
    pub fn mean(&self) -> Option<f64>
    where
        Marked<SUM>: Kept,
        V: SumField,
    {
        (self.count > 0).then(|| V::to_float(&self.sum()) / self.count as f64)
    }

    /// The minimum; `None` if there is no value.
    pub fn min(&self) -> Option<V::Value>
    where
        Marked<MIN>: Kept,
        V: RollupField,
    {
        self.min.as_ref().and_then(V::from_rollup)
    }

    /// The maximum; `None` if there is no value.
    pub fn max(&self) -> Option<V::Value>
    where
        Marked<MAX>: Kept,
        V: RollupField,
    {
        self.max.as_ref().and_then(V::from_rollup)
    }
}

/// Whether a field is marked with `sum`, `min` or `max`.
#[derive(Debug)]
pub enum Marked<const IS: bool> {}

/// Implemented for what a field is [`Marked`] with, and so for what buckets keep.
#[diagnostic::on_unimplemented(
    message = "buckets do not keep this value of the field",
    label = "the field is not marked with it",
    note = "help: mark it in the struct with what buckets should keep: `#[bucket(sum, min, max)]`"
)]
pub trait Kept {}

impl Kept for Marked<true> {}

impl<V, const SUM: bool, const MIN: bool, const MAX: bool> Clone for FieldRollup<V, SUM, MIN, MAX> {
    fn clone(&self) -> Self {
        Self {
            count: self.count,
            sum: self.sum.clone(),
            min: self.min.clone(),
            max: self.max.clone(),
            of: PhantomData,
        }
    }
}

impl<V, const SUM: bool, const MIN: bool, const MAX: bool> fmt::Debug
    for FieldRollup<V, SUM, MIN, MAX>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("FieldRollup");
        debug.field("count", &self.count);
        for (name, value) in [("sum", &self.sum), ("min", &self.min), ("max", &self.max)] {
            if let Some(value) = value {
                debug.field(name, &format_args!("{value}"));
            }
        }
        debug.finish()
    }
}
