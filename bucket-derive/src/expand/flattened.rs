//! The names that flattened fields bring into a struct's document.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

use crate::model::Field;

/// The member that tells the flattened fields from the others, if there are some; `flag` is a further name that
/// is taken.
pub(crate) fn flattened<Part>(
    krate: &Path,
    fields: &[Field<'_, Part>],
    flag: Option<TokenStream>,
) -> Option<TokenStream> {
    let is_flat = |field: &&Field<'_, Part>| field.serde.has("flatten");
    let (flat, others): (Vec<_>, Vec<_>) = fields.iter().partition(is_flat);
    if flat.is_empty() {
        return None;
    }
    let names = others.iter().map(|field| &field.serde);
    let names = names.flat_map(|serde| {
        let written = serde.write.iter().filter(|name| !serde.read.contains(name));
        written.chain(&serde.read)
    });
    // A function of the user's own may write other names than the value has.
    let known = flat
        .iter()
        .filter(|field| !field.is_left_out() && !field.has_own_format());
    let known = known.map(|field| field.ident);
    let private = quote!(#krate::__private);
    Some(quote! {
        const FLATTENED: ::core::option::Option<#private::Flattened<Self>> =
            ::core::option::Option::Some(#private::Flattened {
                others: &[#(#names,)* #flag],
                add_names: |__this, __names| {
                    #(#private::add_names(&__this.#known, __names);)*
                },
            });
    })
}
