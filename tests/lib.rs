//! The links of the docs, and texts whose examples are compiled; the tests are the files beside this one.

pub mod links;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../skills/bucket-runtime/SKILL.md")]
struct Skill;

#[cfg(doctest)]
#[doc = include_str!("../bucket-testkit/README.md")]
struct Testkit;

// The only page of the guide with examples that need the testkit.
#[cfg(doctest)]
#[doc = include_str!("../bucket-runtime/src/guide/testing.md")]
struct GuideOfTesting;
