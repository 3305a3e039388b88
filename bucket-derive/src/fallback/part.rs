//! A part that does nothing.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;

use crate::model::part::PartModel;

/// The errors, and a part that does nothing, if it is known of which struct.
pub(crate) fn part(model: &PartModel<'_>, error: Error) -> TokenStream {
    let error = error.into_compile_error();
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let ident = &model.input.ident;
    let stub = model
        .of()
        .filter(|_| model.input.generics.params.is_empty());
    // With a lifetime of its own, a predicate that does not hold is not an error here.
    let stub = stub.map(|of| {
        quote! {
            const _: () = {
                #import
                #[automatically_derived]
                impl #krate::Part for #ident where for<'__a> Self: ::core::marker::Send {
                    type Of = #of;
                    const NAMES: &'static [&'static [&'static ::core::primitive::str]] = &[];
                    fn read(
                        _: &#krate::PartReader<'_>,
                    ) -> ::core::result::Result<Self, #krate::__private::ReadError> {
                        ::core::panic!()
                    }
                }
            };
        }
    });
    quote!(#error #stub)
}
