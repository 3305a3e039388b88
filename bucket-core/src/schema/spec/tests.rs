//! The limits of a struct's numbers.

use std::panic::{RefUnwindSafe, catch_unwind};

use super::*;

const SPEC: BucketSpec = BucketSpec::new(
    "a",
    IdFormat::new("", &["_"], Ordinal::Seconds),
    10,
    &[KeyName::new("k")],
);
const PARENTS: OutlierSpec = OutlierSpec::new("a", "b", "r", "x", "y", 10);

/// These two numbers and those between them are allowed, and no others.
fn are_limits<T>(first: u32, last: u32, set: impl Fn(u32) -> T + RefUnwindSafe) {
    let is_allowed = |number| catch_unwind(|| _ = set(number)).is_ok();
    let around = [first - 1, first, last, last + 1];
    assert_eq!(
        around.map(is_allowed),
        [false, true, true, false],
        "{around:?}"
    );
}

#[test]
fn a_number_outside_of_its_limits_is_refused() {
    let (id, key) = (SPEC.id, SPEC.key);
    are_limits(1, 1_000_000, |capacity| {
        BucketSpec::new("a", id, capacity, key)
    });
    are_limits(1, 1_000_000, |threshold| {
        OutlierSpec::new("a", "b", "r", "x", "y", threshold)
    });
    are_limits(1, 1_000_000, |capacity| PARENTS.extras_capacity(capacity));
    are_limits(1024, 15_728_640, |bytes| SPEC.max_bytes(bytes));
    are_limits(1024, 15_728_640, |bytes| PARENTS.max_bytes(bytes));
    are_limits(1, 2_147_483_647, |seconds| SPEC.expire_after(seconds));
    assert_eq!((SPEC.max_bytes, PARENTS.max_bytes), (4_194_304, 4_194_304));
}

#[test]
fn numbers_and_windows_count_up() {
    use Ordinal::{Millis, Number, Seconds, Window};
    let counts = [Seconds, Millis, Window { seconds: 60 }, Number].map(Ordinal::counts);
    assert_eq!(counts, [false, false, true, true]);
}
