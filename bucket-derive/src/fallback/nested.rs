//! `Fields` after an error.

use proc_macro2::TokenStream;
use syn::Error;

use crate::{expand, model::nested::Model};

/// The errors, and the fields as far as they could be read.
pub(crate) fn nested(model: &Model<'_>, error: Error) -> TokenStream {
    let mut tokens = error.into_compile_error();
    if model.input.generics.params.is_empty() {
        tokens.extend(expand::nested::expand(model));
    }
    tokens
}
