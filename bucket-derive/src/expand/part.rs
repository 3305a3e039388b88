//! Writes the code of `#[derive(Part)]`.
//!
//! A part names fields of the whole struct's `FIELDS`, which know how they are read. So the compiler compares
//! names and types, and the serde attributes of the whole struct hold for the part as well.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

use crate::{
    check::part::PartChecked,
    expand::{generics, spans::located_at},
};

pub(crate) fn expand(checked: &PartChecked<'_>) -> TokenStream {
    let (model, of) = (checked.model, checked.of);
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let (private, whole) = (
        quote!(#krate::__private),
        quote!(#krate::field::StructFields),
    );
    let (ident, this) = (&model.input.ident, generics::self_type(model.input));
    // An editor takes each token at this place for a use of the struct, so only one is there.
    let elsewhere = located_at(of, Span::call_site());
    let names = model.fields.iter().map(|field| field.ident);
    // The field of the whole struct. An unknown one is an error at the part's field.
    let values = model.fields.iter().map(|field| {
        let ident = field.ident;
        let ty = generics::without_self(field.node.ty.to_token_stream(), &this);
        quote! {
            #ident: __reader
                .field(&(*__FIELDS).#ident)?
                .read::<#ty>(#private::MaybeRead::<#ty>::__read)?
        }
    });
    quote! {
        #[allow(deprecated)]
        const _: () = {
            #import
            #[allow(unused_imports)]
            use #private::NotRead as _;
            type __Of = #private::Fit<#elsewhere, { #private::fit::whole::<#of>() }>;
            const __FIELDS: &<__Of as #whole>::Fields = <__Of as #whole>::FIELDS;
            #[automatically_derived]
            impl #krate::Part for #ident {
                type Of = __Of;
                const NAMES: &'static [&'static [&'static ::core::primitive::str]] =
                    &[#((*__FIELDS).#names.names()),*];
                fn read(
                    __reader: &#krate::PartReader<'_>,
                ) -> ::core::result::Result<Self, #private::ReadError> {
                    ::core::result::Result::Ok(Self { #(#values),* })
                }
            }
        };
    }
}
