//! Only texts whose examples are compiled; the tests are the files beside this one.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// The only page of the guide with examples that need the testkit.
#[cfg(doctest)]
#[doc = include_str!("../bucket-runtime/src/guide/testing.md")]
struct GuideOfTesting;
