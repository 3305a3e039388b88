//! The struct's parameters and predicates, for generated items.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Path};

use crate::expand::spans::{last_span, located_at};

/// `where` and the predicates, or nothing.
pub(crate) fn where_clause(predicates: &[TokenStream]) -> TokenStream {
    if predicates.is_empty() {
        return TokenStream::new();
    }
    quote!(where #(#predicates),*)
}

/// The predicates of the struct itself.
pub(crate) fn of_struct(input: &DeriveInput) -> Vec<TokenStream> {
    let clause = input.generics.where_clause.iter();
    clause
        .flat_map(|clause| &clause.predicates)
        .map(|predicate| without_self(quote!(#predicate), &self_type(input)))
        .collect()
}

/// The struct's type, with its parameters.
pub(crate) fn self_type(input: &DeriveInput) -> TokenStream {
    let ident = &input.ident;
    let (_, parameters, _) = input.generics.split_for_impl();
    quote!(#ident #parameters)
}

/// The tokens with `this` in place of `Self`, which would mean another type in the generated structs.
pub(crate) fn without_self(tokens: TokenStream, this: &TokenStream) -> TokenStream {
    let mut trees = tokens.into_iter().peekable();
    let mut out = TokenStream::new();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Ident(ident) if ident == "Self" => {
                let is_path =
                    matches!(trees.peek(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':');
                out.extend(if is_path {
                    quote!(<#this>)
                } else {
                    this.clone()
                });
            }
            TokenTree::Group(group) => {
                let inside = without_self(group.stream(), this);
                let mut replaced = proc_macro2::Group::new(group.delimiter(), inside);
                replaced.set_span(group.span());
                out.extend([TokenTree::Group(replaced)]);
            }
            other => out.extend([other]),
        }
    }
    out
}

/// The type of the items in a parent's array.
pub(crate) fn item_of(items: &impl ToTokens, krate: &Path) -> TokenStream {
    let end = last_span(items);
    let krate = located_at(krate, end);
    quote_spanned!(end=> <#items as #krate::__private::ItemsField>::Item)
}

/// The predicate that any task can own and share the struct.
pub(crate) fn is_shared() -> TokenStream {
    quote!(Self: ::core::marker::Send + ::core::marker::Sync + 'static)
}

/// serde can write and read the struct. The span makes the compiler report an error at the struct. With a lifetime of
/// its own, a predicate that does not hold is not an error here.
pub(crate) fn is_stored(input: &DeriveInput, krate: &Path) -> TokenStream {
    let at = input.ident.span();
    let krate = located_at(krate, at);
    let serde = quote_spanned!(at=> #krate::__private::serde);
    quote_spanned!(at=> for<'__a> Self: #serde::Serialize + #serde::de::DeserializeOwned)
}
