//! What stands in for the calls on a struct that cannot be handed from one task to another.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{DeriveInput, Error};

use crate::model::{Field, guess};

/// The errors. If a field makes every call a mistake, whatever is implemented, methods of the struct's
/// own stand before those of the trait: they give a type that is itself an error, and the compiler is
/// silent about it.
pub(super) fn errors<P>(
    input: &DeriveInput,
    [krate, import]: [TokenStream; 2],
    fields: &[Field<'_, P>],
    calls: &[&str],
    error: Error,
) -> TokenStream {
    if !fields.iter().any(|field| guess::has_rc(&field.node.ty)) {
        return error.into_compile_error();
    }
    let mut errors = error.into_iter().map(Error::into_compile_error);
    let first = errors.next();
    let calls = calls.iter().map(|name| Ident::new(name, Span::call_site()));
    let ident = &input.ident;
    let (parameters, arguments, clause) = input.generics.split_for_impl();
    quote! {
        #(#errors)*

        #[allow(dead_code)]
        const _: () = {
            #import
            type __Unsent = #krate::__private::Fit<(), { #first }>;
            #[automatically_derived]
            impl #parameters #ident #arguments #clause {
                pub const FIELDS: __Unsent = ::core::panic!();
                #(
                    pub fn #calls<__A>(_: __A) -> __Unsent {
                        ::core::panic!()
                    }
                )*
            }
        };
    }
}
