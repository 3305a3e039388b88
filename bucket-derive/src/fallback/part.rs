//! A part that does nothing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Error;

use crate::model::part::{PartModel, Whole};

/// The errors, and a part that does nothing, if it is known of which struct.
pub(crate) fn part(model: &PartModel<'_>, error: Error) -> TokenStream {
    let error = error.into_compile_error();
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let ident = &model.input.ident;
    let name = Ident::new(model.whole.derive().name, Span::call_site());
    let (read, members) = match model.whole {
        Whole::Bucket => {
            let members = quote! {
                type Element = ();
                fn from_parts(_: &<Self::Of as #krate::Bucket>::Key, _: Self::Element) -> Self {
                    ::core::panic!()
                }
            };
            (quote!(Self::Element), Some(members))
        }
        Whole::Outlier | Whole::Item => (quote!(Self), None),
    };
    let stub = model
        .of()
        .filter(|_| model.input.generics.params.is_empty());
    // With a lifetime of its own, a predicate that does not hold is not an error here.
    let stub = stub.map(|of| {
        quote! {
            const _: () = {
                #import
                #[automatically_derived]
                impl #krate::#name for #ident where for<'__a> Self: ::core::marker::Send {
                    type Of = #of;
                    const NAMES: &'static [&'static [&'static ::core::primitive::str]] = &[];
                    fn read<'__de, __A: #krate::__private::serde::de::MapAccess<'__de>>(
                        _: &mut #krate::PartReader<__A>,
                    ) -> ::core::result::Result<#read, __A::Error> {
                        ::core::panic!()
                    }
                    #members
                }
            };
        }
    });
    quote!(#error #stub)
}
