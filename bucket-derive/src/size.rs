//! Writes what is known of the sizes of a bucket's fields, and the check of those that are bounded.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use crate::{
    attr::{Limit, Spanned},
    generics, limit,
    model::{
        Field,
        bucket::{Model, Role},
    },
    spans::{last_span, located_at},
};

/// The constants of the limits of fields.
pub(crate) fn constants(model: &Model<'_>) -> Vec<TokenStream> {
    let krate = model.attr.krate();
    let bounded = bounded(model);
    bounded
        .filter_map(|(field, max)| limit::constant_of_field(max, &field.name, &krate))
        .collect()
}

/// The spec, for which the compiler proves, if it can, that a full bucket fits. If none does, it
/// says so at the capacity.
pub(crate) fn proved(
    model: &Model<'_>,
    capacity: &Spanned<Limit>,
    spec: TokenStream,
) -> TokenStream {
    let Some((keys, sizes)) = sizes(model) else {
        return spec;
    };
    let at = match &capacity.value {
        Limit::Literal { node, .. } => last_span(node),
        Limit::Const(path) => last_span(path),
    };
    let krate = model.attr.krate();
    let probing = quote! {
        #[allow(unused_imports)]
        use #krate::__private::Unknown as _;
    };
    let arguments = quote!(#spec, &[#(#keys),*], &[#(#sizes),*]);
    let krate = located_at(&krate, at);
    let call = quote_spanned!(at=> #krate::BucketSpec::bounded(#arguments));
    quote!(#probing #call)
}

/// The lengths of the keys' texts, and the fields of an element with their sizes; `None` where serde
/// or a type parameter has a say in what is stored.
fn sizes(model: &Model<'_>) -> Option<(Vec<TokenStream>, Vec<TokenStream>)> {
    let is_generic = !model.input.generics.params.is_empty();
    if is_generic || model.serde.find("tag").is_some() {
        return None;
    }
    let keys = model.keys().map(|key| match key.attr.limit("max_len") {
        Some(max) => {
            let max = limit::value_of_field(max, &key.name);
            quote!(::core::option::Option::Some(#max))
        }
        None => probe(model, key, "TEXT"),
    });
    let mut sizes = Vec::new();
    for field in model.elements() {
        let Some(name) = &field.serde.write else {
            match field.serde.has("skip") || field.serde.has("skip_serializing") {
                true => continue,
                // What is flattened brings names of its own.
                false => return None,
            }
        };
        let size = size(model, field)?;
        sizes.push(quote!((#name, #size)));
    }
    Some((keys.collect(), sizes))
}

/// How many bytes a value of the field takes, if its type tells; `None` if not even a type could.
fn size(model: &Model<'_>, field: &Field<'_, Role>) -> Option<TokenStream> {
    if field.has_own_format() {
        return None;
    }
    let krate = model.attr.krate();
    Some(match field.attr.limit("max_len") {
        _ if field.part == Role::Time => quote!(::core::option::Option::Some(8)),
        Some(max) => {
            let len = probe(model, field, "LEN");
            let max = limit::value_of_field(max, &field.name);
            quote!(#krate::__private::len_size(#len, #max))
        }
        None => probe(model, field, "SIZE"),
    })
}

fn probe(model: &Model<'_>, field: &Field<'_, Role>, what: &str) -> TokenStream {
    let krate = model.attr.krate();
    let ty = generics::without_self(
        field.node.ty.to_token_stream(),
        &generics::self_type(model.input),
    );
    let what = proc_macro2::Ident::new(what, Span::call_site());
    quote!(#krate::__private::Probe::<#ty>::#what)
}

/// The method that finds values which are too long, if some must not be.
pub(crate) fn too_long(model: &Model<'_>) -> Option<TokenStream> {
    let krate = model.attr.krate();
    let checks = bounded(model).map(|(field, max)| {
        let (ident, name) = (field.ident, &field.name);
        let max = limit::value_of_field(max, name);
        quote!(#krate::TooLong::check(#name, &self.#ident, #max))
    });
    let checks = Vec::from_iter(checks);
    let (first, others) = checks.split_first()?;
    Some(quote! {
        fn too_long(&self) -> ::core::option::Option<#krate::TooLong> {
            #first #(.or_else(|| #others))*
        }
    })
}

/// That the bounded fields have a length.
pub(crate) fn lens_are_fit(model: &Model<'_>) -> Vec<TokenStream> {
    let krate = model.attr.krate();
    let fit = |field: &Field<'_, Role>| {
        generics::is_fit(model.input, &krate, &field.node.ty, &["LenField"])
    };
    bounded(model).map(|(field, _)| fit(field)).collect()
}

fn bounded<'m, 'a>(
    model: &'m Model<'a>,
) -> impl Iterator<Item = (&'m Field<'a, Role>, &'m Spanned<Limit>)> {
    let fields = model.fields.iter();
    fields.filter_map(|field| Some((field, field.attr.limit("max_len")?)))
}
