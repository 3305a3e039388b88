//! The sizes of a parent's fields, and of its items.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Prober, bounded, is_unbounded_text, probing, proved as proved_by};
use crate::{
    check::outlier::OutlierChecked,
    expand::{fit::Types, limit},
    model::{Field, outlier::Marks},
};

/// The serde attributes of a struct that change neither which fields are stored nor in which form.
const HARMLESS: &str = "rename rename_all default deny_unknown_fields bound crate";

/// The spec with the proof that full parents and extras documents fit; `None` if neither can be proved.
pub(crate) fn proved(
    checked: &OutlierChecked<'_>,
    types: &Types,
    spec: &TokenStream,
) -> Option<TokenStream> {
    let (input, krate) = (checked.model.input, checked.model.attr.krate());
    let is_told = |field: &Field<'_, Marks>| field.serde.write.is_some() && !field.has_own_format();
    if !input.generics.params.is_empty()
        || !checked.model.serde.has_only(HARMLESS)
        || !is_told(checked.items)
        || is_unbounded_text(checked.items)
    {
        return None;
    }
    let prober = Prober {
        input,
        krate: &krate,
        types,
    };
    let (probing, item) = (probing(&krate), prober.item_size(checked.items));
    let fields = checked.model.fields.iter();
    let stored = fields.filter(|field| !field.is_left_out() && field.attr.word("items").is_none());
    let stored = Vec::from_iter(stored);
    let is_sized = |field: &&Field<'_, Marks>| is_told(field) && !is_unbounded_text(field);
    let spec = if stored.iter().all(is_sized) {
        let sizes = stored.iter().map(|field| {
            let (name, size) = (&field.serde.write, prober.size(field));
            quote!((#name, #size))
        });
        let arguments = quote!(#spec, &[#(#sizes),*], #item);
        proved_by(
            &krate,
            ["OutlierSpec", "bounded"],
            arguments,
            checked.threshold,
        )
    } else {
        spec.clone()
    };
    let id = prober.text(checked.id);
    let extras_capacity = checked.model.attr.extras_capacity.as_ref();
    let extras = proved_by(
        &krate,
        ["OutlierSpec", "bounded_extras"],
        quote!(#spec, #id, #item),
        extras_capacity.unwrap_or(checked.threshold),
    );
    Some(quote!(#probing #extras))
}

/// The methods that find values longer than their `max_len`, for the fields and for the items.
pub(crate) fn too_long(checked: &OutlierChecked<'_>, types: &Types) -> TokenStream {
    let krate = checked.model.attr.krate();
    let check = |field: &Field<'_, Marks>, max, value: TokenStream| {
        let max = limit::value(max, Some(&field.name));
        let name = &field.name;
        let is_item = field.attr.word("items").is_some();
        let alias = types.alias(field).filter(|_| !is_item);
        let alias = alias.map(|alias| quote!(::<#alias>));
        quote!(#krate::TooLong::check #alias(#name, #value, #max))
    };
    let mut of_item = None;
    let mut checks = Vec::new();
    for (field, max) in bounded(&checked.model.fields) {
        let ident = field.ident;
        if field.attr.word("items").is_some() {
            of_item = Some(check(field, max, quote!(__item)));
            let first = quote!(#krate::__private::first_too_long);
            checks.push(quote!(#first(&self.#ident, Self::item_too_long)));
        } else {
            checks.push(check(field, max, quote!(&self.#ident)));
        }
    }
    let of_item = of_item.map(|check| {
        quote! {
            fn item_too_long(__item: &Self::Item) -> ::core::option::Option<#krate::TooLong> {
                #check
            }
        }
    });
    let of_parent = checks.split_first().map(|(first, others)| {
        quote! {
            fn too_long(&self) -> ::core::option::Option<#krate::TooLong> {
                #first #(.or_else(|| #others))*
            }
        }
    });
    quote!(#of_parent #of_item)
}
