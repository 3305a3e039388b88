//! All chance in the room: a simulation (`server/simulated.rs`) decides it by a seed.

use std::time::Duration;

#[cfg(not(feature = "__simulated"))]
pub(crate) use std::hash::RandomState;

/// Hashes the same in each run, so that a map has the same order.
#[cfg(feature = "__simulated")]
pub(crate) type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// A random time up to this one.
pub(crate) fn duration_up_to(longest: Duration) -> Duration {
    #[cfg(feature = "__simulated")]
    if let Some(nanos) = crate::server::simulated::random(longest.as_nanos() as u64 + 1) {
        return Duration::from_nanos(nanos);
    }
    rand::random_range(Duration::ZERO..=longest)
}
