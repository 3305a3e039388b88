//! A `Bucket` that does nothing.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Type};

use crate::{
    errors::did_you_mean,
    fields::Fields,
    generics,
    id_format::Kind,
    model::{bucket::Model, guess},
    rollup::Rollups,
};

/// As many fields as a key can have.
const MAX_KEYS: usize = 6;

/// The errors, and a `Bucket` that does nothing: calls on the struct then need no messages of
/// their own.
pub(crate) fn bucket(model: &Model<'_>, error: Error) -> TokenStream {
    let errors = error.into_compile_error();
    let krate = model.attr.krate();
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let keys = key_types(model);
    let key = match keys.is_empty() {
        true => quote!(::core::primitive::bool,),
        false => quote!(#(#keys,)*),
    };
    // With a lifetime of its own, a requirement that does not hold is no error here.
    let mut predicates = generics::of_struct(model.input);
    predicates.push(quote! {
        for<'__a> Self: ::core::marker::Send + ::core::marker::Sync + 'static
    });
    for ty in keys {
        predicates.push(quote!(for<'__a> #ty: #krate::KeyField));
    }
    let clause = generics::where_clause(&predicates);
    let import = model.attr.import();
    let windowed = crate::bucket::windowed(model, &clause);
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
            #import
            #definition
            #rollups
            #windowed
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

/// The types of the key, or what they most likely are: calls pass values of them.
fn key_types<'a>(model: &Model<'a>) -> Vec<&'a Type> {
    let parts = model.format.parts.iter();
    let mut names = Vec::from_iter(parts.filter_map(|part| match &part.kind {
        Kind::Field { name, .. } => Some(name.as_str()),
        _ => None,
    }));
    // A format with one placeholder is more likely to lack its ordinal than its key.
    if names.len() > 1 && model.format.ordinal().is_some() {
        names = model.format.keys().collect();
    }
    let known = || model.fields.iter().map(|field| field.name.as_str());
    let meant = names.into_iter().filter_map(|name| {
        let written = model.field(name);
        written.or_else(|| model.field(did_you_mean(name, known())?))
    });
    let mut types = Vec::from_iter(meant.map(|field| &field.node.ty).take(MAX_KEYS));
    if types.is_empty() {
        types.extend(guess::key(&model.fields).map(|field| &field.node.ty));
    }
    types
}
