//! The names of generated structs, which the compiler shows in messages.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::{Attribute, Data, DeriveInput, Meta, ext::IdentExt};

/// `TradeFields` for `Trade`, or `__TradeFields` where the struct mentions a type of the first name: inside of
/// the generated code that would be another one.
pub(crate) fn type_name(input: &DeriveInput, suffix: &str) -> Ident {
    let name = format!("{}{suffix}", input.ident.unraw());
    match is_mentioned(input, &name) {
        true => format_ident!("__{name}", span = Span::call_site()),
        false => Ident::new(&name, Span::call_site()),
    }
}

fn is_mentioned(input: &DeriveInput, name: &str) -> bool {
    let generics = &input.generics;
    let fields = match &input.data {
        Data::Struct(data) => Vec::from_iter(&data.fields),
        Data::Enum(data) => data.variants.iter().flat_map(|node| &node.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let is_in = |tokens: TokenStream| has_word(tokens, name);
    is_in(generics.params.to_token_stream())
        || is_in(generics.where_clause.to_token_stream())
        || is_in_paths(&input.attrs, name)
        || fields
            .iter()
            .any(|field| is_in(field.ty.to_token_stream()) || is_in_paths(&field.attrs, name))
}

/// Attributes such as `with` hold paths, which are part of the generated code.
fn is_in_paths(attrs: &[Attribute], name: &str) -> bool {
    attrs.iter().any(|attr| match &attr.meta {
        Meta::List(list) => has_word(list.tokens.clone(), name),
        Meta::Path(_) | Meta::NameValue(_) => false,
    })
}

fn has_word(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Literal(literal) => literal.to_string().contains(name),
        TokenTree::Group(group) => has_word(group.stream(), name),
        TokenTree::Punct(_) => false,
    })
}
