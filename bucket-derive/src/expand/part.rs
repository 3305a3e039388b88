//! Writes the code of `#[derive(BucketPart)]`, `#[derive(OutlierPart)]` and `#[derive(ItemPart)]`.
//!
//! A part names fields of the whole struct's `FIELDS`, which know how they are read. So the compiler compares
//! names and types, and the serde attributes of the whole struct hold for the part as well.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Index, Path};

use crate::{
    check::part::PartChecked,
    expand::{generics, spans::located_at},
    model::{
        Field,
        part::{PartModel, Whole},
    },
};

pub(crate) fn expand(checked: &PartChecked<'_>) -> TokenStream {
    let (model, of) = (checked.model, checked.of);
    let (krate, import) = (model.attr.krate(), model.attr.import());
    let ident = &model.input.ident;
    let part = Ident::new(model.whole.derive().name, Span::call_site());
    let (asked, of_fields, fields) = match model.whole {
        Whole::Bucket => fields_of("Bucket", "bucket", &krate),
        Whole::Outlier => fields_of("Outlier", "outlier", &krate),
        Whole::Item => (
            quote!(item),
            quote!(<__Of as #krate::field::FieldsInside>::At<__Of, #krate::field::Root>),
            quote!(<__Of as #krate::Fields>::FIELDS),
        ),
    };
    // An editor takes each token at this place for a use of the struct, so only one is there.
    let elsewhere = located_at(of, Span::call_site());
    let whole = quote! {
        type __Of = #krate::__private::Fit<#elsewhere, { #krate::__private::fit::#asked::<#of>() }>;
        const __FIELDS: &#of_fields = #fields;
    };
    let names = model.fields.iter().map(|field| {
        let original = original(field);
        quote!(#original.names())
    });
    let (element, members) = match model.whole {
        Whole::Bucket => (Some(element(model, &krate)), bucket(model, &krate)),
        Whole::Outlier | Whole::Item => (None, stored_whole(model, &krate)),
    };
    quote! {
        #[allow(deprecated)]
        const _: () = {
            #import
            #[allow(unused_imports)]
            use #krate::__private::NotRead as _;
            #whole
            #element
            #[automatically_derived]
            impl #krate::#part for #ident {
                type Of = __Of;
                const NAMES: &'static [&'static [&'static ::core::primitive::str]] = &[#(#names),*];
                #members
            }
        };
    }
}

/// The check of a struct with this trait, the type of its fields, and their value.
fn fields_of(name: &str, asked: &str, krate: &Path) -> (TokenStream, TokenStream, TokenStream) {
    let [name, asked] = [name, asked].map(|name| Ident::new(name, Span::call_site()));
    let name = quote!(<__Of as #krate::#name>);
    (
        quote!(#asked),
        quote!(#name::Fields),
        quote!(&#name::FIELDS),
    )
}

fn bucket(model: &PartModel<'_>, krate: &Path) -> TokenStream {
    let read = model
        .fields
        .iter()
        .map(|field| read(model, field, "of_item"));
    let values = model.fields.iter().enumerate().map(|(n, field)| {
        let (ident, n) = (field.ident, Index::from(n));
        quote!(#ident: __element.#n.or_of_key::<__Of>(__key))
    });
    let signature = signature(krate, &quote!(Self::Element));
    quote! {
        type Element = __Element;
        #signature {
            ::core::result::Result::Ok(__Element(#(#read),*))
        }
        fn from_parts(__key: &<__Of as #krate::Bucket>::Key, __element: __Element) -> Self {
            Self { #(#values),* }
        }
    }
}

/// A parent or an item of one has all of its fields in one document.
fn stored_whole(model: &PartModel<'_>, krate: &Path) -> TokenStream {
    let values = model.fields.iter().map(|field| {
        let (ident, read) = (field.ident, read(model, field, "of_parent"));
        quote!(#ident: #read)
    });
    let signature = signature(krate, &quote!(Self));
    quote! {
        #signature {
            ::core::result::Result::Ok(Self { #(#values),* })
        }
    }
}

fn signature(krate: &Path, read: &TokenStream) -> TokenStream {
    quote! {
        fn read<'__de, __A: #krate::__private::serde::de::MapAccess<'__de>>(
            __fields: &mut #krate::PartReader<__A>,
        ) -> ::core::result::Result<#read, __A::Error>
    }
}

/// The call that reads a field.
fn read(model: &PartModel<'_>, field: &Field<'_, ()>, method: &str) -> TokenStream {
    let (krate, ty, original) = (model.attr.krate(), ty(model, field), original(field));
    let method = Ident::new(method, Span::call_site());
    quote! {
        __fields
            .field(&#original)
            .#method::<#ty>(#krate::__private::MaybeRead::<#ty>::__read)?
    }
}

/// The field of the whole struct. An unknown one is an error at the part's field.
fn original(field: &Field<'_, ()>) -> TokenStream {
    let ident = field.ident;
    quote!((*__FIELDS).#ident)
}

/// The struct that holds the fields of an element.
fn element(model: &PartModel<'_>, krate: &Path) -> TokenStream {
    let types = model.fields.iter().map(|field| ty(model, field));
    quote!(pub struct __Element(#(#krate::PartValue<#types>),*);)
}

fn ty(model: &PartModel<'_>, field: &Field<'_, ()>) -> TokenStream {
    let this = generics::self_type(model.input);
    generics::without_self(field.node.ty.to_token_stream(), &this)
}
