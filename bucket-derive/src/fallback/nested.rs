//! `Fields` after an error.

use proc_macro2::TokenStream;
use syn::Error;

use crate::{expand, model::nested::NestedModel};

/// The errors, and the fields as far as they could be read.
pub(crate) fn nested(model: &NestedModel<'_>, error: Error) -> TokenStream {
    let mut tokens = error.into_compile_error();
    if model.input.generics.params.is_empty() {
        tokens.extend(expand::nested::expand(model));
    }
    tokens
}
