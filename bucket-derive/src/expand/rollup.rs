//! The struct behind `Rollups`, with a field for each `sum`, `min` or `max` field of the struct.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Ident, ext::IdentExt};

use crate::{
    expand::{
        bounds,
        fit::{Rule, Types},
        generics,
        spans::{last_span, located_at},
        type_name::type_name,
    },
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
};

/// The struct with the rollups, and the trait's members that use it.
pub(crate) struct Rollups {
    pub(crate) definition: TokenStream,
    pub(crate) members: TokenStream,
    /// The members for a stub.
    pub(crate) stubs: TokenStream,
    /// The names, for the spec.
    pub(crate) spec: TokenStream,
}

pub(crate) fn rollups(model: &BucketModel<'_>, types: &Types) -> Rollups {
    let kept = Vec::from_iter(model.rollups());
    if kept.is_empty() {
        let members = quote!(
            type Rollups = ();
        );
        return Rollups {
            definition: TokenStream::new(),
            stubs: members.clone(),
            members,
            spec: TokenStream::new(),
        };
    }
    let krate = model.attr.krate();
    let ident = type_name(model.input, "Rollups");
    let (_, arguments, _) = model.input.generics.split_for_impl();
    let values = kept.iter().map(|field| {
        let ident = field.ident;
        let to_rollup = types.call(field, &krate, "RollupField", "to_rollup");
        quote!(#to_rollup(&self.#ident))
    });
    Rollups {
        members: quote! {
            type Rollups = #ident #arguments;
            fn rollup_values(
                &self,
            ) -> #krate::__private::Vec<::core::option::Option<#krate::__private::Bson>> {
                ::core::convert::From::from([#(#values),*])
            }
        },
        stubs: quote!(type Rollups = #ident #arguments;),
        spec: spec(model),
        definition: definition(model, types, &ident, &kept),
    }
}

/// The struct. Its `Clone` and `Debug` are written out, since a derive takes the compiler longer.
fn definition(
    model: &BucketModel<'_>,
    types: &Types,
    ident: &Ident,
    kept: &[&Field<'_, Role>],
) -> TokenStream {
    let krate = model.attr.krate();
    let visibility = &model.input.vis;
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let clause = generics::where_clause(&predicates(model, types));
    let definitions = kept.iter().map(|field| {
        let (visibility, ident) = (&field.node.vis, field.ident);
        let ty = field_type(model, types, field);
        quote!(#visibility #ident: #ty)
    });
    let reads = kept.iter().map(|field| read(field));
    let idents = kept.iter().map(|field| field.ident);
    let clones = idents.map(|ident| quote!(#ident: ::core::clone::Clone::clone(&self.#ident)));
    let debugs = kept.iter().map(|field| {
        let (ident, name) = (field.ident, &field.name);
        quote!(::core::fmt::DebugStruct::field(&mut __debug, #name, &self.#ident);)
    });
    // A parameter must be used, and maybe no field uses it.
    let is_generic = !model.input.generics.params.is_empty();
    let this = generics::self_type(model.input);
    let phantom = is_generic
        .then(|| quote!(#[doc(hidden)] __of: ::core::marker::PhantomData<fn() -> #this>,));
    let of_nothing = is_generic.then(|| quote!(__of: ::core::marker::PhantomData,));
    let name = model.input.ident.unraw().to_string() + "Rollups";
    quote! {
            #[allow(dead_code, non_camel_case_types, non_snake_case)]
            #visibility struct #ident #parameters #clause {
                #(#definitions,)*
                #phantom
            }
            #[automatically_derived]
            impl #parameters ::core::clone::Clone for #ident #arguments #clause {
                fn clone(&self) -> Self {
                    Self { #(#clones,)* #of_nothing }
                }
            }
            #[automatically_derived]
            impl #parameters ::core::fmt::Debug for #ident #arguments #clause {
                fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    let mut __debug = ::core::fmt::Formatter::debug_struct(__f, #name);
                    #(#debugs)*
                    ::core::fmt::DebugStruct::finish(&mut __debug)
                }
            }
            #[automatically_derived]
            impl #parameters #krate::RollupFields for #ident #arguments #clause {
                fn read(
                    __fields: &mut #krate::RollupReader,
                ) -> ::core::option::Option<Self> {
                    ::core::option::Option::Some(Self { #(#reads,)* #of_nothing })
                }
            }
    }
}

/// Reads the rollup of a field.
fn read(field: &Field<'_, Role>) -> TokenStream {
    let ident = field.ident;
    let read = match field.attr.word("sum") {
        Some(_) => quote!(sum_field),
        None => quote!(field),
    };
    quote!(#ident: __fields.#read()?)
}

fn predicates(model: &BucketModel<'_>, types: &Types) -> Vec<TokenStream> {
    let mut predicates = generics::of_struct(model.input);
    predicates.extend(types.predicates(|rule| matches!(rule, Rule::Sum | Rule::Rollup)));
    predicates.extend(bounds::params_are_shared(model));
    predicates
}

fn field_type(model: &BucketModel<'_>, types: &Types, field: &Field<'_, Role>) -> TokenStream {
    let end = last_span(&field.node.ty);
    let krate = located_at(&model.attr.krate(), end);
    let ty = types.of(model.input, field);
    let [sum, min, max] = ["sum", "min", "max"].map(|word| field.attr.word(word).is_some());
    quote_spanned!(end=> #krate::FieldRollup<#ty, #sum, #min, #max>)
}

fn spec(model: &BucketModel<'_>) -> TokenStream {
    let krate = model.attr.krate();
    let names = model.rollups().map(|field| {
        let name = &field.serde.write;
        let words = field.attr.rollups().map(|word| quote!(.#word()));
        quote!(#krate::RollupName::new(#name) #(#words)*)
    });
    quote!(.rollups(&[#(#names),*]))
}
