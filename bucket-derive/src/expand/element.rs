//! The structs for an item's element: one to write from, and one of two to read into.
//!
//! The plain one is read by our own code (`expand/reader.rs`). The others use serde's derives, so serde interprets
//! the `#[serde(…)]` attributes.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{ExprPath, LitStr, Path, spanned::Spanned};

use crate::{
    expand::{bounds, fit::Types, generics},
    model::{
        Field,
        bucket::{BucketModel, Role},
    },
    parse::{list::Entry, serde_attr::Container},
};

/// Writes elements from the user's struct without a copy, by serde's `remote`.
pub(crate) fn write_struct(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let serde = serde_path(&model.serde, &model.attr.krate());
    let krate = model.attr.krate();
    let (parameters, ..) = model.input.generics.split_for_impl();
    let clause = generics::where_clause(&bounds::of_elements(model, types));
    let remote = LitStr::new(&model.input.ident.to_string(), Span::call_site());
    let container = container_entries(model);
    let fields = model.fields.iter().map(|field| {
        let (ident, ty) = (field.ident, types.of(model.input, field));
        let attrs = match field.part {
            Role::Key => quote!(#[serde(skip)]),
            _ => copied(model, field, field.is_date()),
        };
        quote!(#attrs #ident: #ty)
    });
    quote! {
        #[derive(#krate::__private::serde::Serialize)]
        #[serde(#serde remote = #remote, #(#container),*)]
        struct __Write #parameters #clause {
            #(#fields),*
        }
    }
}

/// The struct that elements are read into, by code of our own.
pub(crate) fn plain_struct(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let fields = model.elements().map(|field| {
        let (ident, ty) = (field.ident, element_type(model, types, field));
        quote!(#ident: #ty)
    });
    quote! {
        pub struct __Element {
            #(#fields),*
        }
    }
}

/// The struct that elements are read into, by serde's derive.
pub(crate) fn derived_struct(model: &BucketModel<'_>, types: &Types) -> TokenStream {
    let serde = serde_path(&model.serde, &model.attr.krate());
    let krate = model.attr.krate();
    let (parameters, ..) = model.input.generics.split_for_impl();
    let clause = generics::where_clause(&bounds::of_elements(model, types));
    let container = container_entries(model);
    let default = model.serde.find("default").map(|_| quote!(default,));
    let bound = bounds::of_owned(model).map(|bound| quote!(bound(deserialize = #bound),));
    let fields = model.elements().map(|field| {
        let (ident, ty) = (field.ident, element_type(model, types, field));
        let is_date = field.is_date() && !holds_date(model, field);
        let attrs = copied(model, field, is_date);
        quote!(#attrs #ident: #ty)
    });
    let phantom = phantom(model).map(|ty| quote!(#[serde(skip)] __parameters: #ty,));
    quote! {
        #[derive(#krate::__private::serde::Deserialize)]
        #[serde(#serde #default #bound #(#container),*)]
        pub struct __Element #parameters #clause {
            #phantom
            #(#fields),*
        }
    }
}

fn element_type(model: &BucketModel<'_>, types: &Types, field: &Field<'_, Role>) -> TokenStream {
    let (krate, ty) = (model.attr.krate(), types.of(model.input, field));
    match holds_date(model, field) {
        true => quote!(#krate::__private::Date<#ty>),
        false => ty,
    }
}

/// Whether the element holds its time in a `Date`, which reads itself. For `with`, serde writes two more
/// types, and checking these takes the compiler as long as the whole `impl Bucket`.
///
/// A bound on a parameter, a default, or another attribute concerns the plain type, which needs `with`.
pub(crate) fn holds_date(model: &BucketModel<'_>, field: &Field<'_, Role>) -> bool {
    field.is_date()
        && field.serde.has_only("rename alias")
        && !model.serde.has("default")
        && model.input.generics.params.is_empty()
}

/// For `#[serde(default)]` on the struct: the fields that an element lacks come from a default item.
pub(crate) fn default_impl(model: &BucketModel<'_>, types: &Types) -> Option<TokenStream> {
    let entry = model.serde.find("default")?;
    let this = generics::self_type(model.input);
    let (parameters, arguments, _) = model.input.generics.split_for_impl();
    let mut predicates = bounds::of_elements(model, types);
    let item = match entry
        .string()
        .and_then(|path| path.parse::<ExprPath>().ok())
    {
        Some(path) => quote!(#path()),
        None => {
            let span = entry.tokens.span();
            if !model.input.generics.params.is_empty() {
                predicates.push(quote!(#this: ::core::default::Default));
            }
            quote_spanned!(span=> ::core::default::Default::default())
        }
    };
    let clause = generics::where_clause(&predicates);
    let fields: Vec<_> = model.elements().map(|field| field.ident).collect();
    let phantom = phantom(model).map(|_| quote!(__parameters: ::core::marker::PhantomData,));
    Some(quote! {
        #[automatically_derived]
        impl #parameters ::core::default::Default for __Element #arguments #clause {
            fn default() -> Self {
                let __item: #this = #item;
                Self { #phantom #(#fields: __item.#fields),* }
            }
        }
    })
}

/// The field's own serde attributes, and `with` if it is a date.
fn copied(model: &BucketModel<'_>, field: &Field<'_, Role>, is_date: bool) -> TokenStream {
    let entries = field.serde.entries.iter().map(|entry| &entry.tokens);
    let date = is_date.then(|| {
        let path = path_text(&model.attr.krate()) + "::bson_date";
        let path = LitStr::new(&path, field.node.ty.span());
        quote!(with = #path)
    });
    let entries = Vec::from_iter(date.into_iter().chain(entries.cloned()));
    if entries.is_empty() {
        return TokenStream::new();
    }
    quote!(#[serde(#(#entries),*)])
}

/// The struct's serde attributes without `default`, which the generated structs have in another form.
fn container_entries<'m>(model: &'m BucketModel<'_>) -> Vec<&'m TokenStream> {
    let own = |entry: &&Entry| !entry.is("default");
    model
        .serde
        .entries
        .iter()
        .filter(own)
        .map(|entry| &entry.tokens)
        .collect()
}

/// Where generated code finds serde, unless the struct says so itself.
pub(crate) fn serde_path(container: &Container, krate: &Path) -> Option<TokenStream> {
    if container.find("crate").is_some() {
        return None;
    }
    let path = path_text(krate) + "::__private::serde";
    Some(quote!(crate = #path,))
}

fn phantom(model: &BucketModel<'_>) -> Option<TokenStream> {
    let unused = bounds::not_in_elements(model);
    (!unused.is_empty()).then(|| quote!(::core::marker::PhantomData<(#(#unused,)*)>))
}

/// The text of a path: serde takes paths in strings.
fn path_text(path: &Path) -> String {
    quote!(#path).to_string().replace(' ', "")
}
