//! Items with every ordinal, with and without totals that the buckets keep, each as two structs of
//! different capacities; and the random programs that run on them.

use std::sync::LazyLock;

use bucket_runtime::{Bucket, Filter, mongodb::bson::DateTime};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::support::notes::{Note, fields_of_note};

pub(crate) const OWNERS: i64 = 4;

/// The number of windows that an owner's items are in.
const HOURS: i64 = 3;

pub(crate) trait Entry: Note {
    /// An item at this place; other items may have the same moment.
    fn of(place: Place, n: i64) -> Self;
}

/// The owner, the moment and the length of an item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) owner: i64,
    hour: i64,
    millis: i64,
    bytes: usize,
}

macro_rules! entries {
    (@ $name:ident, $capacity:literal, ($($bucket:tt)*), $([$($kept:tt)*])?, $([$($identity:tt)*])?) => {
        #[derive(Debug, Clone, PartialEq, Bucket)]
        #[bucket(collection = "entries", capacity = $capacity, $($bucket)*)]
        pub(crate) struct $name {
            owner: i64,
            at: DateTime,
            $(#[bucket($($identity)*)])?
            n: i64,
            $(#[bucket($($kept)*)])?
            #[serde(rename = "val")]
            value: i32,
            text: String,
        }

        impl Note for $name {
            fn new(owner: i64, n: i64, value: i32) -> Self {
                Self { owner, at: moment(0, 0), n, value, text: String::new() }
            }

            fields_of_note!();
        }

        impl Entry for $name {
            fn of(place: Place, n: i64) -> Self {
                Self {
                    at: moment(place.hour, place.millis),
                    // Enough text for the byte limit to matter where it is low.
                    text: "x".repeat(place.bytes),
                    ..Self::new(place.owner, n, 0)
                }
            }
        }
    };
    ($(
        $large:ident $small:ident($($bucket:tt)*)
        $(val[$($kept:tt)*])? $(n[$($identity:tt)*])?;
    )+) => {$(
        entries!(@ $large, 10, ($($bucket)*), $([$($kept)*])?, $([$($identity)*])?);
        entries!(@ $small, 4, ($($bucket)*), $([$($kept)*])?, $([$($identity)*])?);
    )+};
}

entries! {
    Millis10 Millis4(id = "{owner}_{at:millis}", count = "length", items = "history") n[unique];
    SecondsSum10 SecondsSum4(id = "{owner}_{at}", max_bytes = 4000) val[sum, min, max];
    NumberedSum10 NumberedSum4(id = "{owner}_{#}", rollup = "totals") val[sum, max] n[unique];
    WindowsSum10 WindowsSum4(id = "{owner}_{at/1h}", expire_after = "900d") val[sum, min];
    NumberedBytes10 NumberedBytes4(id = "{owner}_{#}", max_bytes = 4000);
    WindowsBytes10 WindowsBytes4(id = "{owner}_{at/1h}", max_bytes = 4000) n[unique];
}

/// A moment within three seconds of an hour of a recent day.
fn moment(hour: i64, millis: i64) -> DateTime {
    static DAY: LazyLock<i64> =
        LazyLock::new(|| DateTime::now().timestamp_millis() / 86_400_000 * 86_400_000);
    DateTime::from_millis(*DAY - hour * 3_600_000 + millis)
}

/// A step of a writer's program. It edits or removes an item that the writer knows to be stored.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Append(Place),
    /// Appends an item again that may or may not be stored, where items have an identity.
    Again(usize),
    Update(usize),
    Remove(usize),
}

/// A writer's steps, each with the microseconds after which its future is dropped, if any.
pub(crate) fn program(seed: u64, steps: usize) -> Vec<(Step, Option<u64>)> {
    let random = &mut StdRng::seed_from_u64(seed);
    let step = |_| {
        let step = match random.random_range(0..20) {
            0..=10 => Step::Append(place(random)),
            11 => Step::Again(random.random_range(0..1000)),
            12..=15 => Step::Update(random.random_range(0..1000)),
            _ => Step::Remove(random.random_range(0..1000)),
        };
        let is_dropped = random.random_range(0..4) == 0;
        (step, is_dropped.then(|| random.random_range(0..5000)))
    };
    (0..steps).map(step).collect()
}

pub(crate) fn place(random: &mut impl Rng) -> Place {
    Place {
        owner: random.random_range(0..OWNERS),
        hour: random.random_range(0..HOURS),
        millis: random.random_range(0..3000),
        bytes: [0, 30, 1200][random.random_range(0..3)],
    }
}
