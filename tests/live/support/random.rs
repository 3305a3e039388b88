//! Tests with random values.

use proptest::{
    strategy::Strategy,
    test_runner::{Config, TestRunner},
};
use tokio::{runtime::Handle, task::block_in_place};

/// Runs a test with random values. If one fails, it looks for a simpler one that fails as well.
///
/// The call blocks its thread, so the test needs several (`multi_thread`).
pub(crate) fn for_any<S: Strategy>(cases: u32, values: S, test: impl AsyncFn(S::Value)) {
    let config = Config {
        cases,
        max_shrink_iters: 100,
        failure_persistence: None,
        ..Config::default()
    };
    let passed = TestRunner::new(config).run(&values, |value| {
        block_in_place(|| Handle::current().block_on(test(value)));
        Ok(())
    });
    if let Err(failure) = passed {
        panic!("{failure}");
    }
}
