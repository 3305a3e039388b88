//! How much a test does: the whole with `BUCKET_TESTS_LONG`, as in CI, a quarter otherwise.

/// A number of items, values or random cases.
pub(crate) fn scaled<N: From<u8> + std::ops::Div<Output = N>>(whole: N) -> N {
    match std::env::var_os("BUCKET_TESTS_LONG") {
        Some(_) => whole,
        None => whole / N::from(4),
    }
}
