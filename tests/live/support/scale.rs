//! How much a test does: the whole with `BUCKET_TESTS_LONG`, as in CI, an eighth otherwise. The model and the simulation
//! have this file, too.

/// Whether the tests do everything.
pub(crate) fn is_long() -> bool {
    std::env::var_os("BUCKET_TESTS_LONG").is_some()
}

/// A number of items, values or random cases, at least one.
pub(crate) fn scaled<N: From<u8> + Ord + std::ops::Div<Output = N>>(whole: N) -> N {
    match is_long() {
        true => whole,
        false => (whole / N::from(8)).max(N::from(1)),
    }
}
