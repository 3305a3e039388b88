//! Tests of the stages, and of whole derives without the compiler.

mod attributes;
mod did_you_mean;
mod docs;
mod expansions;
mod fuzz;
mod help;
mod id_format;
mod messages;
mod names;
mod runtime;
mod stubs;
