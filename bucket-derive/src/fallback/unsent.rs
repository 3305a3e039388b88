//! Replaces the calls on a struct that cannot go from one task to another.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, Error};

use crate::model::{Field, guess};

/// The errors. If an `Rc` in a field would make every call an error, the struct gets methods of its
/// own, which come before the trait's: they return a type that is itself an error, so the compiler
/// reports nothing more.
pub(super) fn errors<P>(
    input: &DeriveInput,
    [krate, import]: [TokenStream; 2],
    fields: &[Field<'_, P>],
    calls: [&str; 3],
    error: Error,
) -> TokenStream {
    if !fields.iter().any(|field| guess::has_rc(&field.node.ty)) {
        return error.into_compile_error();
    }
    let mut errors = error.into_iter().map(Error::into_compile_error);
    let first = errors.next();
    let calls = names(calls).map(|(name, arguments)| {
        let name = Ident::new(name, Span::call_site());
        let types = Vec::from_iter((0..arguments).map(|n| format_ident!("__A{n}")));
        quote! {
            pub fn #name<#(#types),*>(#(_: #types),*) -> __Unsent { ::core::panic!() }
        }
    });
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
                #(#calls)*
            }
        };
    }
}

/// The names of calls without an argument, with one and with two, each with its number of
/// arguments.
pub(crate) fn names(calls: [&str; 3]) -> impl Iterator<Item = (&str, usize)> {
    let calls = calls.into_iter().enumerate();
    calls.flat_map(|(arguments, names)| names.split_whitespace().map(move |name| (name, arguments)))
}
