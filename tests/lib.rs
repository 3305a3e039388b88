//! Nothing here but texts whose examples are compiled: see the tests beside this file.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// The only page of the guide whose examples need the testkit.
#[cfg(doctest)]
#[doc = include_str!("../bucket-runtime/src/guide/testing.md")]
struct GuideOfTesting;
