//! Tests of the stages, and of the whole without a compiler behind it.

mod attributes;
mod did_you_mean;
mod docs;
mod expansions;
mod fuzz;
mod help;
mod id_format;
mod names;
mod runtime;
