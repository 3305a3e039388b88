//! Which types can be added up and compared.

use mongodb::bson::{Bson, DateTime, Decimal128};

use crate::schema::{key::stored_integer, time::TimeField};

/// A type whose minimum and maximum a bucket can keep.
///
/// Implemented for the integers, floats, [`Decimal128`], the types of [`TimeField`], and
/// [`Option`]s of them, whose `None` does not count. A newtype of yours implements it by delegating
/// to the type inside:
///
/// ```
/// use bucket_runtime::{RollupField, SumField, bson::Bson};
///
/// struct Cents(i64);
///
/// impl RollupField for Cents {
///     type Value = Self;
///     fn to_rollup(&self) -> Option<Bson> {
///         self.0.to_rollup()
///     }
///     fn from_rollup(value: &Bson) -> Option<Self> {
///         i64::from_rollup(value).map(Cents)
///     }
/// }
///
/// // Only if it makes sense to add them up.
/// impl SumField for Cents {
///     type Sum = i128;
///     fn from_sum(sum: &Bson) -> Option<i128> {
///         i64::from_sum(sum)
///     }
///     fn to_float(sum: &i128) -> f64 {
///         i64::to_float(sum)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "buckets cannot keep the minimum and maximum of a `{Self}`",
    label = "`min` and `max` need a number or a time",
    note = "help: use an integer, a float, `Decimal128` or a time, or implement `bucket_runtime::RollupField` for a newtype of yours"
)]
pub trait RollupField {
    /// The type of the minimum and maximum when they are read.
    type Value;

    /// The value as an `Int64`, a `Double`, a `Decimal128` or a `DateTime`; `None` if there is
    /// none.
    fn to_rollup(&self) -> Option<Bson>;

    /// Reads a stored minimum or maximum.
    fn from_rollup(value: &Bson) -> Option<Self::Value>;
}

/// A number: a type whose sum a bucket can keep.
///
/// Implemented for the integers, whose sum is read as `i128`; for the floats, as `f64`; for
/// [`Decimal128`]; and for [`Option`]s of them.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot be added up",
    label = "`sum` needs a number",
    note = "help: use an integer, a float or `Decimal128`, or implement `bucket_runtime::SumField` for a newtype of yours; for a time, use `min` and `max`"
)]
pub trait SumField: RollupField {
    /// The type of the sum when it is read; its default is the sum of no values.
    type Sum: Default;

    /// Reads a stored sum: a sum of what [`to_rollup`](RollupField::to_rollup) gives, or a
    /// `Decimal128` for a sum of many `Int64`s.
    fn from_sum(sum: &Bson) -> Option<Self::Sum>;

    /// The sum as a float, for the mean.
    fn to_float(sum: &Self::Sum) -> f64;
}

macro_rules! integers {
    ($($int:ty),+) => {$(
        impl RollupField for $int {
            type Value = Self;

            fn to_rollup(&self) -> Option<Bson> {
                Some(stored_integer(*self as i128))
            }

            fn from_rollup(value: &Bson) -> Option<Self> {
                integer(value)?.try_into().ok()
            }
        }

        impl SumField for $int {
            type Sum = i128;

            fn from_sum(sum: &Bson) -> Option<i128> {
                integer(sum)
            }

            fn to_float(sum: &i128) -> f64 {
                *sum as f64
            }
        }
    )+};
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

fn integer(value: &Bson) -> Option<i128> {
    match value {
        Bson::Int32(int) => Some((*int).into()),
        Bson::Int64(int) => Some((*int).into()),
        Bson::Decimal128(decimal) => decimal.to_string().parse().ok(),
        _ => None,
    }
}

macro_rules! floats {
    ($($float:ty),+) => {$(
        impl RollupField for $float {
            type Value = Self;

            fn to_rollup(&self) -> Option<Bson> {
                Some(Bson::Double((*self).into()))
            }

            fn from_rollup(value: &Bson) -> Option<Self> {
                value.as_f64().map(|float| float as Self)
            }
        }

        impl SumField for $float {
            type Sum = f64;

            fn from_sum(sum: &Bson) -> Option<f64> {
                float(sum)
            }

            fn to_float(sum: &f64) -> f64 {
                *sum
            }
        }
    )+};
}

floats!(f32, f64);

/// On the server the sum of no values is the integer zero.
fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(int) => Some((*int).into()),
        value => value.as_f64(),
    }
}

impl RollupField for Decimal128 {
    type Value = Self;

    fn to_rollup(&self) -> Option<Bson> {
        Some(Bson::Decimal128(*self))
    }

    fn from_rollup(value: &Bson) -> Option<Self> {
        match value {
            Bson::Decimal128(decimal) => Some(*decimal),
            _ => None,
        }
    }
}

impl SumField for Decimal128 {
    type Sum = DecimalSum;

    fn from_sum(sum: &Bson) -> Option<DecimalSum> {
        let decimal = match sum {
            Bson::Int32(int) => int.to_string().parse().ok(),
            sum => Self::from_rollup(sum),
        };
        decimal.map(DecimalSum)
    }

    fn to_float(DecimalSum(sum): &DecimalSum) -> f64 {
        sum.to_string().parse().unwrap_or(f64::NAN)
    }
}

/// A sum of decimals; zero for no values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecimalSum(pub Decimal128);

impl Default for DecimalSum {
    fn default() -> Self {
        // Zero as an integer: exponent 0, biased by 6176, above the 113 bits of the coefficient.
        Self(Decimal128::from_bytes((6176_u128 << 113).to_le_bytes()))
    }
}

impl<V: RollupField> RollupField for Option<V> {
    type Value = V::Value;

    fn to_rollup(&self) -> Option<Bson> {
        self.as_ref()?.to_rollup()
    }

    fn from_rollup(value: &Bson) -> Option<V::Value> {
        V::from_rollup(value)
    }
}

impl<V: SumField> SumField for Option<V> {
    type Sum = V::Sum;

    fn from_sum(sum: &Bson) -> Option<V::Sum> {
        V::from_sum(sum)
    }

    fn to_float(sum: &V::Sum) -> f64 {
        V::to_float(sum)
    }
}

macro_rules! times {
    ($($(#[$cfg:meta])? $time:ty;)+) => {$(
        $(#[$cfg])?
        impl RollupField for $time {
            type Value = Self;

            fn to_rollup(&self) -> Option<Bson> {
                Some(self.to_datetime().into())
            }

            fn from_rollup(value: &Bson) -> Option<Self> {
                Self::from_datetime(*value.as_datetime()?)
            }
        }
    )+};
}

times! {
    DateTime;
    #[cfg(feature = "chrono")] chrono::DateTime<chrono::Utc>;
    #[cfg(feature = "chrono")] chrono::DateTime<chrono::FixedOffset>;
    #[cfg(feature = "time")] time::OffsetDateTime;
    #[cfg(feature = "time")] time::UtcDateTime;
    #[cfg(feature = "jiff")] jiff::Timestamp;
}
