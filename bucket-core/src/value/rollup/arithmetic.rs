//! Adds and compares stored numbers as the server does.

use std::cmp::Ordering;

use mongodb::bson::{Bson, Decimal128};

/// The digits of a decimal.
const DIGITS: u32 = 34;

/// The sum, if it is exact or, for floats, what the server would compute. If `None`, the server has
/// to add.
pub fn add(a: &Bson, b: &Bson) -> Option<Bson> {
    match (a, b) {
        (Bson::Int64(a), Bson::Int64(b)) => a.checked_add(*b).map(Bson::Int64),
        (Bson::Double(a), Bson::Double(b)) => Some(Bson::Double(a + b)),
        (Bson::Decimal128(a), Bson::Decimal128(b)) => Finite::of(a)?.plus(Finite::of(b)?),
        _ => None,
    }
}

/// The order of two values of one kind, as on the server: NaN is the smallest number.
pub fn compare(a: &Bson, b: &Bson) -> Option<Ordering> {
    match (a, b) {
        (Bson::Int64(a), Bson::Int64(b)) => Some(a.cmp(b)),
        (Bson::Double(a), Bson::Double(b)) => Some(
            a.partial_cmp(b)
                .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan())),
        ),
        (Bson::Decimal128(a), Bson::Decimal128(b)) => Finite::of(a)?.cmp(Finite::of(b)?),
        (Bson::DateTime(a), Bson::DateTime(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// A decimal that is a number: `coefficient` × 10 ^ `exponent`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Finite {
    coefficient: i128,
    exponent: i32,
}

impl Finite {
    fn of(decimal: &Decimal128) -> Option<Self> {
        let text = decimal.to_string();
        let (digits, exponent) = match text.split_once(['E', 'e']) {
            Some((digits, exponent)) => (digits, exponent.parse().ok()?),
            None => (text.as_str(), 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        Some(Self {
            coefficient: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - i32::try_from(fraction.len()).ok()?,
        })
    }

    /// The coefficient with another exponent, if it does not need more digits than a decimal has.
    fn scaled(self, exponent: i32) -> Option<i128> {
        let zeros = u32::try_from(self.exponent - exponent).ok()?;
        if self.coefficient == 0 {
            return Some(0);
        }
        let scale = 10_i128.checked_pow(zeros)?;
        let scaled = self.coefficient.checked_mul(scale)?;
        (scaled.abs() < 10_i128.pow(DIGITS)).then_some(scaled)
    }

    fn plus(self, other: Self) -> Option<Bson> {
        let exponent = self.exponent.min(other.exponent);
        let sum = self.scaled(exponent)? + other.scaled(exponent)?;
        if sum.abs() >= 10_i128.pow(DIGITS) {
            return None;
        }
        let sum = format!("{sum}E{exponent}").parse::<Decimal128>();
        sum.ok().map(Bson::Decimal128)
    }

    fn cmp(self, other: Self) -> Option<Ordering> {
        let exponent = self.exponent.min(other.exponent);
        Some(self.scaled(exponent)?.cmp(&other.scaled(exponent)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap_or_else(|_| panic!("{text}")))
    }

    #[test]
    fn sums_are_exact_or_none() {
        for (a, b, sum) in [
            ("1", "2", Some("3")),
            ("0.1", "0.2", Some("0.3")),
            ("-0.10", "0.3", Some("0.20")),
            ("1E+3", "1E-3", Some("1000.001")),
            ("1E+40", "1", None),
            ("9999999999999999999999999999999999", "1", None),
            ("NaN", "1", None),
            ("Infinity", "1", None),
        ] {
            assert_eq!(add(&decimal(a), &decimal(b)), sum.map(decimal), "{a} + {b}");
        }
        assert_eq!(add(&Bson::Int64(i64::MAX), &Bson::Int64(1)), None);
        assert_eq!(
            add(&Bson::Int64(i64::MAX), &Bson::Int64(-1)),
            Some(Bson::Int64(i64::MAX - 1))
        );
        assert_eq!(add(&Bson::Int64(1), &Bson::Double(1.0)), None);
    }

    #[test]
    fn nan_is_the_least_number() {
        let compare = |a, b| compare(&Bson::Double(a), &Bson::Double(b));
        assert_eq!(compare(f64::NAN, f64::NEG_INFINITY), Some(Ordering::Less));
        assert_eq!(compare(1.0, f64::NAN), Some(Ordering::Greater));
        assert_eq!(compare(f64::NAN, f64::NAN), Some(Ordering::Equal));
        assert_eq!(compare(0.0, -0.0), Some(Ordering::Equal));
    }

    #[test]
    fn decimals_compare_by_value() {
        let compare = |a, b| super::compare(&decimal(a), &decimal(b));
        assert_eq!(compare("1.0", "1"), Some(Ordering::Equal));
        assert_eq!(compare("-2", "1E-5"), Some(Ordering::Less));
        assert_eq!(compare("1E+3", "999.9"), Some(Ordering::Greater));
        assert_eq!(compare("1E+90", "1"), None);
    }
}
