//! Nothing here but the README, whose examples are compiled: see the tests beside this file.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
