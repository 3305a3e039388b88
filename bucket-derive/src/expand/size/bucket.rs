//! The sizes of a bucket's fields.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Prober, bounded, is_unbounded_text, probing, proved as proved_by};
use crate::{
    expand::{fit::Types, limit},
    model::bucket::{BucketModel, Role},
    parse::attr::{Limit, Spanned},
};

/// The spec with the proof that a full bucket fits; `None` if that cannot be proved.
pub(crate) fn proved(
    model: &BucketModel<'_>,
    types: &Types,
    capacity: &Spanned<Limit>,
    spec: &TokenStream,
) -> Option<TokenStream> {
    let (keys, sizes) = sizes(model, types)?;
    let arguments = quote!(#spec, &[#(#keys),*], &[#(#sizes),*]);
    let krate = model.attr.krate();
    let (probing, call) = (
        probing(&krate),
        proved_by(&krate, ["BucketSpec", "bounded"], arguments, capacity),
    );
    Some(quote!(#probing #call))
}

/// The lengths of the keys' texts, and the fields of an element with their sizes; `None` if these depend
/// on serde's attributes or on a type parameter.
fn sizes(model: &BucketModel<'_>, types: &Types) -> Option<(Vec<TokenStream>, Vec<TokenStream>)> {
    let is_generic = !model.input.generics.params.is_empty();
    if is_generic || model.serde.find("tag").is_some() {
        return None;
    }
    let krate = model.attr.krate();
    let prober = Prober {
        input: model.input,
        krate: &krate,
        types,
    };
    if model.keys().any(is_unbounded_text) {
        return None;
    }
    let keys = model.keys().map(|key| prober.text(key));
    let mut sizes = Vec::new();
    for field in model.elements() {
        if field.is_left_out() {
            continue;
        }
        // A flattened field has no name, and its size is not known.
        let name = field.serde.write.as_ref()?;
        if field.has_own_format() || is_unbounded_text(field) {
            return None;
        }
        let size = match field.part {
            Role::Time => quote!(::core::option::Option::Some(8)),
            _ => prober.size(field),
        };
        sizes.push(quote!((#name, #size)));
    }
    Some((keys.collect(), sizes))
}

/// The method that finds values longer than their `max_len`, if a field has one.
pub(crate) fn too_long(model: &BucketModel<'_>, types: &Types) -> Option<TokenStream> {
    let krate = model.attr.krate();
    let checks = bounded(&model.fields).map(|(field, max)| {
        let (ident, name) = (field.ident, &field.name);
        let max = limit::value(max, Some(name));
        let alias = types.alias(field).map(|alias| quote!(::<#alias>));
        quote!(#krate::TooLong::check #alias(#name, &self.#ident, #max))
    });
    let checks = Vec::from_iter(checks);
    let (first, others) = checks.split_first()?;
    Some(quote! {
        fn too_long(&self) -> ::core::option::Option<#krate::TooLong> {
            #first #(.or_else(|| #others))*
        }
    })
}
