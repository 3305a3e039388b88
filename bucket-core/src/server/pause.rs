//! The pause before a further try, which counts as a try of the call.

use std::time::Duration;

use crate::server::call;

/// The longest pause before the third try, which is the first that waits; or the time of the last
/// round trip, where that was longer. The limit doubles with each further try.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

/// How often that pause doubles.
const MAX_DOUBLINGS: u32 = 4;

/// A round trip that took longer waited for something else than other writers, such as a new
/// primary.
const MAX_TRIP: Duration = Duration::from_millis(100);

/// Waits for a random time before a further try, so that writers that collided once do not collide
/// again. The second try does not wait: the bucket that won the race is there by then.
pub async fn pause(tries: u32) {
    pause_after(tries, Duration::ZERO).await;
}

/// [`pause`], for longer where the last round trip was slow: what other writers send then takes as
/// long, and a try before their bucket is there only makes them slower.
pub async fn pause_after(tries: u32, last_trip: Duration) {
    if tries > 0 {
        call::again();
    }
    if let Some(longest) = longest_pause(tries, last_trip) {
        tokio::time::sleep(duration_up_to(longest)).await;
    }
}

/// The longest pause after so many tries; none after the first.
fn longest_pause(tries: u32, last_trip: Duration) -> Option<Duration> {
    let doublings = tries.checked_sub(2)?.min(MAX_DOUBLINGS);
    Some(last_trip.clamp(FIRST_PAUSE, MAX_TRIP) * (1 << doublings))
}

/// A random time up to this one.
fn duration_up_to(longest: Duration) -> Duration {
    #[cfg(feature = "__simulated")]
    if let Some(simulated) = super::wire::simulated::simulated() {
        return Duration::from_nanos(simulated.random(longest.as_nanos() as u64 + 1));
    }
    rand::random_range(Duration::ZERO..=longest)
}

#[test]
fn a_pause_grows_with_the_tries_and_the_last_trip_up_to_a_limit() {
    let longest = |tries, millis| longest_pause(tries, Duration::from_millis(millis));
    let millis = |millis| Some(Duration::from_millis(millis));
    assert_eq!([longest(0, 50), longest(1, 50)], [None, None]);
    assert_eq!(
        [longest(2, 0), longest(6, 0), longest(99, 0)],
        [4, 64, 64].map(millis)
    );
    assert_eq!([longest(2, 20), longest(3, 20)], [20, 40].map(millis));
    assert_eq!(
        longest(99, 30_000),
        millis(1600),
        "a new primary was waited for"
    );
}
