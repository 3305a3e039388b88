//! A `BucketPart` or an `OutlierPart` that does nothing.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

use crate::model::part::{Model, Pattern};

/// The errors, and a part that does nothing, if it is known of which struct.
pub(crate) fn part(model: &Model<'_>, error: Error) -> TokenStream {
    let error = error.into_compile_error();
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let ident = &model.input.ident;
    let (name, clause, members) = match model.pattern {
        Pattern::Bucket => {
            let members = quote! {
                type Element = ();
                fn from_parts(_: &<Self::Of as #krate::Bucket>::Key, _: Self::Element) -> Self {
                    ::core::panic!()
                }
            };
            (quote!(BucketPart), None, Some(members))
        }
        Pattern::Outlier => {
            // With a lifetime of its own, a predicate that does not hold is no error here.
            let owned = quote!(#krate::__private::serde::de::DeserializeOwned);
            let clause = quote!(where for<'__a> Self: #owned);
            (quote!(OutlierPart), Some(clause), None)
        }
    };
    let stub = model
        .of()
        .filter(|_| model.input.generics.params.is_empty());
    let stub = stub.map(|of| {
        quote! {
            const _: () = {
                #import
                #[automatically_derived]
                impl #krate::#name for #ident #clause {
                    type Of = #of;
                    const NAMES: &'static [&'static ::core::primitive::str] = &[];
                    #members
                }
            };
        }
    });
    quote!(#error #stub)
}
