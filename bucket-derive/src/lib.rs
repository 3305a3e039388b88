//! The derives of `bucket-runtime`, which re-exports them with their documentation.
//!
//! Each derive has five stages: parse the attributes, build a model, check it, expand it, and,
//! after an error, fall back to a stub. No stage uses a later one.
//!
//! `fuzz/` builds this crate as a plain library, hence the `cfg`s.

mod check;
mod errors;
mod expand;
mod fallback;
mod model;
mod parse;

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
use proc_macro2::TokenStream as TokenStream2;
use syn::DeriveInput;

use crate::errors::Errors;

/// Stores a struct in buckets: see `bucket_runtime::Bucket`, which re-exports this derive.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Bucket, attributes(bucket, serde))]
pub fn derive_bucket(input: TokenStream) -> TokenStream {
    bucket(input.into()).into()
}

/// Lets an array of a struct outgrow its document: see `bucket_runtime::Outlier`, which re-exports
/// this derive.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Outlier, attributes(outlier, serde))]
pub fn derive_outlier(input: TokenStream) -> TokenStream {
    outlier(input.into()).into()
}

/// Reads some fields of an item or a parent: see `bucket_runtime::Part`, which re-exports this
/// derive.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Part, attributes(part, serde))]
pub fn derive_part(input: TokenStream) -> TokenStream {
    part(input.into()).into()
}

/// Names the fields inside a value: see `bucket_runtime::Fields`, which re-exports this derive.
#[cfg(not(fuzzing))]
#[proc_macro_derive(Fields, attributes(fields, serde))]
pub fn derive_fields(input: TokenStream) -> TokenStream {
    nested(input.into()).into()
}

/// A derive's stages in order, for each derive.
macro_rules! derives {
    ($($stage:ident $model:ident,)+) => {$(
        fn $stage(input: TokenStream2) -> TokenStream2 {
            let input = match syn::parse2::<DeriveInput>(input) {
                Ok(input) => input,
                Err(error) => return error.into_compile_error(),
            };
            let mut errors = Errors::new();
            let model = model::$stage::$model::read(&input, &mut errors);
            match check::$stage::check(&model, errors) {
                Ok(checked) => expand::$stage::expand(&checked),
                Err(error) => fallback::$stage(&model, error),
            }
        }
    )+};
}

derives! {
    bucket BucketModel,
    outlier OutlierModel,
    part PartModel,
    nested NestedModel,
}
