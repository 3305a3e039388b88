//! The derives of `bucket-runtime`, which re-exports them with their documentation.
//!
//! Each derive is five stages: parse the attributes, build a model, check it, expand it, and, after
//! an error, fall back to a stub. No stage reads a later one.
//!
//! `fuzz/` builds this crate as a plain library, hence the `cfg`s.

mod attr;
mod bounds;
mod bucket;
mod check;
mod element;
mod errors;
mod fallback;
mod fields;
mod fit;
mod generics;
mod id_format;
mod length;
mod limit;
mod list;
mod model;
mod outlier;
mod rename;
mod rollup;
mod runtime;
mod serde_attr;
mod size;
mod spans;
mod writer;

#[cfg(any(test, fuzzing))]
#[cfg_attr(
    fuzzing,
    allow(missing_docs, reason = "no part of the public interface")
)]
pub mod fuzz;
#[cfg(test)]
mod tests;

#[cfg(not(fuzzing))]
use proc_macro::TokenStream;

/// Stores a struct in buckets: see `bucket_runtime::Bucket`, where this derive stands.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Bucket, attributes(bucket, serde))]
pub fn derive_bucket(input: TokenStream) -> TokenStream {
    bucket::derive(input.into()).into()
}

/// Lets an array of a struct outgrow its document: see `bucket_runtime::Outlier`, where this derive
/// stands.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Outlier, attributes(outlier, serde))]
pub fn derive_outlier(input: TokenStream) -> TokenStream {
    outlier::derive(input.into()).into()
}
