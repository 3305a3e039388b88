//! Replays.
