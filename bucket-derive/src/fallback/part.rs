//! A `BucketPart` or an `OutlierPart` that does nothing.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

use crate::model::part::Model;

/// The errors, and a `BucketPart` that does nothing, if it is known of which struct.
pub(crate) fn bucket_part(model: &Model<'_>, error: Error) -> TokenStream {
    let krate = model.attr.krate();
    let members = quote! {
        const NAMES: &'static [&'static ::core::primitive::str] = &[];
        type Element = ();
        fn from_parts(_: &<Self::Of as #krate::Bucket>::Key, _: Self::Element) -> Self {
            ::core::panic!()
        }
    };
    part(
        model,
        error,
        quote!(BucketPart),
        members,
        TokenStream::new(),
    )
}

/// The same for an `OutlierPart`.
pub(crate) fn outlier_part(model: &Model<'_>, error: Error) -> TokenStream {
    let krate = model.attr.krate();
    let members = quote! {
        const NAMES: &'static [&'static ::core::primitive::str] = &[];
    };
    // With a lifetime of its own, a predicate that does not hold is no error here.
    let clause = quote!(where for<'__a> Self: #krate::__private::serde::de::DeserializeOwned);
    part(model, error, quote!(OutlierPart), members, clause)
}

fn part(
    model: &Model<'_>,
    error: Error,
    name: TokenStream,
    members: TokenStream,
    clause: TokenStream,
) -> TokenStream {
    let error = error.into_compile_error();
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let ident = &model.input.ident;
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
                    #members
                }
            };
        }
    });
    quote!(#error #stub)
}
