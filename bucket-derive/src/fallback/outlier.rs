//! An `Outlier` that does nothing.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Type};

use super::unsent;
use crate::{
    expand::{fields::Fields, fit::Types, generics},
    model::{guess, outlier::OutlierModel},
};

/// The calls on the struct itself: those without an argument, with one, and with two.
pub(crate) const CALLS: [&str; 3] = [
    "extras_validator indexes validator",
    "create_collections item_too_long outliers",
    "create_collections_in outliers_in",
];

/// The errors, and an `Outlier` that does nothing: calls on the struct then need no messages of
/// their own.
pub(crate) fn outlier(model: &OutlierModel<'_>, error: Error) -> TokenStream {
    let krate = model.attr.krate();
    let runtime = [krate.to_token_stream(), model.attr.import()];
    let errors = unsent::errors(model.input, runtime, &model.fields, CALLS, error);
    let ident = &model.input.ident;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let mut predicates = generics::of_struct(model.input);
    predicates.push(generics::is_stored(model.input, &krate));
    // With a lifetime of its own, a predicate that does not hold is not an error here.
    let shared = generics::is_shared();
    predicates.push(quote!(for<'__a> #shared));
    let id = match id_type(model) {
        Some(ty) => {
            predicates.push(quote!(for<'__a> #ty: #krate::KeyField));
            quote!(#ty)
        }
        None => quote!(::core::primitive::bool),
    };
    let item = match items_type(model) {
        Some(ty) => {
            predicates.push(quote!(for<'__a> #ty: #krate::__private::ItemsField));
            generics::item_of(ty, &krate)
        }
        None => quote!(()),
    };
    let clause = generics::where_clause(&predicates);
    let identified = crate::expand::outlier::identified(model, &clause);
    let import = model.attr.import();
    let Fields {
        definition, stubs, ..
    } = crate::expand::outlier::fields(model, &Types::default());
    quote! {
        #errors

        #[allow(unused_qualifications)]
        const _: () = {
            #import
            #definition
            #identified
            #[automatically_derived]
            impl #parameters #krate::Outlier for #ident #arguments #clause {
                const SPEC: #krate::OutlierSpec = ::core::panic!();
                type Id = #id;
                type Item = #item;
                #stubs
                fn id(&self) -> #krate::IdRef<'_, Self> {
                    ::core::panic!()
                }
                fn items_mut(&mut self) -> &mut #krate::__private::Vec<Self::Item> {
                    ::core::panic!()
                }
            }
        };
    }
}

/// The id's type, or a guess: calls pass values of it.
fn id_type<'a>(model: &OutlierModel<'a>) -> Option<&'a Type> {
    let by_name = || model.fields.iter().find(|field| field.name == "id");
    let id = model.id().or_else(by_name).or(model.fields.first());
    id.map(|field| &field.node.ty)
}

/// The array's type, or a guess by spelling, which is good enough for a stub.
fn items_type<'a>(model: &OutlierModel<'a>) -> Option<&'a Type> {
    let is_vec = |ty: &Type| guess::item_of_vec(ty).is_some();
    let by_type = || model.fields.iter().find(|field| is_vec(&field.node.ty));
    model.items().or_else(by_type).map(|field| &field.node.ty)
}
