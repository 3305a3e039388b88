//! A `Bucket` that does nothing.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Path, Type};

use super::unsent;
use crate::{
    errors::did_you_mean,
    expand::{fields::Fields, fit::Types, generics, rollup::Rollups},
    model::{bucket::BucketModel, guess},
    parse::id_format::{MAX_KEYS, PartKind},
};

/// The calls on the struct itself: those without an argument, with one, and with two (there are
/// none).
pub(crate) const CALLS: [&str; 3] = [
    "indexes shard_key unwind validator",
    "buckets buckets_in create_collection create_collection_in",
    "",
];

/// The errors, and a `Bucket` that does nothing: calls on the struct then need no messages of
/// their own.
pub(crate) fn bucket(model: &BucketModel<'_>, error: Error) -> TokenStream {
    let krate = model.attr.krate();
    let runtime = [krate.to_token_stream(), model.attr.import()];
    let errors = unsent::errors(model.input, runtime, &model.fields, CALLS, error);
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let keys = key_types(model);
    let clause = generics::where_clause(&predicates(&krate, model, &keys));
    let key = match keys.is_empty() {
        true => quote!(::core::primitive::bool,),
        false => quote!(#(#keys,)*),
    };
    let import = model.attr.import();
    let markers = crate::expand::bucket::markers(model, &clause);
    let Fields {
        definition, stubs, ..
    } = crate::expand::bucket::fields(model, &Types::default());
    let Rollups {
        definition: rollups,
        stubs: rollup_stubs,
        ..
    } = crate::expand::rollup::rollups(model, &Types::default());
    quote! {
        #errors

        #[allow(unused_qualifications)]
        const _: () = {
            #import
            #definition
            #rollups
            #markers
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
                ) -> #krate::__private::Serialized<__S> {
                    ::core::panic!()
                }
                fn from_parts(_: Self::Key, _: Self::Element) -> Self {
                    ::core::panic!()
                }
            }
        };
    }
}

/// The predicates of the stub.
fn predicates(krate: &Path, model: &BucketModel<'_>, keys: &[Type]) -> Vec<TokenStream> {
    let mut predicates = generics::of_struct(model.input);
    // With a lifetime of its own, a predicate that does not hold is not an error here.
    let shared = generics::is_shared();
    predicates.push(quote!(for<'__a> #shared));
    let keys = keys.iter();
    predicates.extend(keys.map(|ty| quote!(for<'__a> #ty: #krate::KeyField)));
    predicates
}

/// The types of the key, or a guess: calls pass values of these types.
fn key_types(model: &BucketModel<'_>) -> Vec<Type> {
    let parts = model.format.parts.iter();
    let mut names = Vec::from_iter(parts.filter_map(|part| match &part.kind {
        PartKind::Field { name, .. } => Some(name.as_str()),
        _ => None,
    }));
    // A text with one placeholder is more likely to lack its ordinal than its key.
    if names.len() > 1 && model.format.ordinal().is_some() {
        names = model.format.keys().collect();
    }
    let known = || model.fields.iter().map(|field| field.name.as_str());
    let meant = names.into_iter().filter_map(|name| {
        let written = model.field(name);
        written.or_else(|| model.field(did_you_mean(name, known())?))
    });
    let mut types = Vec::from_iter(
        meant
            .map(|field| guess::owned(&field.node.ty))
            .take(MAX_KEYS),
    );
    if types.is_empty() {
        types.extend(guess::key(&model.fields).map(|field| guess::owned(&field.node.ty)));
    }
    types
}
