//! A `Bucket` that does nothing.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

use crate::{fields::Fields, generics, model::bucket::Model, rollup::Rollups};

/// The errors, and a `Bucket` that does nothing: calls on the struct then need no messages of
/// their own.
pub(crate) fn bucket(model: &Model<'_>, error: Error) -> TokenStream {
    let errors = error.into_compile_error();
    let krate = model.attr.krate();
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let keys = Vec::from_iter(model.keys().map(|key| &key.node.ty));
    // Where the key is known, so are the types that calls pass. Any key does otherwise.
    let (key, known) = if keys.is_empty() || keys.len() > 6 {
        (quote!(::core::primitive::bool,), Vec::new())
    } else {
        (quote!(#(#keys,)*), keys)
    };
    // With a lifetime of its own, a requirement that does not hold is no error here.
    let mut predicates = generics::of_struct(model.input);
    predicates.push(quote! {
        for<'__a> Self: ::core::marker::Send + ::core::marker::Sync + 'static
    });
    for ty in known {
        predicates.push(quote!(for<'__a> #ty: #krate::KeyField));
    }
    let clause = generics::where_clause(&predicates);
    let Fields {
        definition, stubs, ..
    } = crate::bucket::fields(model);
    let Rollups {
        definition: rollups,
        stubs: rollup_stubs,
        ..
    } = crate::rollup::rollups(model);
    quote! {
        #errors

        #[allow(unused_qualifications)]
        const _: () = {
            #definition
            #rollups
            #[automatically_derived]
            impl #parameters #krate::Bucket for #ident #arguments #clause {
                const SPEC: #krate::BucketSpec = ::core::panic!();
                type Key = (#key);
                type Element = ();
                #stubs
                #rollup_stubs
                fn key(&self) -> #krate::KeyRef<'_, Self> {
                    ::core::panic!()
                }
                fn time(&self) -> ::core::option::Option<#krate::__private::DateTime> {
                    ::core::panic!()
                }
                fn serialize_element<__S: #krate::__private::serde::Serializer>(
                    &self,
                    _: __S,
                ) -> ::core::result::Result<__S::Ok, __S::Error> {
                    ::core::panic!()
                }
                fn from_parts(_: Self::Key, _: Self::Element) -> Self {
                    ::core::panic!()
                }
            }
        };
    }
}
