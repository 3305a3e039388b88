//! The guide: one task a page. Start with [`getting_started`].
//!
//! | page | what you learn |
//! | --- | --- |
//! | [`getting_started`] | add the crate, derive, open, append, read |
//! | [`which_pattern`] | buckets, outliers or neither: what your data say |
//! | [`choosing`] | the key, the ordinal and the capacity |
//! | [`pages`] | page by page: numbers, tokens, streams |
//! | [`queries`] | typed conditions, flat views, pipelines of your own |
//! | [`windows_and_rollups`] | a bucket per hour, with sums, minima and maxima |
//! | [`safe_to_repeat`] | what a failed call says, and items with an identity |
//! | [`errors`] | what each error means, and what to do about it |
//! | [`edits`] | change or remove an item, remove a key, let buckets expire |
//! | [`loading`] | write many items in whole buckets |
//! | [`importing`] | move a flat collection into buckets |
//! | [`archive`] | how long items stay, and how they leave and come back |
//! | [`outliers`] | documents with one array that may grow without bound |
//! | [`taking_over`] | validators, and how to verify and repair a collection |
//! | [`changing_capacity`] | another capacity, while writers go on |
//! | [`versions`] | change the struct: what may change in place, and what needs a new collection |
//! | [`sharding`] | sharded clusters |
//! | [`watching`] | new items as they come |
//! | [`bytes`] | how documents stay within their size limit |
//! | [`transactions`] | sessions and transactions |
//! | [`tracing`] | a span for each call: its items, round trips, repetitions, errors |
//! | [`privileges_and_indexes`] | what a user needs, and which indexes there are |
//! | [`command_line`] | verify, repair, archive and describe collections at the command line |
//! | [`testing`] | a throw-away server for your tests |
//! | [`calls`] | all calls, with their round trips |
//! | [`limits`] | servers, and what you cannot do |
//! | [`how_fast`] | figures |
//! | [`compared_with`] | other ways to store a series |
//! | [`how_it_is_proved`] | guarantees, model, failover record |
//!
//! The attributes are described at the derives: [`Bucket`](macro@crate::Bucket) and
//! [`Outlier`](macro@crate::Outlier).

#[doc = include_str!("guide/getting_started.md")]
pub mod getting_started {}

#[doc = include_str!("guide/which_pattern.md")]
pub mod which_pattern {}

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

#[doc = include_str!("guide/pages.md")]
pub mod pages {}

#[doc = include_str!("guide/queries.md")]
pub mod queries {}

#[doc = include_str!("guide/windows_and_rollups.md")]
pub mod windows_and_rollups {}

#[doc = include_str!("guide/safe_to_repeat.md")]
pub mod safe_to_repeat {}

#[doc = include_str!("guide/errors.md")]
pub mod errors {}

#[doc = include_str!("guide/edits.md")]
pub mod edits {}

#[doc = include_str!("guide/loading.md")]
pub mod loading {}

#[doc = include_str!("guide/importing.md")]
pub mod importing {}

#[doc = include_str!("guide/archive.md")]
pub mod archive {}

#[doc = include_str!("guide/outliers.md")]
pub mod outliers {}

#[doc = include_str!("guide/taking_over.md")]
pub mod taking_over {}

#[doc = include_str!("guide/changing_capacity.md")]
pub mod changing_capacity {}

#[doc = include_str!("guide/versions.md")]
pub mod versions {}

#[doc = include_str!("guide/sharding.md")]
pub mod sharding {}

#[doc = include_str!("guide/watching.md")]
pub mod watching {}

#[doc = include_str!("guide/bytes.md")]
pub mod bytes {}

#[doc = include_str!("guide/transactions.md")]
pub mod transactions {}

#[doc = include_str!("guide/command_line.md")]
pub mod command_line {}

#[doc = include_str!("guide/tracing.md")]
pub mod tracing {}

#[doc = include_str!("guide/privileges_and_indexes.md")]
pub mod privileges_and_indexes {}

// Its code needs the testkit, so the tests' package compiles it.
#[cfg_attr(not(doctest), doc = include_str!("guide/testing.md"))]
#[cfg_attr(doctest, doc = "How to test with a throw-away server.")]
pub mod testing {}

#[doc = include_str!("guide/calls.md")]
pub mod calls {}

#[doc = include_str!("guide/limits.md")]
pub mod limits {}

#[doc = include_str!("guide/how_fast.md")]
pub mod how_fast {}

#[doc = include_str!("guide/compared_with.md")]
pub mod compared_with {}

#[doc = include_str!("guide/how_it_is_proved.md")]
pub mod how_it_is_proved {}
