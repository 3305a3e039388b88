//! Writes the code of `#[derive(BucketPart)]` and `#[derive(OutlierPart)]`.
//!
//! A constant for each field compares it with the field of the bucket's or parent's struct, and says how
//! it is read: only the compiler knows both.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Path;

use crate::{
    check::part::Checked,
    expand::{
        element::serde_path,
        generics,
        spans::{last_span, located_at},
    },
    model::{
        Field,
        part::{Model, Pattern},
    },
};

pub(crate) fn expand(checked: &Checked<'_>) -> TokenStream {
    match checked.model.pattern {
        Pattern::Bucket => bucket(checked),
        Pattern::Outlier => outlier(checked),
    }
}

fn bucket(checked: &Checked<'_>) -> TokenStream {
    let (model, of) = (checked.model, checked.of);
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let (ident, names) = (&model.input.ident, names(model));
    let whole = whole(of, &krate, "bucket");
    let forms = model
        .fields
        .iter()
        .map(|field| match is_read_plainly(field) {
            true => form(model, field, "form", &constant(field)),
            false => form(model, field, "own_form", &quote!(_)),
        });
    let serde = serde_path(&model.serde, &krate);
    let container = model.serde.entries.iter().map(|entry| &entry.tokens);
    let element = model.fields.iter().map(|field| {
        let (ident, ty) = (field.ident, ty(model, field));
        let entries = Vec::from_iter(field.serde.entries.iter().map(|entry| &entry.tokens));
        let entries = (!entries.is_empty()).then(|| quote!(#[serde(#(#entries),*)]));
        let ty = match is_read_plainly(field) {
            true => {
                let form = constant(field);
                quote!(#krate::__private::PartField<#ty, { #form }>)
            }
            false => ty,
        };
        quote!(#entries #ident: #ty)
    });
    let values = model.fields.iter().map(|field| {
        let (ident, name) = (field.ident, field.serde.read.first());
        let or_of_key = is_read_plainly(field).then(|| quote!(.or_of_key::<__Of>(__key, #name)));
        quote!(#ident: __element.#ident #or_of_key)
    });
    quote! {
        #[allow(deprecated, non_camel_case_types, non_snake_case, non_upper_case_globals)]
        const _: () = {
            #import
            #whole
            #(#forms)*
            #[derive(#krate::__private::serde::Deserialize)]
            #[serde(#serde #(#container),*)]
            pub struct __Element {
                #(#element),*
            }
            #[automatically_derived]
            impl #krate::BucketPart for #ident {
                type Of = __Of;
                const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
                type Element = __Element;
                fn from_parts(
                    __key: &<__Of as #krate::Bucket>::Key,
                    __element: Self::Element,
                ) -> Self {
                    Self { #(#values),* }
                }
            }
        };
    }
}

fn outlier(checked: &Checked<'_>) -> TokenStream {
    let (model, of) = (checked.model, checked.of);
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let (ident, names) = (&model.input.ident, names(model));
    let whole = whole(of, &krate, "outlier");
    let forms = model.fields.iter();
    let forms = forms.map(|field| form(model, field, "form", &quote!(_)));
    quote! {
        #[allow(deprecated)]
        const _: () = {
            #import
            #whole
            #(#forms)*
            #[automatically_derived]
            impl #krate::OutlierPart for #ident {
                type Of = __Of;
                const NAMES: &'static [&'static ::core::primitive::str] = &[#(#names),*];
            }
        };
    }
}

/// The name of the whole struct. If it is not stored by the pattern, the compiler says so once.
fn whole(of: &Path, krate: &Path, pattern: &str) -> TokenStream {
    let at = last_span(of);
    let (krate, pattern) = (located_at(krate, at), Ident::new(pattern, at));
    let asked = quote_spanned!(at=> #krate::__private::fit::#pattern::<#of>());
    quote!(type __Of = #krate::__private::Fit<#of, { #asked }>;)
}

/// All names that the fields are read from.
fn names<'m>(model: &'m Model<'_>) -> Vec<&'m String> {
    let names = model.fields.iter().flat_map(|field| &field.serde.read);
    names.collect()
}

/// The constant that compares a field with the one of the same name in the other struct.
fn form(
    model: &Model<'_>,
    field: &Field<'_, ()>,
    function: &str,
    constant: &impl ToTokens,
) -> TokenStream {
    let (at, krate) = (field.ident.span(), model.attr.krate());
    let (ident, ty, name) = (field.ident, ty(model, field), field.serde.read.first());
    let whole = match model.pattern {
        Pattern::Bucket => quote!(<__Of as #krate::Bucket>),
        Pattern::Outlier => quote!(<__Of as #krate::Outlier>),
    };
    let function = Ident::new(function, at);
    let original = quote!(#krate::__private::part::original(&#whole::FIELDS.#ident));
    let original = located_at(&original, at);
    let form = quote_spanned!(at=> #original.#function::<#ty>(#name));
    quote!(const #constant: ::core::primitive::u8 = #form;)
}

fn ty(model: &Model<'_>, field: &Field<'_, ()>) -> TokenStream {
    let this = generics::self_type(model.input);
    generics::without_self(field.node.ty.to_token_stream(), &this)
}

/// Whether the runtime may decide how the field is read: the user's functions give plain values.
fn is_read_plainly(field: &Field<'_, ()>) -> bool {
    field.reader().is_none() && !field.serde.has("default")
}

fn constant(field: &Field<'_, ()>) -> Ident {
    format_ident!("__form_of_{}", field.name, span = Span::call_site())
}
