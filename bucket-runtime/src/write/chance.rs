//! All chance in the room: a simulation (`server/simulated.rs`) decides it by a seed.

use std::time::Duration;

#[cfg(not(feature = "__simulated"))]
pub(crate) use std::hash::RandomState;

/// Hashes the same in each run, so that a map has the same order.
#[cfg(feature = "__simulated")]
pub(crate) type RandomState = std::hash::BuildHasherDefault<std::hash::DefaultHasher>;

/// By chance, once in so many calls on average.
pub(crate) fn happens_once_in(times: u32) -> bool {
    times > 0 && below(times) == 0
}

/// A random time up to this one.
pub(crate) fn duration_up_to(longest: Duration) -> Duration {
    #[cfg(feature = "__simulated")]
    if let Some(nanos) = crate::server::simulated::random(longest.as_nanos() as u64 + 1) {
        return Duration::from_nanos(nanos);
    }
    rand::random_range(Duration::ZERO..=longest)
}

fn below(times: u32) -> u32 {
    #[cfg(feature = "__simulated")]
    if let Some(random) = crate::server::simulated::random(times.into()) {
        return random as u32;
    }
    rand::random_range(0..times)
}
