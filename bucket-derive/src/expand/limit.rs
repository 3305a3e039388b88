//! Writes limits: literals as they are, constants by a constant of our own, which checks them.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::spanned::Spanned as _;

use crate::{
    expand::spans::{last_span, located_at},
    parse::attr::{Limit, Spanned},
};

/// The limit, as generated code uses it.
pub(crate) fn value(limit: &Spanned<Limit>) -> TokenStream {
    value_named(limit, &limit.key)
}

/// The limit of a field, as generated code uses it.
pub(crate) fn value_of_field(limit: &Spanned<Limit>, field: &str) -> TokenStream {
    value_named(limit, &of_field(limit, field))
}

fn value_named(limit: &Spanned<Limit>, name: &Ident) -> TokenStream {
    match &limit.value {
        // Without the suffix that it may have.
        Limit::Literal {
            node,
            number: Some(number),
        } => {
            let mut literal = Literal::i128_unsuffixed(*number);
            literal.set_span(last_span(node));
            literal.into_token_stream()
        }
        Limit::Literal { node, .. } => node.to_token_stream(),
        Limit::Const(_) => constant_name(name).into_token_stream(),
    }
}

/// Checks the value of a constant, which only the compiler knows, and reports at its path. The function
/// that checks it in the runtime has the key's name.
///
/// `& !0` accepts integers only and leaves them as they are; a cast alone would accept a float, too. Both
/// have the span of the user's tokens, where clippy would complain.
pub(crate) fn constant(limit: &Spanned<Limit>, krate: &syn::Path) -> Option<TokenStream> {
    constant_named(limit, &limit.key, krate)
}

/// Checks the constant in a field's limit, as [`constant`] does for the struct's.
pub(crate) fn constant_of_field(
    limit: &Spanned<Limit>,
    field: &str,
    krate: &syn::Path,
) -> Option<TokenStream> {
    constant_named(limit, &of_field(limit, field), krate)
}

fn constant_named(limit: &Spanned<Limit>, name: &Ident, krate: &syn::Path) -> Option<TokenStream> {
    let Limit::Const(path) = &limit.value else {
        return None;
    };
    let krate = located_at(krate, path.span());
    let (name, check) = (
        constant_name(name),
        format_ident!("{}", limit.key, span = last_span(path)),
    );
    Some(quote_spanned! {last_span(path)=>
        #[allow(clippy::all, clippy::pedantic, clippy::restriction)]
        const #name: ::core::primitive::u32 =
            #krate::__private::#check((#path & !0) as ::core::primitive::i128);
    })
}

/// `__CAPACITY_WITHIN_LIMITS`: the compiler names the constant if it is not.
fn constant_name(name: &Ident) -> Ident {
    format_ident!("__{}_WITHIN_LIMITS", name.to_string().to_uppercase())
}

/// `max_len_ticker`
fn of_field(limit: &Spanned<Limit>, field: &str) -> Ident {
    format_ident!("{}_{field}", limit.key)
}
